#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what `unspool report` shows of PLCrashReporter's binary reports (plcrash.py): a whole one with everything that
# the format has, one that is cut off anywhere, and damaged ones.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
python3 -B "$top/tests/tool/plcrash.py" "$work"
cat >"$work/wanted" <<'END'
Process:             App [4711]
Path:                /private/App.app/App
Identifier:          com.example.App
Version:             1.0 (7)
Code Type:           arm64
Parent Process:      launchd [1]
Incident Identifier: 01020304-0506-0708-090A-0B0C0D0E0F10
Hardware Model:      iPhone14,2
OS Version:          iPhone OS 17.5.1 (21F90)
Date/Time:           2026-01-02 03:04:05 +0000

Exception Type:      EXC_BAD_ACCESS (SIGSEGV)
Exception Codes:     SEGV_ACCERR at 0x8

Application Specific Information:
  *** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 5 beyond bounds'

Last Exception Backtrace:
0   App                           	0x0000000100000300 0x100000000 + 768

Thread 1 Crashed:
0   libz.dylib                    	0x0000000190000010 0x190000000 + 16
1   ???                           	0x0000000000000008 ???

Thread 0:
0   App                           	0x0000000100000100 0x100000000 + 256
1   App                           	0x0000000100000204 main\x0a + 4

Thread 1 crashed with ARM Thread State (64-bit):
    x0: 0x0000000000000008   pc: 0x0000000190000010

Binary Images:
0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App.app/App
0x190000000 - 0x19000ffff libz.dylib arm64 <1123abcd456789abcdef0123456789ab> /usr/lib/libz.dylib

END
run 0 report --quiet "$work/whole.plcrash"
diff "$work/wanted" "$work/out" || fail "another report"
run 0 report --quiet --json "$work/whole.plcrash"
cp "$work/out" "$work/whole.shown"
out_has '"format": "plcrash"'
run 0 report --quiet "$work/cut.plcrash"
err_has '^unspool: .*cut\.plcrash: it is damaged or cut off; what is whole was read$'
out_has '^Thread 1 Crashed:$'
run 3 report --quiet "$work/next.plcrash"
err_has '^unspool: .*next\.plcrash: a version of PLCrashReporter.s format that is not known$'
for i in {0..11}; do
  status=0
  "$unspool" report --quiet "$work/damaged-$i.plcrash" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 0 || $status -eq 3 ]] || fail "damaged-$i: status $status: $(cat "$work/err")"
done
run 0 report --quiet "$work/many.plcrash"
[[ $(grep -c '^[0-9]' "$work/out") -eq 1048576 ]] || fail "$(grep -c '^[0-9]' "$work/out") frames of many"
# The last check, because it ends the test where the validator is missing.
validate report "$work/whole.shown"
verdict
