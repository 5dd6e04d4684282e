# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests of Swift's async stacks: finds the toolchain, compiles programs that state the truth about their
# own tasks, and compares output with that truth. Sourced by the tests, in the build folder.

# shellcheck source=tests/tool/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tool/common.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools python3 gcore timeout
[[ $(uname -sm) == 'Linux x86_64' ]] || skip "not Linux on x86_64"
here=$top/tests/swift/async

# in_time COMMAND...: runs a command; the test ends if it hangs.
limit=600 # in seconds
exec 3>&1
in_time() {
  local status=0
  timeout -k 5 "$limit" "$@" || status=$?
  # 124 is the exit status of timeout, 137 that of a command that it had to kill.
  [[ $status -ne 124 && $status -ne 137 ]] || { fail "$* does not end in $limit seconds" >&3 && verdict >&3; }
  return "$status"
}
command=$unspool
unspool() { in_time "$command" "$@"; }
unspool=unspool

# compare MODE ARGUMENT...: runs compare.py, which lists the modes.
compare() { python3 "$here/compare.py" "$@" || fail "compare.py $*"; }

# compile NAME SOURCE ARGUMENT...: compiles SOURCE.swift to $work/NAME. On failure returns false; $work/log has the
# compiler's output.
compile() {
  "$swift_folder/swiftc" -swift-version 6 -parse-as-library -module-name "$2" "${@:3}" "$here/$2.swift" -o "$work/$1" \
    >"$work/log" 2>&1
}
must_compile() { compile "$@" || fail "$*: $(cat "$work/log")"; }

# start_until PATTERN COMMAND...: starts the command and waits until it writes a line that matches. Sets $pid; its lines
# are in $work/truth.
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

# end PID: kills a process, without the shell's message about it.
end() {
  { kill -KILL "$1" && wait "$1"; } 2>/dev/null || :
  running=()
}

# core PID: writes $work/core.PID.
core() { in_time gcore -o "$work/core" "$1" >/dev/null 2>&1 || fail "gcore"; }
