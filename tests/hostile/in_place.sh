#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that root's `unspool symbolize --in-place` and `--output` give a user nothing: no setuid file, no file that the
# user may not read, and nothing that is written outside. Logs keep owner, group and permissions.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/hostile/users.sh
. "$(dirname "$0")/users.sh"
# The program without lines, which a log names.
mkdir "$work/files"
cp "$stuck" "$work/files"
name=$(nm "$stuck" | awk '$3 == "inner" { print $3 }')
[[ $name == inner ]] || skip "nm finds no function in $stuck"
address=$(nm "$stuck" | awk '$3 == "inner" { print $1 }')
log=$(printf '0   stuck   0x%s 0x0 + %d' "$address" "0x$address")
named="inner \\+ 0"
in_place() { run "$1" symbolize --quiet --search "$work/files" --in-place "${@:2}"; }

# make FILE MODE OWNER GROUP: makes a log.
make() {
  echo "$log" >"$1"
  chown "$3:$4" "$1"
  chmod "$2" "$1"
}
is_named() { grep -qE "$named" "$1" || fail "$2: $1 has no names: $(cat "$1")"; }
is_unnamed() { ! grep -qE "$named" "$1" || fail "$2: $1 was written"; }

# ---- a setuid file of the user
make "$theirs/shell" 4755 "$other" "$other"
in_place 3 --log "$theirs/shell"
err_has '^unspool: .*/shell: belongs to another user; --follow replaces it nevertheless$'
is_unnamed "$theirs/shell" "another owner"
in_place 0 --follow --log "$theirs/shell"
is_named "$theirs/shell" "--follow"
expect_state "a setuid file" "$theirs/shell" "755 $other $other"
# Root's own setuid file, whose bytes come from a log.
make "$work/mine" 6755 0 0
in_place 0 --log "$work/mine"
is_named "$work/mine" "a file of one's own"
expect_state "a setuid file of one's own" "$work/mine" "755 0 0"

# ---- owner and group stay
make "$work/shadow" 640 0 "$other"
in_place 0 --log "$work/shadow"
is_named "$work/shadow" "another group"
expect_state "another group" "$work/shadow" "640 0 $other"
# A user who may not set the group keeps what the owner may do.
make "$theirs/grouped" 664 "$other" 0
chmod 755 "$work/files"
status=0
as_other "$unspool" symbolize --quiet --search "$work/files" --in-place --log "$theirs/grouped" || status=$?
[[ $status -eq 0 ]] || fail "a group that cannot be set: exit status $status"
is_named "$theirs/grouped" "a group that cannot be set"
expect_state "a group that cannot be set" "$theirs/grouped" "600 $other $other"

# ---- links, named and in a folder
make "$work/secret" 600 0 0
ln -s "$work/secret" "$theirs/link"
in_place 3 --log "$theirs/link"
err_has '^unspool: .*/link: is a symbolic link; --follow replaces the file that it leads to$'
is_unnamed "$work/secret" "a link"
in_place 0 --follow --log "$theirs/link"
is_named "$work/secret" "a link with --follow"
[[ -L $theirs/link ]] || fail "--follow replaces the link itself"
expect_state "a link's target" "$work/secret" "600 0 0"
make "$work/secret" 600 0 0
mkdir "$theirs/logs"
make "$theirs/logs/log" 644 "$other" "$other"
ln -s "$work/secret" "$theirs/logs/link"
ln -s "$work" "$theirs/logs/folder"
mkfifo "$theirs/logs/pipe"
run 0 symbolize --search "$work/files" --in-place --follow --log "$theirs/logs"
err_has '^unspool: symbolic links in folders are left out: 2$'
is_named "$theirs/logs/log" "a folder"
is_unnamed "$work/secret" "a link in a folder"
run 0 report "$theirs/logs//"
err_has '^unspool: symbolic links in folders are left out: 2$'
# A pipe is not waited for.
timeout 300 "$unspool" symbolize --search "$work/files" --in-place --log "$theirs/logs/pipe" 2>"$work/err" || status=$?
[[ $status -eq 3 ]] || fail "a pipe: exit status $status"
err_has 'pipe: is not a regular file$'

# ---- copies: no more than the source
run 0 symbolize --quiet --search "$work/files" --output "$work/copies" --log "$theirs/logs"
[[ $(find "$work/copies" -mindepth 1) == "$work/copies/log" ]] || fail "copies: $(find "$work/copies")"
expect_state "a copy" "$work/copies/log" "644 0 0"
run 0 symbolize --quiet --search "$work/files" --output "$work/copies" --log "$work/secret"
expect_state "a copy of one's own file" "$work/copies/secret" "600 0 0"
make "$work/shadow" 640 0 "$other"
run 0 symbolize --quiet --search "$work/files" --output "$work/copies" --log "$work/shadow"
expect_state "a copy for another group" "$work/copies/shadow" "600 0 0"
# A file that is replaced keeps its own permissions if the log's allow that.
make "$work/open" 666 0 0
chmod 640 "$work/copies/log"
cp "$work/open" "$work/log"
chmod 666 "$work/log"
run 0 symbolize --quiet --search "$work/files" --output "$work/copies" --log "$work/log"
expect_state "a copy that is replaced" "$work/copies/log" "640 0 0"
# A file with an access control list, in which only the other user may read besides the owner: the group's permissions
# are the list's mask.
make "$work/listed" 600 0 "$other"
if have python3 && python3 - "$work/listed" "$other" 2>/dev/null <<'END'
import os, struct, sys
path, user = sys.argv[1], int(sys.argv[2])
entries = [(1, 6, 0xffffffff), (2, 4, user), (4, 0, 0xffffffff), (0x10, 4, 0xffffffff), (0x20, 0, 0xffffffff)]
os.setxattr(path, 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in entries))
END
then
  expect_state "a mask" "$work/listed" "640 0 $other"
  in_place 0 --log "$work/listed"
  is_named "$work/listed" "a file with a list"
  expect_state "a file with a list" "$work/listed" "600 0 $other"
else
  echo "left out: access control lists"
fi
# What only root can reach because of its folder.
mkdir -m 700 "$work/closed"
make "$work/closed/log" 644 0 0
run 0 symbolize --quiet --search "$work/files" --output "$work/reached" --log "$work/closed"
expect_state "a copy from a closed folder" "$work/reached/log" "600 0 0"

# ---- a folder of outputs that the user has prepared
mkdir -p "$theirs/outputs" "$work/logs/a"
make "$work/logs/a/passwd" 644 0 0
make "$work/logs/direct" 644 0 0
mkdir "$work/etc"
make "$work/etc/passwd" 644 0 0
make "$work/etc/direct" 644 0 0
ln -s "$work/etc" "$theirs/outputs/a"
ln -s "$work/etc/direct" "$theirs/outputs/direct"
run 4 symbolize --quiet --search "$work/files" --output "$theirs/outputs" --log "$work/logs"
is_unnamed "$work/etc/passwd" "a link to a folder"
run 0 symbolize --quiet --search "$work/files" --output "$theirs/outputs" --log "$work/logs/direct"
is_unnamed "$work/etc/direct" "a link in the place of an output"
is_named "$theirs/outputs/direct" "an output in the place of a link"
verdict
