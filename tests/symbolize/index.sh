#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests index files: they give the same answers as the debug information at every address where the answer can change.
# They are the same whichever command makes them, are refused or ignored when they are damaged, and replace files that
# are absent. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc g++ clang-19 clang++-19 ld64.lld-19 dsymutil-19 ld.lld-19 python3 llvm-nm-19
unspool=$PWD/tools/unspool dump=$PWD/tests/symbolize/lines_dump
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
# ---- files without anything to index
echo 'int f(void) { return 1; }' | gcc -shared -fPIC -nostdlib '-Wl,--build-id=none' -g -x c -o nameless -
"$unspool" index -o one nameless >/dev/null 2>said && fail "what has no build-id was indexed"
grep -q 'no UUID or build-id' said || fail "no build-id: $(cat said)"
"$unspool" index -o one missing 2>said && fail "a file that is not there was indexed"
"$unspool" index 2>said && fail "no file, and no complaint"
verdict
