#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize` with ELF files and processes: atos's options and lines, addresses from all sources, wrong
# files. tests/symbolize/command.sh tests Mach-O.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools nm readelf python3 strip

# Without debug information, so that lines have offsets. The end of this script tests source lines.
cp "$stuck" "$work/with_lines"
strip -g "$stuck"

# start_of FUNCTION: prints its address in $stuck as linked, without 0x.
start_of() { nm "$stuck" | awk -v name="$1" '$3 == name { print $1 }'; }
# plus ADDRESS NUMBER: prints their sum as "0x…".
plus() { printf '0x%x' $((16#${1#0x} + $2)); }
# expect LINE...: checks the whole output.
expect() { [[ $(cat "$work/out") == "$(printf '%s\n' "$@")" ]] || fail "expected $*, got $(cat "$work/out")"; }

inner=$(start_of inner)
outer=$(start_of outer)
named='inner (in stuck) + 1'

# Addresses from arguments, a file, standard input; several words on a line. A word without a name is printed unchanged.
run 0 symbolize -o "$stuck" "$(plus "$inner" 1)" "$(plus "$outer" 0)" 0 0xfffffff0 nonsense '-' $'\e[31m'
err_is_empty
expect "$named" 'outer (in stuck) + 0' 0 0xfffffff0 nonsense - '\x1b[31m'
printf '  %s\n\n%s junk\t%s' "$(plus "$inner" 1)" "$inner" "$((16#$inner + 1))" >"$work/addresses"
expected=("$named" 'inner (in stuck) + 0' junk "$named")
run 0 symbolize -f "$work/addresses" -o "$stuck"
expect "${expected[@]}"
run 0 symbolize -o "$stuck" <"$work/addresses"
expect "${expected[@]}"
run 0 symbolize -o "$stuck" </dev/null
[[ ! -s $work/out ]] || fail "no addresses: $(cat "$work/out")"
run 3 symbolize -o "$stuck" -f "$work/nothing"
err_has "^unspool: $work/nothing: "

# A program that asks through a pipe must get an answer before its next question.
coproc asked { exec "$unspool" symbolize -o "$stuck"; }
# The shell unsets its variable when it has seen the end.
answering=$asked_PID
for question in 1 2; do
  plus "$inner" "$question" >&"${asked[1]}"
  echo >&"${asked[1]}"
  read -r -t 60 line <&"${asked[0]}" || fail "question $question gets no answer"
  [[ $line == "inner (in stuck) + $question" ]] || fail "question $question: $line"
done
eval "exec ${asked[1]}>&-"
wait "$answering"

# The address where the file was loaded. Its first address is not 0 if it is linked for a fixed one.
base=$("$unspool" images --json "$stuck" | python3 -c 'import json, sys; print(json.load(sys.stdin)["images"][0]["load_address"])')
offset=$((16#$inner + 1 - base))
load=0x7f1200000000
run 0 symbolize -o "$stuck" -l 7f1200000000 "$(plus "$load" "$offset")"
expect "$named"
run 0 symbolize -o "$stuck" -l "$load" "$(plus "$load" "$offset")" "$(plus "$inner" 1)"
expect "$named" "$(plus "$inner" 1)"
run 0 symbolize -o "$stuck" -s 0x10000 "$(plus "$inner" 65537)"
expect "$named"
arch=$("$unspool" images --json "$stuck" | python3 -c 'import json, sys; print(json.load(sys.stdin)["images"][0]["arch"])')
for words in --offset -offset "--arch $arch -offset" "-i -d , -fullPath -printHeader -arch $arch --offset"; do
  # shellcheck disable=SC2086 # words
  run 0 symbolize $words -o "$stuck" "$(printf '0x%x' "$offset")"
  expect "$named"
done

# With the build id of the file, and with another one.
build_id=$(readelf -n "$stuck" | sed -n 's/.*Build ID: //p')
if [[ -n $build_id ]]; then
  run 0 symbolize --uuid "$build_id" -o "$stuck" "$(plus "$inner" 1)"
  expect "$named"
  run 3 symbolize --uuid 0123-4567 -o "$stuck" "$(plus "$inner" 1)"
  err_has "^unspool: $stuck: .*$build_id, not 01234567"
  [[ ! -s $work/out ]] || fail "another build is used"
fi
other=arm64
[[ $arch != "$other" ]] || other=x86_64
run 3 symbolize --arch "$other" -o "$stuck" 1
err_has "^unspool: $stuck: for $arch, not for $other"

run 0 symbolize --json -o "$stuck" "$(plus "$inner" 1)" $'\xff"' 0xfffffff0
cp "$work/out" "$work/answers.json"
[[ $(wc -l <"$work/out") -eq 3 ]] || fail "--json: not a line for each address"
python3 - "$work/out" "$(plus "$inner" 1)" "$stuck" "$build_id" "$offset" <<'END_OF_PROGRAM' || fail "--json: $(cat "$work/out")"
import json, sys

path, address, image, build, offset = sys.argv[1:]
named, odd, unknown = (json.loads(line) for line in open(path, encoding="utf-8"))
assert named == {
    "input": address, "address": address, "image_path": image, "image_offset": hex(int(offset)), "symbol": "inner",
    "symbol_offset": 1, "named_by": "symtab", **({"build_id": build} if build else {})}, named
assert odd == {"input": '\ufffd"'}, odd
assert unknown == {"input": "0xfffffff0"}, unknown
END_OF_PROGRAM

# A running process, wherever its image was loaded.
start "$stuck"
run 0 images --json "$pid"
place=$(python3 -c 'import json, sys; print(next(i["load_address"] for i in json.load(open(sys.argv[1]))["images"] if "main" in i))' "$work/out")
run 0 symbolize -p "$pid" "$(plus "$place" "$offset")"
expect "$named"

# Compares every function of a larger program, at its first address, with nm and llvm-symbolizer.
large=$work/large
if [[ -f $work/libunspool.so.0 ]]; then
  strip -g -o "$large" "$work/libunspool.so.0"
else
  strip -g -o "$large" "$unspool"
fi
nm --defined-only "$large" | awk '$2 ~ /^[tTwWi]$/ { print "0x" $1, $3 }' >"$work/functions"
run 0 symbolize --demangle no -o "$large" < <(cut -d' ' -f1 "$work/functions")
paste -d' ' "$work/functions" "$work/out" >"$work/pairs"
theirs=()
if have llvm-symbolizer-19; then
  cut -d' ' -f1 "$work/functions" | llvm-symbolizer-19 --obj="$large" --no-inlines --no-demangle --functions=linkage |
    awk 'NF == 0 { first = 1; next } first || NR == 1 { print $1; first = 0 }' >"$work/theirs"
  theirs=("$work/theirs")
fi
python3 - "$work/pairs" "${theirs[@]}" <<'END_OF_PROGRAM' || fail "names differ from nm's or llvm-symbolizer's"
import sys

pairs = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
names = {}
for address, name, *answer in pairs:
    names.setdefault(address, set()).add(name)
assert len(names) > 30, len(names)
for address, name, *answer in pairs:
    # A label inside a function gives no name: the answer is the function around it.
    assert answer[0] in names[address] or answer[-1] != "0", (address, names[address], answer)
equal = [answer[0] in names[address] for address, name, *answer in pairs]
assert sum(equal) > 0.9 * len(pairs), (sum(equal), len(pairs))
if len(sys.argv) > 2:
    theirs = [line.strip() for line in open(sys.argv[2], encoding="utf-8")]
    assert len(theirs) == len(pairs), (len(theirs), len(pairs))
    # Of several names for one address, each program may choose another.
    for (address, name, *answer), their in zip(pairs, theirs):
        assert answer[0] == their or len(names[address]) > 1 or answer[0] != name, (address, answer, their)
END_OF_PROGRAM

# Files and lines, a line for each inlined call, paths: with a program whose calls are at known lines.
if have gcc; then
  cat >"$work/lines.c" <<'END_OF_SOURCE'
#include <stdlib.h>
static inline void innermost(void) { abort(); }
static inline void middle(void) { innermost(); }
void outermost(void) { middle(); }
int main(void) { outermost(); }
END_OF_SOURCE
  (cd "$work" && gcc -O2 -g -fno-partial-inlining -o lines lines.c)
  call=$(objdump -d --no-show-raw-insn "$work/lines" | awk '/<outermost>:/ { inside = 1 } inside && /call/ { sub(":", "", $1); print $1; exit }')
  run 0 symbolize -o "$work/lines" "0x$call"
  expect 'outermost (in lines) (lines.c:4)'
  run 0 symbolize -i -o "$work/lines" "0x$call"
  expect 'innermost (in lines) (lines.c:2)' 'middle (in lines) (lines.c:3)' 'outermost (in lines) (lines.c:4)'
  run 0 symbolize -fullPath -o "$work/lines" "0x$call"
  expect "outermost (in lines) ($work/lines.c:4)"
  run 0 symbolize --json -o "$work/lines" "0x$call"
  python3 - "$work/out" <<'END_OF_PROGRAM' || fail "JSON lacks lines: $(cat "$work/out")"
import json, sys
answer = json.load(open(sys.argv[1], encoding="utf-8"))
assert (answer["symbol"], answer["source_file"], answer["source_line"]) == ("outermost", "lines.c", 4)
assert [(i["symbol"], i["source_line"]) for i in answer["inlined"]] == [("innermost", 2), ("middle", 3)]
END_OF_PROGRAM
  # Code of no function: text and JSON both have its line.
  printf '.globl named\n.type named,%%function\nnamed: nop\n.size named, . - named\n.Lloose: nop\n' >"$work/loose.s"
  (cd "$work" && gcc -g -shared -nostdlib -o loose loose.s)
  read -r start size < <(nm -S "$work/loose" | awk '$4 == "named" { print $1, $2 }')
  loose=$(plus "$start" "$((16#$size))")
  run 0 symbolize -o "$work/loose" "$loose"
  expect '??? (in loose) (loose.s:5)'
  run 0 symbolize --json -o "$work/loose" "$loose"
  out_has '"source_file": "loose.s", "source_line": 5}$'
  out_lacks '"symbol"'
  cp "$work/out" "$work/loose.json"
fi
if [[ $(readelf -S "$work/with_lines") == *.debug_line* ]]; then
  run 0 symbolize -o "$work/with_lines" "$(plus "$inner" 1)"
  grep -qE '^inner \(in with_lines\) \(stuck\.c:[0-9]+\)$' "$work/out" || fail "no line: $(cat "$work/out")"
fi

# Wrong files: the message has the file's name and the offset of the error.
cd "$work"
echo text >text
head -c 100 "$stuck" >short
run 3 symbolize -o text 1
err_has '^unspool: text: offset 0x0: neither ELF nor Mach-O$'
run 3 symbolize -o short 1
err_has '^unspool: short: offset 0x[0-9a-f]+: '
run 3 symbolize -o nothing 1
err_has '^unspool: nothing: no such file$'
run 3 symbolize -o / 1
err_has '^unspool: /: not a regular file$'
run 3 symbolize -p 2147483647 1
err_has '^unspool: there is no process 2147483647$'

refused() {
  local text=$1
  shift
  run 2 "$@"
  [[ ! -s $work/out ]] || fail "unspool $*: output: $(cat "$work/out")"
  err_has "$text"
}
refused '-o FILE, -p PID, --shared-cache FILE or --log FILE is missing' symbolize 1
refused 'either -o or -p' symbolize -o x -p 1
refused 'are for files' symbolize -p 1 -l 0
refused 'only one of' symbolize -o x -l 0 -s 0
refused 'only one of' symbolize -o x --offset -s 0
refused '"12g"' symbolize -o x -l 12g
refused '"11112222333344445"' symbolize -o x -l 11112222333344445
refused '"123"' symbolize -o x --uuid 123
refused '"mips"' symbolize -o x -arch mips
refused '"some"' symbolize -o x --demangle some
refused '"name"' symbolize -p name
refused 'either from -f' symbolize -o x -f y 1
refused 'not supported' symbolize -o x -textExecAddress 1 1
refused 'fly' symbolize --fly
validate symbolize "$work/answers.json"
if have gcc; then validate symbolize "$work/loose.json"; fi
verdict
