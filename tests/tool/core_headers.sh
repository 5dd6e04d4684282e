#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests cores that lack the images' headers and code (coredump_filter), or the program headers alone because they are
# not in the first page: what the core has of a file is compared, and the file is used with a warning.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
have gdb || skip "gdb is missing"

# write_core FILTER: makes $work/core of the process $pid.
write_core() {
  echo "$1" >"/proc/$pid/coredump_filter"
  gdb -nx -batch -readnever -p "$pid" -ex "set use-coredump-filter on" -ex "gcore $work/core" >/dev/null 2>&1 </dev/null ||
    fail "gdb writes no core"
}

start "$stuck"
for filter in 0x1 0x23; do
  write_core "$filter"
  run 0 stack "$work/core"
  err_has "^unspool: $stuck: used without a build-id to compare"
  expect_frames "$pid" inner outer main
  expect_frames '' work_inner work_outer work start_thread
done
stop

# The program is elsewhere: what the user names is used, unless something contradicts.
mv "$stuck" "$work/moved"
run 0 stack "$work/core"
err_has "^unspool: $stuck: no such file"
out_has ' stuck \+ [0-9]+$'
run 0 stack --program "$work/moved" "$work/core"
err_has "^unspool: $work/moved: used without a build-id to compare"
expect_frames "$pid" inner outer main
run 0 stack --program "$unspool" "$work/core"
err_has "^unspool: $unspool: .*another build: .*; not used"
out_lacks ' (inner|outer) \+'
mv "$work/moved" "$stuck"

# Program headers at the end of the text, as tools leave them that add some.
if part_needs python3; then
  python3 - "$stuck" <<'EOF'
import struct, sys
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
wide = data[4] == 2
header = (0x20, "<Q", 0x36) if wide else (0x1c, "<I", 0x2a)
at, = struct.unpack_from(header[1], data, header[0])
size, count = struct.unpack_from("<HH", data, header[2])
# Fields of a program header: flags, offset, address, size in the file, size in memory.
fields = (4, 8, 16, 32, 40) if wide else (24, 4, 8, 16, 20)
word = "<Q" if wide else "<I"
table = bytearray(data[at:at + size * count])
get = lambda i, field: struct.unpack_from(word, table, i * size + fields[field])[0]
kind = lambda i: struct.unpack_from("<I", table, i * size)[0]
flags = lambda i: struct.unpack_from("<I", table, i * size + fields[0])[0]
text = next(i for i in range(count) if kind(i) == 1 and flags(i) & 1)
place = (get(text, 1) + get(text, 3) + 15) & ~15
end = place + len(table)
if place < 4096 or any(place < get(i, 1) < end for i in range(count)):
    sys.exit("no room")
for i in range(count):
    if i == text:
        for field in 3, 4:
            struct.pack_into(word, table, i * size + fields[field], end - get(text, 1))
    if kind(i) == 6:
        address = get(text, 2) + place - get(text, 1)
        for field, value in (1, place), (2, address):
            struct.pack_into(word, table, i * size + fields[field], value)
        struct.pack_into(word, table, i * size + (24 if wide else 12), address)
data[place:end] = table
struct.pack_into(header[1], data, header[0], place)
open(path, "wb").write(data)
EOF
  start "$stuck"
  write_core 0x33
  run 0 stack "$work/core"
  expect_frames "$pid" inner outer main
  out_has "^Process $pid $stuck,"
fi
verdict
