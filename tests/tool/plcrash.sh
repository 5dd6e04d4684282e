#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what `unspool report` shows of PLCrashReporter's binary reports: a whole one with everything that the format
# has, one that is cut off anywhere, and damaged ones. The reports are written here, by the fields of
# PLCrashReport.proto.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
python3 - "$work" <<'END'
import random, sys
work = sys.argv[1]


def varint(value):
    out = b''
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields):
    return b''.join(field(number, value) for number, value in fields)


cpu = message((1, 1), (2, 0x100000c), (3, 2))
frame = lambda pc, *symbol: message((3, pc), *([(6, message((1, symbol[0]), (2, symbol[1])))] if symbol else []))
image = lambda base, path, uuid: message((1, base), (2, 0x10000), (3, path), (4, bytes.fromhex(uuid)), (5, cpu))
report = message(
    (1, message((1, 1), (2, '17.5.1'), (3, 6), (4, 1767323045), (5, '21F90'))),
    (2, message((1, 'com.example.App'), (2, '7'), (3, '1.0'))),
    (3, message((1, 0), (2, frame(0x100000100)), (2, frame(0x100000204, 'main\n', 0x100000200)), (3, 0))),
    (3, message((1, 1), (2, frame(0x190000010)), (2, frame(0x8)), (3, 1), (4, message((1, 'x0'), (2, 8))), (4, message((1, 'pc'), (2, 0x190000010))))),
    (4, image(0x190000000, '/usr/lib/libz.dylib', '1123abcd456789abcdef0123456789ab')),
    (4, image(0x100000000, '/private/App.app/App', '0123abcd456789abcdef0123456789ab')),
    (5, message((1, 'NSRangeException'), (2, 'index 5 beyond bounds'), (3, frame(0x100000300)))),
    (6, message((1, 'SIGSEGV'), (2, 'SEGV_ACCERR'), (3, 8), (4, message((1, 1), (2, 2))))),
    (7, message((1, 'App'), (2, 4711), (3, '/private/App.app/App'), (4, 'launchd'), (5, 1), (6, 1))),
    (8, message((1, 'iPhone14,2'), (2, cpu), (3, 6), (4, 6))), (9, message((1, 0), (2, bytes(range(1, 17))))), (10, 'custom'))
whole = b'plcrash\1' + report
open(work + '/whole.plcrash', 'wb').write(whole)
open(work + '/cut.plcrash', 'wb').write(whole[:whole.index(b'SIGSEGV')])
open(work + '/next.plcrash', 'wb').write(b'plcrash\2' + report)
random.seed(5)
for i in range(12):
    damaged = bytearray(whole)
    for _ in range(3):
        damaged[random.randrange(8, len(damaged))] = random.randrange(256)
    open(f'{work}/damaged-{i}.plcrash', 'wb').write(damaged[:random.randrange(9, len(damaged))])
# Four bytes become a frame; their number is limited.
frames = field(2, frame(5)) * 2000000
open(work + '/many.plcrash', 'wb').write(b'plcrash\1' + field(3, message((1, 0)) + frames))
END
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
