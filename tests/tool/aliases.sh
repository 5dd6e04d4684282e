#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the names of functions that share their code, because the linker folded identical ones: in `unspool symbolize`
# as text and as JSON, by a dSYM and by its index, and that other functions have none. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld64.lld-19 dsymutil-19 llvm-nm-19
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
grep -F "\"symbol\": \"$(sed -n '1s/ (in .*//p' by-dsym)\"" out | grep -qF "\"aliases\": [$names]" || fail "--json: $(cat out)"
[[ $(grep -c '"aliases"' out) -eq 1 ]] || fail "--json: $(cat out)"
run 0 symbolize --json --demangle no -o folded "$folded"
out_has '"aliases": \["_Z[0-9]+[a-z]+i", "_Z[0-9]+[a-z]+i"\]'
run 2 symbolize --aliases --log - --search .
err_has 'log has its own options'

run 0 index --quiet -o store folded
rm -r folded.dSYM
run 0 symbolize --aliases --index store -o folded "$folded" "$other"
cmp -s out by-dsym || fail "by the index: $(diff by-dsym out)"

# Last, because validators may be missing.
cd "$started_in"
validate symbolize "$work/answers.json"
verdict
