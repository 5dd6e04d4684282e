# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the forms of crash reports have in common. Sourced; goes to the test's folder.
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3
crasher=$PWD/tests/crash/crasher
ulimit -c 0
cd "$work" || exit

# crash WAY [EXCEPTION]: the program crashes that way; "mach" is a segv whose report gets that Mach exception. $raw is the path of the one report, $status what the command ends with for it.
# shellcheck disable=SC2034 # used where this is sourced
crash() {
  rm -rf reports
  { timeout 300 "$crasher" "${1/#mach/segv}" reports >says 2>err; } 2>/dev/null || :
  raw=$(echo reports/*.raw)
  [[ -s $raw ]] || fail "$1: no report"
  if [[ $1 == mach ]]; then
    python3 "$top/tests/crash/mach.py" "$raw" mach.raw "$2"
    raw=mach.raw
  fi
  status=0
  # A thread that does not answer is missing.
  [[ $1 != deaf ]] || status=1
}
