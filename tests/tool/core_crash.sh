#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what `unspool stack` says about the crash in a core: the thread that crashed is the first in every style and
# marked, the signal has its name, its code words, and the text says what lies at the fault address. A core that gdb writes of
# a crashed process says the same; one of a living process has no crash.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
have gdb || skip "gdb is missing"
cd "$work"
read -ra compiler <<<"${CC:-cc}"
"${compiler[@]}" -O1 -g -I"$top" -o crashes "$top/tests/tool/crashes.c" -lpthread || skip "no compiler"

# crash HOW: makes a core with gdb of a crashed process; the crashed thread's id is in $crashed.
crash() {
  rm -f core
  gdb -nx -batch -readnever -ex run -ex "gcore core" -ex kill --args ./crashes "$1" >gdb.out 2>&1 </dev/null || :
  [[ -s core ]] || fail "gdb writes no core: $(cat gdb.out)"
  run 0 stack core
  crashed=$(sed -n 's/^Thread \([0-9]*\) .*(crashed).*/\1/p' out)
  [[ $(grep -m 1 '^Thread' out) == "Thread $crashed "* ]] || fail "$1: the crashed thread is not the first"
}

crash null
out_has '^Process .*, ended by SIGSEGV$'
out_has '^    SIGSEGV, the address is not mapped \(SEGV_MAPERR\), fault address 0x8: a null pointer and an offset$'
expect_frames "$crashed" crash start
run 0 stack --style crash-report core
out_has '^Exception Type: +SIGSEGV$'
out_has '^Exception Subtype: +SEGV_MAPERR at 0x0000000000000008$'
out_has '^Triggered by Thread: +0$'
out_has '^Thread 0 Crashed:$'
for style in call-stack-symbols backtrace-symbols bs-backtrace plain portable; do
  run 0 stack --style $style core
  [[ $(grep -m 1 -E '^(Backtrace of )?Thread' out) =~ Thread\ $crashed.*\(crashed\): ]] || fail "$style: no mark"
done
run 0 stack --style folded core
[[ $(head -n 1 out) == *'(crashed);'* ]] || fail "folded: no mark"
run 0 stack --json core
out_has '"signal_name": ?"SIGSEGV"'
out_has '"signal_code": ?1,'
out_has '"fault_address": ?"0x8"'
out_has "\"crashed_thread\": ?$crashed,"
[[ $(grep -c '"crashed": ?*true' out) -eq 1 ]] || fail "JSON: not one crashed thread"
validate stacks out

crash text
out_has '^    SIGSEGV, the memory does not permit the access \(SEGV_ACCERR\), fault address 0x[0-9a-f]+: crashes \+ [0-9]+'
crash overflow
out_has '^    SIGSEGV, .*, fault address 0x[0-9a-f]+: at the stack pointer, where there is no stack: a stack overflow$'
crash abort
out_has '^Process .*, ended by SIGABRT$'
out_has '^    SIGABRT, sent by a process to this thread \(SI_TKILL\), from process [0-9]+, itself$'
if [[ $(uname -m) == x86_64 ]]; then
  crash division
  out_has '^    SIGFPE, integer division by zero \(FPE_INTDIV\), fault address 0x[0-9a-f]+: crashes \+ [0-9]+'
fi

# A living process.
start ./crashes wait
gdb -nx -batch -readnever -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
# The process and its core have the same frames, to the outermost one, where the table says that there is no caller.
run 0 stack "$pid"
grep -E '^([0-9]|    ends)' out >living
run 0 stack core
grep -E '^([0-9]|    ends)' out >dead
diff living dead >differences || fail "the process and its core differ: $(cat differences)"
grep -q ' _start + ' living || fail "the main thread's stack does not go on to _start: $(cat living)"
out_lacks 'ended by|crashed\)|SIGSTOP'
[[ $(grep -m 1 '^Thread' out) == "Thread $pid "*'(main)'* ]] || fail "the main thread is not the first"
run 0 stack --json core
out_lacks '"(signal|crash|crashed_thread|crashed)":'

# No thread has a stack: the core has no thread's registers.
if part_needs python3; then
  python3 - <<'END'
import struct
core = bytearray(open('core', 'rb').read())
wide = core[4] == 2
headers, size, count = struct.unpack_from('<Q14xHH', core, 32) if wide else struct.unpack_from('<I10xHH', core, 28)
for i in range(count):
    at = headers + i * size
    if struct.unpack_from('<I', core, at)[0] != 4:  # PT_NOTE
        continue
    note, = struct.unpack_from('<Q' if wide else '<I', core, at + (8 if wide else 4))
    length, = struct.unpack_from('<Q' if wide else '<I', core, at + (32 if wide else 16))
    end = note + length
    while note < end:
        name, description, kind = struct.unpack_from('<III', core, note)
        if kind == 1:  # NT_PRSTATUS
            struct.pack_into('<I', core, note + 8, 0x777)
        note += 12 + (name + 3) // 4 * 4 + (description + 3) // 4 * 4
open('without', 'wb').write(core)
END
  run 1 stack without
  err_has '^unspool: without: the core holds no threads that can be read$'
  run 1 stack --json without
fi
verdict
