#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the names of functions that share their code, because the linker folded identical ones: in `unspool symbolize`
# as text and as JSON, by a dSYM, by symbol tables and by their index, and that other functions have none. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld64.lld-19 dsymutil-19 llvm-nm-19 llvm-objcopy-19 llvm-strip-19
export HOME=$work XDG_CACHE_HOME='' UNSPOOL_INDEX_STORE=''
cd "$work"

# The linker keeps an entry of the debug map for each function, so dsymutil describes each at the same address.
cat >folded.cc <<'END'
volatile int sink;
__attribute__((noinline)) int zeta(int a) { sink = a; return a * 31 + sink; }
__attribute__((noinline)) int first(int a) { sink = a; return a * 31 + sink; }
__attribute__((noinline)) int second(int a) { sink = a; return a * 31 + sink; }
int entry(int a) { return first(a) + second(a) + zeta(a); }
END
clang++-19 -target arm64-apple-macos13 -O1 -g -c -o folded.o folded.cc
ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib --icf=all --keep-icf-stabs -o folded folded.o
dsymutil-19 folded
address_of() { llvm-nm-19 -C folded | awk -v name="$1(int)" '$3 == name { print "0x" $1 }'; }
folded=$(address_of first) other=$(address_of entry)

# expect_aliases HOW: checks that the function in the first line has its own line, and that both others are its aliases.
expect_aliases() {
  local name line rest
  name=$(sed -n '1s/(int) (in folded) (folded\.cc:[234])$//p' out)
  line=$(sed -n '1s/.*:\([0-9]*\))$/\1/p' out)
  case $name in
  zeta) line=$((line - 2)) rest='first second' ;;
  first) line=$((line - 3)) rest='second zeta' ;;
  second) line=$((line - 4)) rest='first zeta' ;;
  *) line=-1 rest='' ;;
  esac
  # shellcheck disable=SC2086 # two names
  printf '    alias %s(int)\n' $rest | cmp -s - <(sed -n 2,3p out | sort) || line=-1
  [[ $line -eq 0 && $(sed -n 4p out) == "entry(int) (in folded) (folded.cc:5)" && $(wc -l <out) -eq 4 ]] ||
    fail "$1: $(cat out)"
}
run 0 symbolize --aliases -o folded "$folded" "$other"
expect_aliases 'by the dSYM'
cp out by-dsym
run 0 symbolize -o folded "$folded" "$other"
cmp -s out <(grep -v '^    alias ' by-dsym) || fail "without --aliases: $(cat out)"
run 0 symbolize --json -o folded "$folded" "$other"
cp out answers.json
names=$(sed -n 's/^    alias \(.*\)/"\1"/p' by-dsym | paste -sd , | sed 's/,/, /')
grep -F "\"symbol\": \"$(sed -n '1s/ (in .*//p' by-dsym)\"" out | grep -F "\"aliases\": [$names]" >/dev/null || fail "--json: $(cat out)"
[[ $(grep -c '"aliases"' out) -eq 1 ]] || fail "--json: $(cat out)"
run 0 symbolize --json --demangle no -o folded "$folded"
out_has '"aliases": \["_Z[0-9]+[a-z]+i", "_Z[0-9]+[a-z]+i"\]'
run 2 symbolize --aliases --log - --search .
err_has 'log has its own options'

run 0 index --quiet -o store folded
rm -r folded.dSYM
run 0 symbolize --aliases --index store -o folded "$folded" "$other"
cmp -s out by-dsym || fail "by the index: $(diff by-dsym out)"

# By default the linker keeps an entry of the debug map for one of the functions only, and the symbols of all. Debug
# information describes the one whose lines are given. It is not the alphabetically first one.
for name in zebra_parse apple_draw; do
  printf 'extern volatile int sink;\nint %s(int x) { sink = x; return x * 31 + 7; }\n' $name >$name.cc
done
printf 'volatile int sink;\nint zebra_parse(int); int apple_draw(int);\n%s\n' \
  'int main(int c, char **) { return zebra_parse(c) + apple_draw(c + 1); }' >main.cc
described='zebra_parse(int) (in one) (zebra_parse.cc:2)'
# expect_one HOW FILE [STORE]: checks the text and the JSON of the folded function in FILE.
expect_one() {
  run 0 symbolize --aliases ${3:+--index "$3"} -o "$2" "$one"
  [[ $(cat out) == "$described"$'\n    alias apple_draw(int)' ]] || fail "$1: $(cat out)"
  run 0 symbolize --json ${3:+--index "$3"} -o "$2" "$one"
  out_has '"symbol": "zebra_parse\(int\)", "mangled": "_Z11zebra_parsei", "symbol_offset": 0, "named_by": "symtab", '`
    `'"aliases": \["apple_draw\(int\)"\], .*"source_file": "zebra_parse.cc", "source_line": 2'
}
for name in zebra_parse apple_draw main; do clang++-19 -target arm64-apple-macos13 -O1 -g -c -o $name.o $name.cc; done
ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 --icf=all -undefined dynamic_lookup -o one \
  main.o zebra_parse.o apple_draw.o
dsymutil-19 one
one=0x$(llvm-nm-19 one | awk '/zebra_parse/ { print $1 }')
expect_one 'Mach-O, by the dSYM' one
rm -rf store
run 0 index --quiet -o store one
run 0 index --verify -o store one
mkdir stripped
cp one stripped
rm -r one.dSYM
llvm-strip-19 -x one
expect_one 'Mach-O, by the index and the file' one store
rm one
run 0 symbolize --json --index store -o stripped/one "$one"
out_has '"aliases": \["apple_draw\(int\)"\]'
# Without debug information, the symbol table's first name is shown.
llvm-strip-19 -S stripped/one
run 0 symbolize --aliases -o stripped/one "$one"
[[ $(cat out) == 'apple_draw(int) (in one) + 0' ]] || fail "without debug information: $(cat out)"

# ELF files: the same, from .symtab. A function that people call by another name than debug information has for it, and
# constructors of one class, are not folded.
for name in zebra_parse apple_draw main; do clang++-19 -target x86_64-linux-gnu -O1 -g -ffunction-sections -c -o $name.o $name.cc; done
cat >more.c <<'END'
int __run(int a) { return a + 1; }
extern __typeof(__run) run __attribute__((alias("__run")));
END
cat >more.cc <<'END'
struct Maker { volatile int a; Maker(int a); };
__attribute__((noinline)) Maker::Maker(int b) : a(b) { a = a + 1; }
END
clang-19 -target x86_64-linux-gnu -O1 -g -ffunction-sections -c -o more.o more.c
clang++-19 -target x86_64-linux-gnu -O1 -g -ffunction-sections -c -o maker.o more.cc
ld.lld-19 --icf=all --build-id -shared -o one main.o zebra_parse.o more.o maker.o
run 0 symbolize --aliases -o one "0x$(llvm-nm-19 one | awk '$3 == "run" { print $1 }')"
[[ $(cat out) == $'run (in one) (more.c:1)\n    alias __run' ]] || fail "the C library's way: $(cat out)"
run 0 symbolize --aliases -o one "0x$(llvm-nm-19 one | awk '/MakerC2/ { print $1 }')"
[[ $(cat out) == 'Maker::Maker(int) (in one) (more.cc:2)' ]] || fail "constructors: $(cat out)"
clang++-19 -target x86_64-linux-gnu -O1 -ffunction-sections -c -o apple_draw.o apple_draw.cc
ld.lld-19 --icf=all --build-id -e main -o one main.o zebra_parse.o apple_draw.o
one=0x$(llvm-nm-19 one | awk '/zebra_parse/ { print $1 }')
cp one full
expect_one 'ELF, by its debug information' one
rm -rf store
run 0 index --quiet -o store one
run 0 index --verify -o store one
rm one
run 0 symbolize --aliases --index store -o full "$one"
[[ $(sed 's/in full/in one/' out) == "$described"$'\n    alias apple_draw(int)' ]] || fail "ELF: $(cat out)"

# Dart's compiler makes symbols of names; debug information has the name itself.
printf 'volatile int sink;\n__attribute__((noinline)) int take(int a) { sink = a; return a + sink; }\nint go(int a) { return take(a) + 1; }\n' >dart.c
clang-19 -target x86_64-linux-gnu -g -O1 -fPIC -c -o dart.o dart.c
llvm-objcopy-19 --redefine-sym take=Precompiled_Queue_take_412 dart.o
ld.lld-19 --build-id -shared -o dart dart.o
take=0x$(llvm-nm-19 dart | awk '/Precompiled_Queue_take_412/ { print $1 }')
run 0 symbolize --aliases -o dart "$take"
[[ $(cat out) == 'take (in dart) (dart.c:2)' ]] || fail "Dart: $(cat out)"
run 0 index --quiet -o store dart
llvm-strip-19 -g dart
run 0 symbolize --index store -o dart "$take"
[[ $(cat out) == 'take (in dart) (dart.c:2)' ]] || fail "Dart, by its index: $(cat out)"

# Last, because validators may be missing.
cd "$started_in"
validate symbolize "$work/answers.json"
verdict
