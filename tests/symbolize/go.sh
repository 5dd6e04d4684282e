#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests Go programs without symbols and debug information: names, files, lines and inlined calls from Go's function
# table, at the start of every function and at random addresses. Compares them with the same program's DWARF and with
# Go's own reader of the table: for ELF and Mach-O files, position-independent ones, one that the C compiler's linker
# made, and a table by Go 1.15. Also compares DWARF as Go compresses it in Mach-O files with the same DWARF
# uncompressed. USP_GO: other go programs that make the test programs, separated by colons. Runs in the folder of the
# build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools go python3
unspool=$PWD/tools/unspool dump=$PWD/tests/symbolize/lines_dump
[[ -x $unspool && -x $dump ]] || skip "tools/unspool and tests/symbolize/lines_dump were not built"
make_work
fixtures=$top/tests/symbolize
export GO111MODULE=off GOCACHE=$work/cache GOPATH=$work/path GOTOOLCHAIN=local GOFLAGS='' CGO_ENABLED=0

# build GO OUT FLAG...: builds the program with debug information (OUT) and without (OUT-s). The tables must not depend
# on either.
build() {
  local go=$1 out=$2
  shift 2
  "$go" build "$@" -ldflags="$link -compressdwarf=false" -o "$out" "$source" &&
    "$go" build "$@" -ldflags="$link -s -w" -o "$out-s" "$source"
}

# compare NAME [TRUTH]: compares the two files of that name.
compare() {
  local name=$1
  "$go" tool nm "$name" | python3 -c '
import random, sys
starts = sorted({int(w[-3], 16) for w in (line.split() for line in sys.stdin) if len(w) > 2 and w[-2] in "Tt"})
random.seed(18)
print(*map(hex, starts + [random.randrange(starts[0], starts[-1]) for _ in range(10000)]), sep="\n")' >addresses
  "$dump" "$name" <addresses >by-dwarf 2>explained
  grep -q '^debug information of' explained || fail "$name: not by its own DWARF: $(cat explained)"
  "$dump" "$name-s" <addresses >by-table 2>explained
  grep -q "^Go's function table of" explained || fail "$name-s: $(cat explained)"
  if [[ $# -gt 1 ]]; then "$2" "$name-s" <addresses >truth; fi
  python3 "$fixtures/go_compare.py" "$name" by-dwarf by-table ${2:+truth} || fail "$name: too many differences"
}

built=$PWD
has() { grep -q "define HAVE_$1 1" "$built/config.h"; }
cd "$work"
source=$fixtures/go/program.go
IFS=: read -ra others <<<"${USP_GO-}"
for go in go "${others[@]}"; do
  echo "-- $("$go" version)"
  "$go" build -o gosym "$fixtures/go/truth.go"
  link=
  build "$go" linux &
  GOOS=darwin GOARCH=arm64 build "$go" darwin-arm64
  wait $! || fail "linux: not built"
  build "$go" pie -buildmode=pie &
  GOOS=darwin GOARCH=amd64 build "$go" darwin-amd64
  wait $! || fail "pie: not built"
  for name in linux pie darwin-arm64 darwin-amd64; do compare "$name" ./gosym; done

  # Compressed DWARF (__zdebug_line) must give the same answers as the same DWARF uncompressed.
  if has ZLIB; then
    GOOS=darwin GOARCH=arm64 "$go" build -o packed "$source"
    "$go" tool nm packed | awk '$2 == "T" || $2 == "t" { print "0x" $1 }' >addresses
    "$dump" darwin-arm64 <addresses >by-plain 2>explained
    "$dump" packed <addresses >by-packed 2>explained
    grep -q '^debug information of packed' explained || fail "packed: not by its own DWARF: $(cat explained)"
    [[ -s by-packed ]] || fail "packed: nothing was asked"
    cmp by-plain by-packed || fail "packed: other lines than uncompressed"
  fi

  # The C compiler's linker puts the table among other data, without a section of its own, and leaves its addresses to
  # relocations.
  if have gcc; then
    mkdir -p with-c
    sed 's/^import (/import "C"\n\nimport (/' "$fixtures/go/program.go" >with-c/program.go
    link=-linkmode=external
    source=with-c/program.go
    CGO_ENABLED=1 build "$go" external -buildmode=pie
    source=$fixtures/go/program.go
    compare external
  fi
done

# ---- the table of a program by Go 1.15, which Go's sources contain for their own tests, in a file that has it in place
# of code
old=$(go env GOROOT)/src/debug/gosym/testdata/pcln115.gz
if [[ -e $old ]] && have gcc; then
  gunzip -c "$old" >old-table
  python3 - >addresses <<'END'
import random
import struct
table = open("old-table", "rb").read()
count, first = struct.unpack_from("<QQ", table, 8)
(end,) = struct.unpack_from("<Q", table, 16 + 16 * count)
with open("old.s", "w") as source:
    source.write(f'.globl _start\n_start: .space {end - first}\n.section .gopclntab,"a"\n.incbin "old-table"\n')
with open("old-start", "w") as start:
    start.write(hex(first))
random.seed(18)
print(*(hex(random.randrange(first, end)) for _ in range(10000)), sep="\n")
END
  gcc -nostdlib -static -s "-Wl,-Ttext=$(<old-start)" -o old old.s
  ./gosym old <addresses >truth
  "$dump" old <addresses >by-table 2>explained
  python3 "$fixtures/go_compare.py" 'Go 1.15' - by-table truth || fail "Go 1.15: differences"
fi

# ---- the command, and an index
start=$("$go" tool nm linux | awk '$3 == "main.report" { print "0x" $1 }')
"$unspool" symbolize -o linux-s "$start" | grep -c '^main\.report (in linux-s) (program\.go:3[0-9])$' >/dev/null ||
  fail "unspool symbolize: $("$unspool" symbolize -o linux-s "$start")"
"$unspool" symbols linux-s >names
for name in main.main main.report main.square.area runtime.mallocgc; do
  grep -c " $name\$" names >/dev/null || fail "unspool symbols lacks $name"
done
"$go" build -ldflags='-s -w -B 0x0102030405060708' -o identified "$source"
"$unspool" index --quiet -o store identified || fail "unspool index: exit status $?"
"$unspool" index --verify -o store identified >verified || fail "the index differs: $(cat verified)"
grep -c 'addresses are equal' verified >/dev/null || fail "nothing was compared: $(cat verified)"
"$dump" -s store identified <<<"$start" 2>/dev/null | grep -c 'indexed' >/dev/null || fail "the index is not used"
verdict
