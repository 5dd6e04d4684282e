#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares tail calls of a real program, this library's demanglers, with gdb's: usp_symbolize_stack must infer the same
# functions between the frames of its stacks, by debug information and by an index. Stacks are taken at the functions
# that are jumped to. Also tests that `unspool stack` shows a process's tail calls.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc clang-19 gdb ar objcopy objdump python3
# A sample compiles only what prints Swift's names with debug information. The rest has none there, so gcc compiles it
# once for all programs. With gcc a sample has one version: its code and call sites are alike in both.
note_sample
make_work
here=$PWD
dump=$here/tests/symbolize/stack_dump
use_command
# Uses only the index store made here.
export HOME=$work XDG_CACHE_HOME='' UNSPOOL_INDEX_STORE=''
texts=("$top/tests/demangle/swift_names.txt")
! is_full_size || texts=("$top/tests/demangle/rust_v0.txt" "${texts[@]}")
grep -E '^([$]s|_)' -h "${texts[@]}" | awk 'NR <= 400' >"$work/names"

# Locks defer signals while the program forks, which this one does not; the library's own functions need captures.
cat >"$work/undisturbed.c" <<'END'
#include "lib/os/os.h"
void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept) { (void)kept; }
void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept) { (void)kept; }
END

# compile_without FILE: compiles a file once for all programs, without debug information.
mkdir "$work/without"
compile_without() { gcc -O0 -w -I"$top" -I"$top/include" -I"$here" -c "$top/$1" -o "$work/without/${1//\//_}.o"; }

# compile NAME COMPILER FLAG...: compiles the program, one file after the other.
compile() {
  local name=$1 file
  shift
  rm -rf "$work/objects"
  mkdir "$work/objects"
  while read -r file; do
    if ! is_full_size && [[ $file != lib/demangle/swift/print* ]]; then
      [[ -e $work/without/${file//\//_}.o ]] || compile_without "$file" || return
      ln "$work/without/${file//\//_}.o" "$work/objects/"
      continue
    fi
    "$@" -O2 -g -I"$top" -I"$top/include" -I"$here" -c "$top/$file" -o "$work/objects/${file//\//_}.o" || return
  done < <(cd "$top" && find lib/demangle lib/base lib/os/posix/lock.c lib/os/posix/functions.c lib/os/linux/clock.c -name '*.c' &&
    echo tests/demangle/demangle_lines.c)
  "$@" -O2 -g -I"$top" -I"$top/include" -c "$work/undisturbed.c" -o "$work/objects/lib_undisturbed.o" || return
  ar rc "$work/objects/needed.a" "$work/objects"/lib_*.o
  "$1" -Wl,--build-id "$work/objects"/tests_*.o "$work/objects/needed.a" -o "$work/$name" -lstdc++
}

# take NAME: writes gdb's stacks of the program.
take() {
  # Targets of jumps to functions: "jmp 1234 <name>" on x86, "b 1234 <name>" on ARM.
  objdump -d "$work/$1" | sed -nE 's/.*\s(jmp|b)\s+(0x)?([0-9a-f]+) <[^+@>]+>$/\3/p' | sort -u >"$work/starts"
  gdb -batch -nx -iex 'set debug-file-directory' -ex "py starts, input_file, out = '$work/starts', '$work/names', '$work/stacks'" \
    -x "$top/tests/symbolize/tail_calls_gdb.py" "$work/$1" >"$work/gdb" 2>&1 </dev/null || :
  [[ -s $work/stacks ]] || skip "gdb cannot run a program here: $(tail -1 "$work/gdb")"
}

# compare NAME: compares the stacks with the debug information of NAME, and with an index of it.
compare() {
  local way store=()
  "$unspool" index -o "$work/store" "$work/$1" >/dev/null || fail "$1: no index"
  for way in debug index; do
    if [[ $way == index ]]; then store=(-s "$work/store"); fi
    echo "$1, $way: $(python3 "$top/tests/symbolize/tail_calls_compare.py" "$work/stacks" "$work/$1" "$dump" "${store[@]}")" ||
      fail "$1, $way: other tail calls than gdb's"
  done
}

# check NAME COMPILER: compares gdb's stacks of the program with DWARF 4 and with the same code with DWARF 5, because
# gdb does not read the call sites that clang writes there (DW_AT_call_pc alone).
check() {
  local version versions=(4 5)
  is_full_size || [[ $2 != gcc ]] || versions=(5)
  for version in "${versions[@]}"; do
    compile "$1-$version" "$2" "-gdwarf-$version" 2>"$work/said" || { fail "$1-$version: $(head -3 "$work/said")" && return; }
    objcopy -O binary -j .text "$work/$1-$version" "$work/text-$version"
    cmp "$work/text-${versions[0]}" "$work/text-$version" ||
      { fail "$1: the code depends on the version of DWARF" && return; }
  done
  take "$1-${versions[0]}"
  for version in "${versions[@]}"; do compare "$1-$version"; done
}

# show COMPILER FLAG...: starts a process whose main calls the first of three functions that jump to each other, the
# first one from inlined code in another file. The last one waits.
show() {
  cat >"$work/stuck.c" <<'END'
#include <unistd.h>
extern int away(int x);
volatile int sink;
__attribute__((noinline)) int wait_for_reply(int x) { sink = x; write(1, "ready\n", 6); pause(); return sink; }
__attribute__((noinline)) int send_request(int x) { sink = x; return wait_for_reply(x + 1); }
int main(int argc, char **argv) { (void)argv; return away(argc) + 1; }
END
  cat >"$work/away.c" <<'END'
extern int send_request(int x);
extern volatile int sink;
static inline __attribute__((always_inline)) int inner(int x) { sink++; return send_request(x + 3); }
__attribute__((noinline)) int away(int x) { sink = x; return inner(x); }
END
  (cd "$work" && rm -f ./*.dw? && "$@" -O2 -g -c stuck.c away.c && "$@" -O2 -g stuck.o away.o -o stuck)
  start "$work/stuck"
  "$unspool" stack --timeout 60000 --style plain "$pid" >"$work/plain" 2>&1 || fail "$*: $(cat "$work/plain")"
  "$unspool" stack --timeout 60000 --style plain --no-lines "$pid" >"$work/names_alone" 2>&1 || :
  "$unspool" stack --timeout 60000 --json "$pid" >"$work/json" 2>&1 || :
  stop
  sed -nE '/wait_for_reply/,/^main/p' "$work/plain" | sed -E 's/ \+ [0-9]+/ + N/' >"$work/found"
  diff - "$work/found" <<'END' || fail "$*: other frames"
wait_for_reply + N (stuck.c:4)
send_request + N [inferred tail call] (stuck.c:5)
inner [inlined] (away.c:3)
away + N [inferred tail call] (away.c:4)
main + N (stuck.c:6)
END
  ! grep -q 'send_request\|away' "$work/names_alone" || fail "$*: --no-lines shows tail calls"
  shown=$((shown + 1))
  cp "$work/json" "$work/$shown.json"
  python3 - "$work/json" <<'END' || fail "$*: JSON has no tail calls of main"
import json, sys
frames = json.load(open(sys.argv[1]))["threads"][0]["frames"]
main = [f for f in frames if f.get("symbol") == "main"][0]
found = [(c["symbol"], c["source_line"], [i["symbol"] for i in c.get("inlined", [])]) for c in main["tail_calls"]]
sys.exit(found != [("send_request", 5, []), ("away", 4, ["inner"])])
END
}

shown=0
for compiler in gcc clang-19; do
  for version in 4 5; do
    # In a sample gcc's units are split in version 5, and clang's in version 4.
    if is_full_size || [[ $compiler-$version =~ ^(gcc-4|clang-19-5)$ ]]; then show "$compiler" "-gdwarf-$version"; fi
    if is_full_size || [[ $compiler-$version =~ ^(gcc-5|clang-19-4)$ ]]; then
      show "$compiler" "-gdwarf-$version" -gsplit-dwarf
    fi
  done
done
# With clang 19 the entries of other units' functions would have no information.
show gcc -flto
python3 "$top/tests/tool/validate.py" "$top/doc/schema/stacks.schema.json" "$work"/*.json || [[ $? -eq 77 ]] || fail "JSON"
check gcc gcc
check clang clang-19
verdict
