#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares `unspool symbols` of ELF files with readelf: of programs built here and of the system's C library.
# tests/symbolize/command.sh tests Mach-O.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools readelf python3

# compare FILE LEAST: checks that each function with a size that readelf lists is listed with that size and one of its
# names.
compare() {
  readelf -sW "$1" >"$work/readelf"
  run 0 symbols --demangle no "$1"
  python3 - "$work/out" "$work/readelf" "$2" <<'END_OF_PROGRAM' || fail "$1: other functions than readelf lists"
import re, sys

listed, previous = {}, -1
for line in open(sys.argv[1], encoding="utf-8"):
    address, size, strategy, name = line.split(None, 3)
    assert int(address, 16) > previous and strategy == "symtab", line
    previous = int(address, 16)
    listed[previous] = (int(size, 16), name.strip())
wanted = {}
for line in open(sys.argv[2], encoding="utf-8"):
    match = re.match(r" *\d+: ([0-9a-f]+) +(\d+|0x[0-9a-f]+) I?FUNC +\w+ +\w+ +\d+ ([^@ ]+)", line)
    if match and int(match[2], 0) > 0:
        wanted.setdefault(int(match[1], 16), set()).add((int(match[2], 0), match[3].strip()))
# Thumb functions have odd addresses in their symbols and even ones in memory.
for address, symbols in wanted.items():
    assert listed.get(address, listed.get(address & ~1)) in symbols, (hex(address), symbols, listed.get(address))
assert len(wanted) >= int(sys.argv[3]), len(wanted)
END_OF_PROGRAM
}
compare "$stuck" 5
for file in "$work"/libunspool.so.0 "$unspool"; do
  [[ ! -f $file ]] || compare "$file" 30
done
libc=$(ldd "$stuck" 2>/dev/null | awk '/libc\.so/ { print $3 }')
if [[ -n $libc && -z $(find /usr/lib/debug -name '*.debug' -print -quit 2>/dev/null) ]]; then compare "$libc" 1000; fi

run 0 symbols --json "$stuck"
cp "$work/out" "$work/listing.json"
python3 - "$work/out" "$stuck" <<'END_OF_PROGRAM' || fail "--json: $(head -c 1000 "$work/out")"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    listing = json.load(file)
assert listing["version"] == 1 and listing["path"] == sys.argv[2]
names = {symbol["symbol"]: symbol for symbol in listing["symbols"]}
assert {"inner", "outer", "main"} <= set(names)
assert all(symbol["named_by"] == "symtab" and symbol["address"].startswith("0x") for symbol in listing["symbols"])
assert names["inner"]["size"] > 0
END_OF_PROGRAM

run 0 symbols --objc "$stuck"
[[ ! -s $work/out ]] || fail "C has no methods: $(cat "$work/out")"

# A program with only a header and a segment: the message says so, and so does the exit status.
python3 - "$work/bare" <<'END_OF_PROGRAM'
import struct, sys

header = struct.pack("<4s4B8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x1000, 0x1000, 0x1000)
open(sys.argv[1], "wb").write((header + segment).ljust(0x1000, b"\x90"))
END_OF_PROGRAM
run 1 symbols "$work/bare"
err_has "^unspool: $work/bare: no symbols"
run 1 symbols --json "$work/bare"
cp "$work/out" "$work/none.json"
echo text >"$work/text"
run 3 symbols "$work/text"
err_has "^unspool: $work/text: offset 0x0: neither ELF nor Mach-O$"
# A file that is cut off has no section headers: there are no names, and the message gives the reason.
head -c "$(($(wc -c <"$stuck") / 2))" "$stuck" >"$work/half"
for words in "symbols $work/half" "symbolize -o $work/half 1"; do
  # shellcheck disable=SC2086 # words
  run 3 $words
  [[ ! -s $work/out ]] || fail "$words: $(cat "$work/out")"
  err_has "^unspool: $work/half: offset 0x[0-9a-f]+: section header lies past the end, which is at 0x[0-9a-f]+$"
done
run 2 symbols
err_has 'a file is missing'
run 2 symbols a b
err_has 'one file'
run 2 symbols --fly a
validate symbols "$work/listing.json" "$work/none.json"
verdict
