#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests files that contain only symbols: GSYM of ELF and Mach-O programs, in both byte orders, compared at each byte of
# their code with LLVM's own reader and with DWARF; Breakpad's symbol files, compared with llvm-symbolizer; and indexes
# of both, which are used for the programs. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc g++ clang-19 ld.lld-19 ld64.lld-19 dsymutil-19 llvm-gsymutil-19 llvm-symbolizer-19 llvm-nm-19 llvm-readelf-19 strip python3
use_command
dump=$PWD/tests/symbolize/lines_dump
[[ -x $unspool && -x $dump ]] || skip "tools/unspool and tests/symbolize/lines_dump were not built"
make_work
fixtures=$top/tests/symbolize truth=$top/tests/symbolize/symfile.py
cd "$work"

id=('-Wl,--build-id=sha1')
gcc -O2 -g -shared -fPIC -nostdlib "${id[@]}" -o c "$fixtures/lines_fixture.c"
g++ -O2 -g -shared -fPIC -nostdlib "${id[@]}" -o c++ "$fixtures/lines_fixture.cc"
# Files whose addresses do not begin at 0.
gcc -O2 -g -static -no-pie -nostdlib -Wl,-e,0 "${id[@]}" -o fixed "$fixtures/lines_fixture.c"
clang-19 --target=aarch64-linux-gnu -O2 -g -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" -o arm64 "$fixtures/lines_fixture.c"
clang-19 --target=s390x-linux-gnu -O2 -g -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" -o big-endian \
  "$fixtures/lines_fixture.c"
clang-19 -target arm64-apple-ios14 -O2 -g -c -o ios.o "$fixtures/lines_fixture.c"
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -dylib -undefined dynamic_lookup -o ios ios.o
dsymutil-19 ios

# bytes FILE: prints the address of each byte of its sized functions, or of all its code if no function has a size.
bytes() {
  llvm-nm-19 --print-size --numeric-sort "$1" 2>/dev/null | python3 -c '
import sys
rows = [line.split() for line in sys.stdin]
sized = [(int(r[0], 16), int(r[1], 16)) for r in rows if len(r) == 4 and r[2] in "tTwW" and int(r[1], 16) > 0]
starts = [int(r[0], 16) for r in rows if len(r) > 2 and r[-2] in "tT"]
if not sized:
    sized = [(min(starts), max(starts) - min(starts))]
print(*(hex(a) for a in sorted({a for start, size in sized for a in range(start, start + size)})), sep="\n")'
}

# ---- GSYM
for name in c c++ fixed arm64 big-endian ios; do
  file=$name
  [[ $name != ios ]] || file=ios.dSYM/Contents/Resources/DWARF/ios
  llvm-gsymutil-19 --convert="$file" --out-file="$name.gsym" >converted 2>&1 || fail "$name: $(cat converted)"
  bytes "$file" >addresses
  sed "s/\$/ $name.gsym/" addresses | llvm-gsymutil-19 --addresses-from-stdin >"$name.llvm"
  "$dump" "$name.gsym" <addresses >"$name.dump" 2>explained
  grep -q "^GSYM of $name.gsym" explained || fail "$name: $(cat explained)"
  python3 "$truth" gsym "$name.dump" "$name.llvm" || fail "$name: not as LLVM reads it"
  "$unspool" index --quiet -o store "$name.gsym" || fail "$name: not indexed"
  "$unspool" index --verify --quiet -o store "$name.gsym" || fail "$name: the index differs from its source"
  [[ $name != big-endian ]] || continue
  # Debug information must replace the index of a GSYM file, but not the other way round.
  for added in "$name.gsym" "$file" "$name.gsym"; do
    "$unspool" store add --quiet -o both "$added" || fail "$added: not added"
  done
  "$unspool" store add --quiet -o alone "$file" || fail "$file: not added"
  diff -r both alone >different || fail "$name: the store has GSYM in the place of debug information: $(cat different)"
  "$dump" "$name" <addresses >by-dwarf 2>/dev/null
  python3 "$truth" dwarf "$name.dump" by-dwarf || fail "$name: not as by DWARF"
  # The program itself, without debug information, by the index.
  cp "$file" "$name-s"
  [[ $name != c && $name != c++ && $name != fixed ]] || strip -s "$name-s"
  "$dump" -s store "$name-s" <addresses 2>explained | sed 's/,indexed//' >by-index
  grep -q '^index store/' explained || fail "$name: the index is not used: $(cat explained)"
  python3 "$truth" dwarf by-index by-dwarf || fail "$name: not as by DWARF, by the index"
done

# ---- Breakpad
for name in c c++ fixed; do
  python3 "$truth" write "$name" "$name.sym" addresses truth.json
  "$dump" "$name.sym" <addresses >"$name.dump" 2>explained
  grep -q "^Breakpad's symbols of $name.sym" explained || fail "$name: $(cat explained)"
  python3 "$truth" breakpad "$name.dump" truth.json || fail "$name: not as by llvm-symbolizer"
  mine=$("$unspool" images "$name.sym" | awk 'NR > 1 { print $5 }') its=$("$unspool" images "$name" | awk 'NR > 1 { print $5 }')
  [[ -n $mine && $mine == "$its" ]] || fail "$name: symbols of $mine, a program of $its"
  "$unspool" store add --quiet -o by-sym "$name.sym" || fail "$name: not indexed"
  "$unspool" store add --verify --quiet -o by-sym "$name.sym" || fail "$name: the index differs from its source"
  # In the index, the program's addresses count from another base.
  base=0x$(llvm-readelf-19 -lW "$name" | awk '$1 == "LOAD" { print substr($3, 3); exit }')
  python3 -c 'import sys; [print(hex(int(a, 16) + int(sys.argv[1], 16))) for a in sys.stdin]' "$base" <addresses >moved
  "$dump" -s by-sym "$name-s" <moved 2>explained |
    python3 -c 'import sys
for line in sys.stdin: print(hex(int(line, 16) - int(sys.argv[1], 16)) if line.startswith("0x") else line.rstrip("\n"))' "$base" >by-index
  grep -q '^index by-sym/' explained || fail "$name: the index is not used: $(cat explained)"
  python3 "$truth" breakpad by-index truth.json || fail "$name: not as by llvm-symbolizer, by the index"
done

# ---- in the layout of symbol servers, also in a zip archive
build_id=$("$unspool" images c | awk 'NR > 1 { print $5 }')
offset=$((16#$(llvm-nm-19 c | awk '$3 == "leaf" { print $1 }') + 2))
printf 'Process: c [1]\n\nThread 0 Crashed:\n0   c  0x%016x 0x10000000 + %d\n\nBinary Images:\n0x10000000 - 0x10ffffff c x86_64 <%s> /gone/c\n' \
  $((0x10000000 + offset)) "$offset" "$build_id" >report
mkdir -p "laid/${build_id:0:2}/${build_id:2}"
cp c.sym "laid/${build_id:0:2}/${build_id:2}/breakpad"
for places in laid c.gsym c.sym; do
  "$unspool" symbolize --log report --search "$places" --index nowhere >named 2>/dev/null || fail "$places: exit status $?"
  grep -q 'leaf .*lines_fixture' named || fail "$places: the log is not named: $(cat named)"
done
python3 -c 'import sys, zipfile
with zipfile.ZipFile("symbols.zip", "w") as archive:
    for name in ("c.gsym", "big-endian.gsym", "c++.sym"): archive.write(name)'
if "$unspool" store add -o zipped symbols.zip >added 2>why; then
  [[ $(grep -c "symbols\.zip/" added) -eq 3 ]] || fail "of three files in an archive: $(cat added why)"
elif ! grep -q libarchive why; then
  fail "an archive of symbols: $(cat why)"
fi

# ---- without CODE_ID the file belongs to no image whose build id is longer
grep -v '^INFO' c.sym >short.sym
[[ $("$unspool" images short.sym | awk 'NR > 1 { print $5 }' | tr -d - | tr A-F a-f) == \
  $("$unspool" images c | awk 'NR > 1 { print substr($5, 1, 32) }') ]] || fail "the GUID of a build-id is not put in order"
verdict
