#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program whose symbol table is a hole of a terabyte: it is refused with a message, and not read for an hour.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3
read -ra cc <<<"${CC:-cc}"
cd "$work"
echo 'int answer(void) { return 42; }' >answer.c
"${cc[@]}" -shared -fPIC -nostdlib -o sparse answer.c
python3 - sparse <<'END' || skip "no programs of this kind, or no sparse files of this size"
import struct
import sys
with open(sys.argv[1], 'r+b') as file:
    header = file.read(64)
    assert header[4:6] == b'\2\1', 'not 64 bits, little-endian'
    at, = struct.unpack_from('<Q', header, 0x28)
    size, count = struct.unpack_from('<HH', header, 0x3a)
    for i in range(count):
        file.seek(at + i * size + 4)
        if struct.unpack('<I', file.read(4))[0] == 2:  # SHT_SYMTAB
            file.seek(at + i * size + 24)
            file.write(struct.pack('<QQ', 1 << 20, 24 << 35))
    file.truncate((1 << 20) + (24 << 35))
END
for arguments in 'symbolize -o sparse 0x1000' 'symbols sparse'; do
  status=0
  # shellcheck disable=SC2086 # words on purpose
  (ulimit -t 20; "$unspool" $arguments) >out 2>err || status=$?
  [[ $status -eq 3 && $(<err) == *': 34359738368 symbols are too many' ]] || fail "$arguments: status $status, $(<err)"
done
verdict
