# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests with two users: root runs the command, and nobody owns the files that mean harm. Scripts source it
# after tests/tool/common.sh. It skips the test where the user is not root.

[[ $(id -u) -eq 0 ]] || skip "only root can become another user"
need_tools setpriv
other=65534

# as_other COMMAND...: runs a command as the other user.
as_other() { setpriv --reuid="$other" --regid="$other" --clear-groups -- "$@"; }

as_other true 2>/dev/null || skip "this root cannot become another user"
# The other user's folder, as a home.
theirs=$work/theirs
mkdir "$theirs"
chown "$other:$other" "$theirs"

# state FILE: prints the mode, the owner and the group of a file itself, not of a link's target.
state() { stat -c '%a %u %g' "$1"; }

# expect_state WHAT FILE STATE: fails unless the file has the mode, the owner and the group.
expect_state() { [[ $(state "$2") == "$3" ]] || fail "$1: $2 is $(state "$2") instead of $3"; }
