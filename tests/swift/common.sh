# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of Swift's async stacks share: the toolchain, programs that tell the truth about their own tasks, and what is
# compared with that truth. Sourced by them, in the folder of the build.

# shellcheck source=tests/tool/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tool/common.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools python3 gcore timeout
[[ $(uname -sm) == 'Linux x86_64' ]] || skip "not Linux on x86_64"
here=$top/tests/swift/async

# in_time COMMAND...: a command that hangs ends the test.
limit=600 # seconds
exec 3>&1
in_time() {
  local status=0
  timeout -k 5 "$limit" "$@" || status=$?
  # 124: the status of timeout, 137: that of what it had to kill.
  [[ $status -ne 124 && $status -ne 137 ]] || { fail "$* does not end in $limit seconds" >&3 && verdict >&3; }
  return "$status"
}
command=$unspool
unspool() { in_time "$command" "$@"; }
unspool=unspool

# How often something is done again that comes too early where other programs keep the processors busy.
# shellcheck disable=SC2034 # used where this is sourced
tries=100

# compare MODE ARGUMENT...: compare.py has the modes.
compare() { python3 "$here/compare.py" "$@" || fail "compare.py $*"; }

# compile NAME SOURCE ARGUMENT...: $work/NAME of the source SOURCE.swift. False, with the compiler's words in $work/log: it cannot.
compile() {
  "$swift_folder/swiftc" -swift-version 6 -parse-as-library -module-name "$2" "${@:3}" "$here/$2.swift" -o "$work/$1" \
    >"$work/log" 2>&1
}
must_compile() { compile "$@" || fail "$*: $(cat "$work/log")"; }

# start_until PATTERN COMMAND...: runs it until it writes a line like this. Its process id is in $pid, its lines in $work/truth.
start_until() {
  local pattern=$1 line=''
  shift
  mkfifo "$work/said"
  "$@" >"$work/said" &
  pid=$!
  running+=("$pid")
  : >"$work/truth"
  while IFS= read -r -t "$limit" line; do
    echo "$line" >>"$work/truth"
    # shellcheck disable=SC2053 # a pattern
    [[ $line != $pattern ]] || break
  done <"$work/said"
  rm "$work/said"
  # shellcheck disable=SC2053 # a pattern
  [[ $line == $pattern ]] || fail "$* does not say $pattern"
}

# end PID: without the shell's message about it.
end() {
  { kill -KILL "$1" && wait "$1"; } 2>/dev/null || :
  running=()
}

# core PID: $work/core.PID
core() { in_time gcore -o "$work/core" "$1" >/dev/null 2>&1 || fail "gcore"; }
