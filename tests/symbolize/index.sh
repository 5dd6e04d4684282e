#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests index files: they give the same answers as the debug information at every address where the answer can change.
# They are the same whichever command makes them, are refused or ignored when they are damaged, and replace files that
# are absent. A reader by doc/index-format.md alone gives the same answers. `--verify` finds each kind of difference. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc g++ clang-19 clang++-19 ld64.lld-19 dsymutil-19 ld.lld-19 python3 llvm-nm-19 llvm-strip-19
use_command
dump=$PWD/tests/symbolize/lines_dump
[[ -x $unspool && -x $dump ]] || skip "tools/unspool was not built"
make_work
fixtures=$top/tests/symbolize
cd "$work"

# ---- files of all kinds
mkdir files
id=('-Wl,--build-id=sha1')
gcc -O2 -g -shared -fPIC -nostdlib "${id[@]}" -o files/gcc "$fixtures/lines_fixture.c"
g++ -O2 -gdwarf-4 -shared -fPIC -nostdlib "${id[@]}" -o files/gcc-c++ "$fixtures/lines_fixture.cc"
clang++-19 -O2 -gdwarf-5 -gdwarf64 -shared -fPIC -nostdlib "${id[@]}" -o files/wide "$fixtures/lines_fixture.cc"
# Folded functions, and a unit that claims no code.
clang++-19 -O1 -g -ffunction-sections -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" '-Wl,--icf=all' -o files/folded \
  "$fixtures/lines_fixture.cc"
gcc -O2 -gdwarf-2 -gstrict-dwarf -shared -fPIC -nostdlib "${id[@]}" -o files/old "$fixtures/lines_fixture.c"
for target in aarch64-linux-gnu arm-linux-gnueabihf i386-linux-gnu; do
  clang-19 "--target=$target" -O2 -g -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" -o "files/$target" \
    "$fixtures/lines_fixture.c"
done
clang++-19 -target arm64-apple-ios14 -O2 -g -fno-exceptions -c -o ios.o "$fixtures/lines_fixture.cc"
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -dylib -undefined dynamic_lookup -o files/ios ios.o
dsymutil-19 files/ios

"$unspool" index --quiet -o one --threads 1 files || fail "index: exit status $?"
"$unspool" index --quiet -o two --threads 2 files || fail "index: exit status $?"
diff -r one two >/dev/null || fail "two threads make other bytes than one"
cp -R one before
"$unspool" index --quiet -o one --threads 3 files
diff -r one before >/dev/null || fail "made again, an index differs"
[[ $(find one -name index | wc -l) -eq 9 ]] || fail "$(find one -name index | wc -l) indexes of 9 files"
find one -type f ! -name index | grep -c . >/dev/null && fail "files are left beside the indexes"
"$unspool" index --verify -o one files >verified || fail "an index differs from its source: $(cat verified)"
[[ $(grep -c 'addresses are equal' verified) -ge 9 ]] || fail "not all were compared: $(cat verified)"

# ---- a reader that was written by doc/index-format.md alone gives the same answers
for file in files/*; do
  [[ -f $file ]] || continue
  rm -rf single
  "$unspool" index --quiet -o single "$file"
  python3 -B "$fixtures/index_format.py" "$(find single -name index)" >by-page || fail "$file: not as doc/index-format.md has it"
  grep '^0x' by-page | "$dump" -s single "$file" 2>/dev/null | sed 's/\t[^\t]*$//' >by-library
  [[ $(grep -c '^0x' by-page) -gt 20 ]] || fail "$file: hardly anything was asked"
  cmp -s by-page by-library || fail "$file: other answers by doc/index-format.md: $(diff by-page by-library | head -n 4)"
done

# ---- an index of another build is not used, and a missing one causes no message
addresses=$(llvm-nm-19 --defined-only files/gcc | awk '$2 ~ /[tT]/ { print $1 }')
"$dump" files/gcc <<<"$addresses" >by-source 2>/dev/null
"$dump" -s one files/gcc <<<"$addresses" 2>/dev/null | sed 's/,indexed//' >by-index
cmp -s by-source by-index || fail "the index says something else: $(diff by-source by-index | head -n 4)"
"$dump" -s one files/gcc <<<"$addresses" 2>/dev/null | grep -c indexed >/dev/null || fail "the index is not used"
path_of() { "$unspool" index -o nowhere "$1" | awk '{ print substr($1, 1, 2) "/" substr($1, 3) "/index" }'; }
mine=$(path_of files/gcc) other=$(path_of files/gcc-c++)
cp "one/$other" "two/$mine"
"$dump" -s two files/gcc <<<"$addresses" 2>explained | cmp -s by-source - || fail "the index of another build is used"
grep -q 'of another build' explained || fail "the index of another build: $(cat explained)"
"$dump" -s empty files/gcc <<<"$addresses" 2>explained | cmp -s by-source - || fail "without a store lines differ"

# ---- every kind of damage: the answers are those of the debug information or of the intact index
python3 - "one/$mine" "two/$mine" "$dump" files/gcc by-source <<'END' || fail "damage changes answers"
import os, random, subprocess, sys
whole, damaged, dump, program, expected = sys.argv[1:]
content, wanted = open(whole, 'rb').read(), open(expected, 'rb').read()
addresses = b'\n'.join(line for line in wanted.split(b'\n') if line.startswith(b'0x'))
random.seed(7)
changes = [('cut', n) for n in (0, 1, 100, 255, 256, 300, len(content) // 2, len(content) - 1)]
changes += [('flip', random.randrange(len(content))) for _ in range(120)] + [('flip', i) for i in range(0, 200, 7)]
wrong = 0
for kind, at in changes:
    changed = bytearray(content[:at] if kind == 'cut' else content)
    if kind == 'flip':
        changed[at] ^= 1 << random.randrange(8)
    with open(damaged, 'wb') as out:
        out.write(changed)
    ran = subprocess.run([dump, '-s', os.path.dirname(os.path.dirname(os.path.dirname(damaged))), program],
                         input=addresses, capture_output=True)
    if ran.returncode != 0 or ran.stdout.replace(b',indexed', b'') != wanted:
        wrong += 1
        print(f'{kind} {at}: status {ran.returncode}, {ran.stderr[-200:]}')
print(f'{len(changes)} kinds of damage, {wrong} wrong')
sys.exit(wrong > 0)
END

# ---- --verify must find an index that differs from its source in one answer: a line, a column, a file, a name, the line
# of an inlined call, a range. Both builds of the source have one build id.
cat >right.c <<'END'
static inline __attribute__((always_inline)) int inner(int a) { return a / 7; }
int outer(int a) { return inner(a) + 2; }
int last(int a) { return a * 31; }
END
build_right() { gcc -O1 -g -shared -fPIC -nostdlib '-Wl,--build-id=0x0102030405060708' -o "$1" -x c -; }
build_right right <right.c
"$unspool" index --quiet -o right-store right || fail "index: exit status $?"
"$unspool" index --verify -o right-store right >verified || fail "--verify of what is equal: $(cat verified)"
differ() {
  local what=$1 status=0
  sed "$2" right.c | build_right different
  "$unspool" index --verify -o right-store different >verified 2>said || status=$?
  [[ $status -eq 1 ]] || fail "--verify: another $what is not found: exit status $status"
  grep -q '^unspool: different: address 0x[0-9a-f]*: another answer than by the source$' said ||
    fail "--verify: another $what: $(cat said)"
}
differ line '3s/^/\n/'
differ column '3s/return a/return  a/'
differ file '3s/^/#line 3 "other.c"\n/'
differ name 's/inner/other/g'
differ call '2s/return inner/return\n#line 7\n inner/'
differ range '3s/31/33554431 \/ (a | 1)/'
"$unspool" index --verify -o empty right >verified 2>said && fail "--verify without an index"

# ---- names that only the metadata of Objective-C has: by the index alone they are those of the file
clang-19 -target arm64-apple-macos13 -fobjc-runtime=macosx-13.0 -fblocks -O1 -w -c -o objc.o "$fixtures/objc_fixture.m"
ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib objc.o "$fixtures/objc_fixture.tbd" -o objc
llvm-strip-19 objc
"$unspool" symbols objc >by-file
[[ $(grep -c ' objc-metadata [-+]\[' by-file) -ge 16 ]] || fail "the fixture has no methods: $(cat by-file)"
"$unspool" index --quiet -o objc-store objc >said 2>&1 || fail "index of a stripped program: $(cat said)"
uuid=$("$unspool" images objc | awk '$4 == "arm64" { print $5 }')
rm objc
python3 - "$uuid" by-file "$unspool" objc-store <<'END' || fail "names of methods by the index alone"
import json, subprocess, sys
uuid, by_file, unspool, store = sys.argv[1:]
named = [line.split(None, 3) for line in open(by_file)]
# In the middle of each function, as a frame that a signal interrupted.
records = ''.join(json.dumps({'frames': [{'image': 'objc', 'uuid': uuid, 'offset': int(start, 16) + int(size, 16) // 2}]}) + '\n'
                  for start, size, _, _ in named)
ran = subprocess.run([unspool, 'symbolize', '--records', '--index', store], input=records, capture_output=True, text=True)
answers = [json.loads(line) for line in ran.stdout.splitlines()]
wrong = [(name, answer) for (_, _, _, name), answer in zip(named, answers)
         if answer['frames'][0].get('symbol') != name.rstrip('\n')]
print(f'{len(named)} functions, {len(wrong)} with another name: {wrong[:2]}')
sys.exit(len(answers) != len(named) or len(wrong) > 0)
END

# ---- an index that was made without the split units lacks calls. It must be replaced when they are there, and must not
# replace one that has them.
gcc -O2 -g -gsplit-dwarf -shared -fPIC -nostdlib "${id[@]}" -o split "$fixtures/lines_fixture.c"
mkdir apart
mv ./*.dwo apart
"$unspool" index -o split-store split >/dev/null 2>said || fail "index without the split units: exit status $?"
grep -q 'split off, and was not found' said || fail "the split units are missing: $(cat said)"
"$unspool" index -o split-store split 2>said | grep -c 'bytes are there' >/dev/null || fail "an equal index was written again"
grep -q 'split off, and was not found' said || fail "the split units are missing again: $(cat said)"
mv apart/*.dwo .
"$unspool" index -o split-store split >said 2>&1
grep -q ' bytes of ' said || fail "the index without the split units stays: $(cat said)"
"$unspool" index --verify -o split-store split >verified 2>&1 || fail "with the split units: $(cat verified)"
rm ./*.dwo
"$unspool" index -o split-store split | grep -c 'bytes are there' >/dev/null || fail "the index with the split units was replaced"

# So is one that was made without the file that several share.
shared_file() {
  gcc -O2 -g -shared -fPIC -nostdlib "${id[@]}" -o sharing "$fixtures/lines_fixture.c"
  cp sharing other
  dwz -m common -r sharing other
  mv common apart
  "$unspool" index -o shared-store sharing >/dev/null 2>said || fail "index without the shared file: exit status $?"
  grep -q 'shares debugging information that was not found' said || fail "the shared file is missing: $(cat said)"
  mv apart/common .
  "$unspool" index -o shared-store sharing >said 2>&1
  grep -q ' bytes of ' said || fail "the index without the shared file stays: $(cat said)"
  ! grep -q 'not found' said || fail "the shared file is there: $(cat said)"
  "$unspool" index --verify -o shared-store sharing >verified 2>&1 || fail "with the shared file: $(cat verified)"
}
! part_needs dwz || shared_file

# ---- files without anything to index
echo 'int f(void) { return 1; }' | gcc -shared -fPIC -nostdlib '-Wl,--build-id=none' -g -x c -o nameless -
"$unspool" index -o one nameless >/dev/null 2>said && fail "what has no build-id was indexed"
grep -q 'no UUID or build-id' said || fail "no build-id: $(cat said)"
"$unspool" index -o one missing 2>said && fail "a file that is not there was indexed"
"$unspool" index 2>said && fail "no file, and no complaint"
verdict
