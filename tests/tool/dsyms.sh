#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what the command reports about dSYMs that are not as they should be: a bundle with several builds, two dSYMs of
# one UUID that differ, and damaged names. The commands are `unspool symbolize`, its --log, `unspool index` and
# `unspool store add`.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld64.lld-19 dsymutil-19 python3
inside=prog.dSYM/Contents/Resources/DWARF

# build FOLDER FUNCTION: makes a program and its dSYM.
build() {
  mkdir "$work/$1"
  printf '__attribute__((noinline)) int %s(int x) {\n  return x * 3;\n}\nint main(void) { return %s(1); }\n' "$2" "$2" \
    >"$work/$1/main.c"
  clang-19 -target arm64-apple-macos13 -O1 -g -c "$work/$1/main.c" -o "$work/$1/main.o"
  ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -undefined dynamic_lookup -o "$work/$1/prog" "$work/$1/main.o"
  dsymutil-19 "$work/$1/prog" -o "$work/$1/prog.dSYM"
}

# A function of the same length, so that the dSYMs have the same size.
build good alpha
build twin omega

# change FILE HOW...: damages a dSYM's file.
cat >"$work/change.py" <<'END_PYTHON'
import struct
import sys

path, how = sys.argv[1:3]
data = bytearray(open(path, 'rb').read())


def command(bytes, kind):
    at = 32
    for _ in range(struct.unpack_from('<I', bytes, 16)[0]):
        found, size = struct.unpack_from('<II', bytes, at)
        if found == kind:
            return at
        at += size


symtab = command(data, 0x2)
if how == 'past':  # the names lie past the file's end
    struct.pack_into('<I', data, symtab + 16, 0x7ffffff0)
elif how == 'short':  # the file ends in its names
    del data[struct.unpack_from('<I', data, symtab + 16)[0] + 4:]
else:  # the UUID of another file
    other = open(how, 'rb').read()
    uuid, its = command(data, 0x1b) + 8, command(other, 0x1b) + 8
    data[uuid:uuid + 16] = other[its:its + 16]
open(path, 'wb').write(data)
END_PYTHON
change() { python3 "$work/change.py" "$@"; }
# copy FROM TO: copies the dSYM of a folder into a new folder.
copy() {
  mkdir -p "$work/$2"
  cp -R "$work/$1/prog.dSYM" "$work/$2"
}

uuid_of() { "$unspool" images "$work/$1/prog.dSYM" | awk '$4 == "arm64" { print $5 }'; }
uuid=$(uuid_of good)
other_uuid=$(uuid_of twin)
address=0x$("$unspool" symbols "$work/good/prog.dSYM" | awk '$4 == "alpha" { print $1 }')
[[ -n $uuid && $uuid != "$other_uuid" && $address != 0x ]] || fail "no fixtures"
cat >"$work/log" <<END_LOG
0   prog  $(printf '0x%x' $((address + 4))) 0x100000000 + $((address + 4 - 0x100000000))

Binary Images:
       0x100000000 -        0x100003fff prog arm64  <$uuid> /Users/x/prog
END_LOG

# Nothing is reported about intact ones, also if there are two copies, and if macOS has left an AppleDouble file beside
# one ("._NAME"). Such a file has no code; here it is another build with the same UUID, so that reading it would show.
copy good copies/one
copy good copies/two
cp "$work/twin/$inside/prog" "$work/copies/one/$inside/._prog"
change "$work/copies/one/$inside/._prog" "$work/good/$inside/prog"
cp "$work/copies/one/$inside/._prog" "$work/copies/._prog"
run 0 symbolize --log "$work/log" --search "$work/copies"
out_has ' alpha \+ 4 \(main.c:2\)$'
[[ $(wc -l <"$work/err") -eq 1 ]] || fail "$(cat "$work/err")"
run 0 index -o "$work/store" "$work/copies"
[[ ! -s $work/err ]] || fail "$(cat "$work/err")"

# A bundle with two builds: one has to be chosen; both are indexed.
copy good several
cp "$work/twin/$inside/prog" "$work/several/$inside/second"
run 2 symbolize -o "$work/several/prog.dSYM" "$address"
err_has "prog.dSYM has several images; say which by --arch or --uuid:\$"
err_has "^unspool:   arm64 $uuid\$"
err_has "^unspool:   arm64 $other_uuid\$"
run 0 symbolize -o "$work/several/prog.dSYM" --uuid "$uuid" "$address"
out_has '^alpha \(in prog\)'
run 0 symbolize -o "$work/several/prog.dSYM" --uuid "$other_uuid" "$address"
out_has '^omega \(in second\)'
run 0 index -o "$work/several.store" "$work/several"
out_has "^$uuid "
out_has "^$other_uuid "

# Two dSYMs with one UUID that differ.
copy good pair/one
copy twin pair/two
change "$work/pair/two/$inside/prog" "$work/good/$inside/prog"
[[ $(stat -c %s "$work/pair/one/$inside/prog") -eq $(stat -c %s "$work/pair/two/$inside/prog") ]] || fail "sizes differ"
run 0 symbolize --log "$work/log" --search "$work/pair"
out_has ' alpha \+ 4 \(main.c:2\)$'
err_has "^unspool: .*pair/two/$inside/prog: differs from .*pair/one/$inside/prog, which has the same UUID and is used first\$"
run 0 symbolize --log "$work/log" --quiet --search "$work/pair"
[[ ! -s $work/err ]] || fail "--quiet: $(cat "$work/err")"
for command in index 'store add'; do
  rm -rf "$work/store"
  # shellcheck disable=SC2086 # two words
  run 0 $command -o "$work/store" "$work/pair"
  err_has "^unspool: .*pair/two/$inside/prog: differs from .*pair/one/$inside/prog, which has the same UUID; the index is of the earlier one\$"
done

# Damaged names.
for how in past short; do
  copy good "$how"
  change "$work/$how/$inside/prog" "$how"
  run 3 symbolize -o "$work/$how/prog.dSYM" "$address"
  err_has "$how/$inside/prog: offset 0x[0-9a-f]+: names of symbols "
  run 0 symbolize --log "$work/log" --search "$work/$how"
  err_has "^unspool: .*$how/$inside/prog: offset 0x[0-9a-f]+: names of symbols "
  for command in index 'store add'; do
    rm -rf "$work/store"
    # shellcheck disable=SC2086 # two words
    run 1 $command -o "$work/store" "$work/$how"
    err_has "^unspool: .*$how/$inside/prog: offset 0x[0-9a-f]+: names of symbols "
  done
  # An intact one beside it is used.
  copy good "$how.pair/$how"
  copy good "$how.pair/whole"
  change "$work/$how.pair/$how/$inside/prog" "$how"
  run 0 symbolize --log "$work/log" --search "$work/$how.pair"
  out_has ' alpha \+ 4 \(main.c:2\)$'
  err_has "$how.pair/$how/$inside/prog: offset 0x[0-9a-f]+: names of symbols "
done
# The functions of debug information, without symbols: offsets count from their starts.
run 0 symbolize --log "$work/log" --search "$work/past"
out_has ' alpha \+ 4 \(main.c:2\)$'

# A dSYM without a whole header, in a folder.
copy good headless
truncate -s 40 "$work/headless/$inside/prog"
run 3 index -o "$work/store" "$work/headless"
err_has "headless/$inside/prog: "
verdict
