#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool profile`: choices, summary, messages and exit status, with a recording that is written here.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
# Eight samples of two events, threads and processes, in a pipe's format (Linux tools/perf/Documentation/
# perf.data-file-format.txt): 65536 identifier, 1 address, 2 thread, 4 time, 32 chain.
python3 - "$work/perf.data" <<'END'
import struct, sys
def record(kind, body, misc=2):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body
def attribute(kind, id):
    return record(64, struct.pack('<IIQQQQQ', kind, 64, 0, 2000000, 65536 + 1 + 2 + 4 + 32, 0, 0).ljust(64, b'\0') + struct.pack('<Q', id))
def event(id, name):
    return record(78, struct.pack('<QQ', 2, id) + name)
out = b'PERFILE2' + struct.pack('<Q', 16) + attribute(1, 5) + attribute(2, 6) + event(5, b'cpu-clock') + event(6, b'faults')
out += record(1, struct.pack('<IIQQQ', 7, 7, 0x400000, 0x10000, 0) + b'/no/such/app\0\0\0\0')
for pid, tid, name in (7, 7, b'app'), (7, 8, b'worker'), (9, 9, b'other'):
    out += record(3, struct.pack('<II', pid, tid) + name.ljust(8, b'\0'))
for i, (pid, tid, id) in enumerate([(7, 7, 5), (7, 8, 5), (9, 9, 5), (7, 8, 6)] * 2):
    out += record(9, struct.pack('<QQIIQQQQ', id, 0x400100, pid, tid, 1000000000 + 250000000 * i, 2, 2**64 - 512, 0x400100))
open(sys.argv[1], 'wb').write(out)
END

run 0 profile "$work/perf.data"
err_has '^unspool: 6 samples of 3 threads in 1\.5 s$'
err_has '^unspool: 2 samples of other events are left out; --event chooses one$'
# No sampler counted ticks here.
out_has '^6 samples in 1\.500 s, every 2 ms$'
out_lacks 'ticks|captured|per mille'
out_has ' 2 Thread_8: worker$'
out_has '\(in app\)'
run 0 profile - <"$work/perf.data"
err_has '^unspool: 6 samples of 3 threads in 1\.5 s$'
run 0 profile --pid 9 "$work/perf.data"
err_has '^unspool: 2 samples of 1 thread in '
# The summary names the file, unless it could not be written.
run 0 profile -o "$work/a file.svg" "$work/perf.data"
err_has "^unspool: 6 samples of 3 threads in 1\\.5 s in $work/a file\\.svg\$"
run 4 profile -o "$work/nowhere/file.svg" "$work/perf.data"
err_has "^unspool: $work/nowhere/file\\.svg: No such file or directory\$"
[[ $(wc -l <"$work/err") -eq 1 ]] || fail "a summary of a file that is not there"

# chosen NUMBER ARGUMENT...: so many samples are chosen.
chosen() {
  run 0 profile --quiet --format folded --merge --no-symbols "${@:2}" "$work/perf.data"
  err_is_empty
  [[ $(awk '{ n += $NF } END { print n + 0 }' "$work/out") -eq $1 ]] || fail "${*:2}: $(cat "$work/out")"
}
chosen 6
chosen 4 --pid 7
chosen 2 --comm worker
chosen 2 --event faults
chosen 1 --time 1.25,1.5
chosen 3 --time 2,
chosen 3 --time ,2

# ---- messages and statuses
head -c -8 "$work/perf.data" >"$work/cut"
run 1 profile -o "$work/cut.svg" "$work/cut"
err_has "^unspool: $work/cut: offset 0x[0-9a-f]+: the file ends inside a record$"
[[ -s $work/cut.svg ]] || fail "no profile of a recording that is cut off"
for wrong in '--time 1' '--time x,' '--time 1,2x' '--memory 0' '--format fly' '--pid x' "$work/cut"; do
  # shellcheck disable=SC2086 # an option and its value
  run 2 profile $wrong "$work/perf.data"
  [[ ! -s $work/out ]] || fail "$wrong: output"
done
for none in '--comm nothing' '--pid 1' '--time 3,'; do
  # shellcheck disable=SC2086
  run 3 profile $none "$work/perf.data"
  err_has 'no sample that the options choose$'
done
run 3 profile --event nothing "$work/perf.data"
err_has ': no sample of the event "nothing"; it has samples of: cpu-clock, faults$'
# Go's profiles of a program that has started no thread or waited for no lock: one sample without a stack, or none.
python3 - "$work" <<'END'
import sys
def field(number, body):
    return bytes([number << 3 | 2, len(body)]) + body
kind = field(1, b'\x08\x01\x10\x02')
texts = b''.join(field(6, text) for text in (b'', b'threadcreate', b'count'))
open(sys.argv[1] + '/one.pb', 'wb').write(kind + field(2, b'\x12\x01\x06') + texts)
open(sys.argv[1] + '/none.pb', 'wb').write(kind + texts)
END
run 3 profile "$work/one.pb"
err_has '^unspool: .*/one\.pb: none of its samples has a stack$'
run 3 profile "$work/none.pb"
err_has '^unspool: .*/none\.pb: the file is whole and has no sample: nothing was recorded in it$'
run 3 profile --event space "$work/one.pb"
err_has ': no sample of the event "space"; it has samples of: threadcreate$'
run 3 profile "$work/missing"
run 3 profile "$work"
err_has 'a folder; a recording of perf record --threads cannot be read$'
run 3 profile "$work/stuck"
err_has 'not a recording in a format that is known$'
verdict
