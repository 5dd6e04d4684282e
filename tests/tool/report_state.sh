#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what `unspool report` shows of a crash besides frames: the registers of the thread that crashed, the same from
# .crash and .ips reports and from KSCrash, and which process ended the crashed one; and --thread and --app.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
python3 - "$work" <<'END'
import json, sys
work = sys.argv[1]
values = {f'x{i}': 0x100 + i for i in range(29)}
values.update(fp=0x16fdff4b0, lr=0x100003f50, sp=0x16fdff4a0, pc=0x100003f58, cpsr=0x60001000, far=0x8, esr=0x92000006)
said = '(Data Abort) byte read Translation fault'


def shown(name, first):
    digits = 8 if name in ('cpsr', 'esr') else 16
    words = ' ' + said if name == 'esr' else ''
    return f'{name.rjust(6 if first else 5)}: 0x{values[name]:0{digits}x}{words}'


names = list(values)
rows = [names[i:i + 4] for i in range(0, 28, 4)] + [['x28', 'fp', 'lr'], ['sp', 'pc', 'cpsr'], ['far', 'esr']]
state = 'Thread 1 crashed with ARM Thread State (64-bit):\n' + ''.join(
    ''.join(shown(name, i == 0) for i, name in enumerate(row)) + '\n' for row in rows)
open(work + '/state', 'w').write(state)
images = ('Binary Images:\n0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App.app/App\n'
          '0x200000000 - 0x20000ffff libsystem_kernel.dylib arm64 <1123abcd456789abcdef0123456789ab> /usr/lib/system/libsystem_kernel.dylib\n')
open(work + '/a.crash', 'w').write(
    'Process:             App [4711]\nTermination Reason:  Namespace SIGNAL, Code 11 Segmentation fault: 11\n'
    'Terminating Process: exc handler [4711]\n\nThread 0:\n0   App  0x0000000100003f60 idle + 4\n\n'
    'Thread 1 Crashed:\n0   libsystem_kernel.dylib  0x0000000200003f58 raise + 8\n1   libsystem_kernel.dylib  0x0000000200003f60 abort + 4\n'
    '2   App  0x0000000100003f50 work + 4\n3   libsystem_kernel.dylib  0x0000000200000100 start + 4\n\n' + state + '\n' + images)
number = lambda name: dict(value=values[name], **({'description': said} if name == 'esr' else {}))
frames = [{'imageOffset': 0x3f50, 'symbol': 'work', 'symbolLocation': 4, 'imageIndex': 0}]
thread_state = {name: number(name) for name in reversed(names) if not name.startswith('x')}
thread_state.update(x=[number(f'x{i}') for i in range(29)], flavor='ARM_THREAD_STATE64')
open(work + '/a.ips', 'w').write('{"app_name":"App","bug_type":"309"}\n' + json.dumps({
    'procName': 'App', 'termination': {'namespace': 'SIGNAL', 'code': 11, 'indicator': 'Segmentation fault: 11', 'byProc': 'exc handler', 'byPid': 4711},
    'threads': [{'frames': frames}, {'triggered': True, 'frames': frames, 'threadState': thread_state}], 'faultingThread': 1,
    'usedImages': [{'base': 0x100000000, 'size': 65536, 'uuid': '0123ABCD-4567-89AB-CDEF-0123456789AB', 'name': 'App'}]}))
basic = {name: value for name, value in values.items() if name not in ('far', 'esr')}
open(work + '/a.json', 'w').write(json.dumps({'crash': {
    'error': {'mach': {'exception': 1}, 'signal': {'signal': 11}},
    'threads': [{'index': 1, 'crashed': True, 'registers': {'basic': basic, 'exception': {'exception': 0, 'esr': values['esr'], 'far': 8}},
                 'backtrace': {'contents': [{'instruction_addr': 0x100003f58, 'object_addr': 0x100000000, 'object_name': 'App'}]}}]},
    'binary_images': [{'image_addr': 0x100000000, 'image_size': 65536, 'name': '/private/App', 'uuid': '0123ABCD-4567-89AB-CDEF-0123456789AB'}]}))
open(work + '/x86.crash', 'w').write(
    'Thread 0 Crashed:\n0   App  0x0000000100003f60 idle + 4\n\nThread 0 crashed with X86 Thread State (64-bit):\n'
    '  rax: 0x000000000000000a  rbx: 0x0000000000000001  rcx: 0x0000000000000002  rdx: 0x0000000000000003\n'
    '  rip: 0x0000000100003f60  rfl: 0x0000000000010246  cr2: 0x0000000000000008\n\nLogical CPU:     2\n'
    'Error Code:      0x00000004 (no mapping for user data read)\nTrap Number:     14\n\n' + images)
END
# has_state FILE: the report shows the registers.
has_state() {
  run 0 report --quiet "$work/$1"
  sed -n '/crashed with/,/^$/p' "$work/out" | sed '$d' >"$work/found"
  diff "$work/found" "$2" || fail "$1: other registers"
}
has_state a.crash "$work/state"
out_has '^Terminating Process: exc handler \[4711\]$'
out_has '^Termination Reason:  Namespace SIGNAL, Code 11 Segmentation fault: 11$'
has_state a.ips "$work/state"
out_has '^Terminating Process: exc handler \[4711\]$'
sed 's/ (Data Abort).*//' "$work/state" >"$work/plain"
has_state a.json "$work/plain"
out_has '^Exception Type: +EXC_BAD_ACCESS \(SIGSEGV\)$'
run 0 report --quiet "$work/x86.crash"
sed -n '/^Thread 0 crashed with/,/^Binary/p' "$work/out" | sed '$d' >"$work/found"
sed -n '/^Thread 0 crashed with/,/^Binary/p' "$work/x86.crash" | sed '$d' | diff "$work/found" - || fail "x86: other registers"
# Rosetta does not know each register.
sed 's/rip: 0x[0-9a-f]* /rip: <unavailable>      /; s/^Logical/ tmp0: 0x0000000000000001 tmp1: 0x0000000000000002\n\n&/' \
  "$work/x86.crash" >"$work/rosetta.crash"
run 0 report --quiet "$work/rosetta.crash"
out_has '^ +rfl: 0x0000000000010246 +cr2: 0x0000000000000008'
for text in a.crash a.ips a.json x86.crash; do
  run 0 report --quiet --json "$work/$text"
  cp "$work/out" "$work/$text.shown"
done
run 0 report --quiet --json "$work/a.ips"
out_has '\{"name": ?"esr", ?"value": ?"0x92000006", ?"description": ?"\(Data Abort\) byte read Translation fault"\}'

# ---- --thread, --app
run 0 report --quiet --thread crashed "$work/a.crash"
out_has '^Thread 1 Crashed:$'
! grep '^Thread 0' "$work/out" || fail "--thread crashed shows another thread"
run 0 report --quiet --thread 0 "$work/a.crash"
out_has '^0   App .* idle \+ 4$'
! grep 'Crashed:' "$work/out" || fail "--thread 0 shows another thread"
run 0 report --quiet --thread crashed --app "$work/a.crash"
grep -A5 '^Thread 1 Crashed' "$work/out" | head -4 | sed 's/ *\t.*x/ 0x/' >"$work/found"
printf '%s\n' 'Thread 1 Crashed:' '    (2 frames of the system)' '2   App 0x0000000100003f50 work + 4' '    (1 frame of the system)' |
  diff "$work/found" - || fail "--app shows other frames"
run 0 report --quiet --app --json "$work/a.crash"
out_has '"left_out": 3'
# The images are not in the order of their addresses, and one has only a name.
python3 - "$work" <<'END'
import json, sys
frame = lambda number, offset: {'imageOffset': offset, 'symbol': f'f{number}', 'symbolLocation': 4, 'imageIndex': number}
image = lambda number, base, size, path: {
    'base': base, 'size': size, 'uuid': f'{number}123ABCD-4567-89AB-CDEF-0123456789AB', 'name': path.rpartition('/')[2], 'path': path}
open(sys.argv[1] + '/many.ips', 'w').write('{"app_name":"App","bug_type":"309"}\n' + json.dumps({
    'procName': 'App', 'faultingThread': 0, 'threads': [{'frames': [frame(n, 0x3f50) for n in range(4)]}],
    'usedImages': [image(0, 0x300000000, 65536, '/usr/lib/libc.dylib'), image(1, 0x100000000, 65536, '/private/App.app/App'),
                   image(2, 0x200000000, 65536, '/System/Library/Frameworks/UIKit'), image(3, 0, 0, '/usr/lib/libz.dylib')]}))
END
run 0 report --quiet --app "$work/many.ips"
grep -A5 '^Thread 0 Crashed' "$work/out" | head -4 | sed 's/ *\t.*x/ 0x/' >"$work/found"
printf '%s\n' 'Thread 0 Crashed:' '    (1 frame of the system)' '1   App 0x0000000100003f50 f1 + 4' '    (2 frames of the system)' |
  diff "$work/found" - || fail "--app finds other images"
run 2 report --thread -1 "$work/a.crash"
err_has '"crashed" or a thread'
# A report without such a thread is not shown, and the others are.
run 1 report --quiet --thread 7 "$work/a.crash"
[[ ! -s $work/out ]] || fail "--thread 7 shows: $(cat "$work/out")"
err_has '^unspool: .*a\.crash: no thread has the number or id 7$'
grep -v '^Thread 1 C' "$work/a.crash" | sed 's/^Thread 1/Thread 0/' >"$work/hang.txt"
run 1 report --quiet --thread crashed "$work/hang.txt"
err_has '^unspool: .*hang\.txt: no thread crashed, and there is no backtrace of an exception$'
run 1 report --quiet --thread 1 "$work/hang.txt" "$work/a.ips"
out_has '^Thread 1 Crashed:$'
out_has 'a\.ips:$'
! grep 'hang' "$work/out" || fail "a report without the thread has a heading"
# Sentry: an exception that the program has not handled is a crash.
for handled in false true; do
  printf '{"exception":{"values":[{"type":"E","mechanism":{"handled":%s},"stacktrace":{"frames":[{"instruction_addr":"0x100000010"}]}}]},"debug_meta":{"images":[{"type":"macho","image_addr":"0x100000000","image_size":65536,"code_file":"App"}]}}' \
    "$handled" >"$work/$handled.json"
done
run 0 report --quiet --thread crashed "$work/false.json"
out_has '^Thread 0 Crashed:$'
run 1 report --quiet --thread crashed "$work/true.json"
run 0 report --quiet "$work/true.json"
out_has '^Thread 0:$'
# The last check, because it ends the test where the validator is missing.
validate report "$work"/*.shown
verdict
