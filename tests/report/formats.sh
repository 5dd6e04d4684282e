#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that the output of real programs about a stripped program is symbolicated: of glibc, gdb, eu-stack, the
# sanitizers, perf, and the run-times of Rust, Go and Java, if they are installed.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools gcc strip
mkdir "$work/files" "$work/logs"
ulimit -c 0

cat >"$work/prog.c" <<'END_C'
#include <execinfo.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int inner_most(volatile int *p, int what) {
    void *frames[32];
    if (what == 'b') backtrace_symbols_fd(frames, backtrace(frames, 32), 1);
    if (what == 's') { write(1, "ready\n", 6); for (;;) pause(); }
    if (what == 'l') { for (unsigned i = 0; i < 200000000; i++) __asm__ volatile("" : : "r"(i)); }
    if (what == 'c') *p = 1;
    return what + 1;
}
__attribute__((noinline)) int middle(volatile int *p, int what) { return inner_most(p, what) + 2; }
__attribute__((noinline)) int outer(volatile int *p, int what) { return middle(p, what) + 3; }
int main(int argc, char **argv) { return argc > 1 && outer(0, argv[1][0]) == 0; }
END_C

# make_program NAME COMMAND...: compiles a program: stripped in $work, with symbols in $work/files.
make_program() {
  local name=$1
  shift
  "$@" -o "$work/files/$name"
  strip -o "$work/$name" "$work/files/$name"
}

seen=0
# named LOG FUNCTION...: checks that these functions get names, in this order, in lines that had none, and that the
# number of lines stays the same.
named() {
  local log=$work/logs/$1 function words found
  shift
  words=$(
    IFS='|'
    echo "$*"
  )
  ! grep -qawE "$words" "$log" || fail "$log: a function has its name already"
  run 0 symbolize --quiet --log "$log" --search "$work/files"
  diff -a "$log" "$work/out" | sed -n 's/^> //p' >"$work/changed" || true
  found=$(grep -aowE "$words" "$work/changed" | awk -v most=$# 'NR <= most' | tr '\n' ' ') || true
  [[ $found == "$* " ]] || fail "$log: named are $found: $(head -n 20 "$work/changed")"
  # Inlined calls have lines of their own.
  [[ $(wc -l <"$log") -eq $(grep -cav ' \[inlined\]' "$work/out") ]] || fail "$log: another number of lines"
  # The log as a report has the same names.
  run 0 report --quiet --search "$work/files" "$log"
  for function; do out_has "[[:blank:]]$function( |\$)"; done
  seen=$((seen + 1))
}

make_program prog gcc -O1 -Wno-unused-result "$work/prog.c" -fno-optimize-sibling-calls
cd "$work"
# In CI all tools must be installed, so that no format is left out except Rust's, which no lane installs.
[[ -z ${USP_REQUIRE_TOOLS-} ]] || need_tools gdb eu-stack clang-19 perf go java javac setarch

./prog b >logs/backtrace_symbols
# libc's frames depend on its version; only the program's frames are checked.
named backtrace_symbols inner_most middle outer main

if have gdb; then
  gdb -batch -nx -ex run -ex backtrace -ex 'info proc mappings' --args ./prog c >logs/gdb 2>/dev/null </dev/null || true
  if grep -q '^#1 ' logs/gdb; then named gdb inner_most middle outer; else echo "gdb cannot trace here"; fi
fi

if have eu-stack; then
  start ./prog s
  eu-stack -b -m -p "$pid" >logs/eu-stack 2>/dev/null || true
  if grep -q '^#2 ' logs/eu-stack; then named eu-stack inner_most middle outer main; else echo "eu-stack cannot trace here"; fi
fi

for compiler in clang-19 gcc; do
  have $compiler || continue
  make_program "asan-$compiler" $compiler -O1 -fsanitize=address -fno-optimize-sibling-calls -Wno-unused-result "$work/prog.c" \
    2>/dev/null || continue
  ASAN_OPTIONS=symbolize=0:detect_leaks=0 "./asan-$compiler" c >/dev/null 2>"logs/asan-$compiler" || true
  named "asan-$compiler" inner_most middle outer main
done

# The other sanitizers: a data race, a shift that is too far, a memory leak; with clang a branch on memory without a
# value.
cat >sanitized.c <<'END_C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int shared;
static void *volatile lost;
__attribute__((noinline)) int inner_most(volatile int *p, int what) {
    *p = what;
    if (what == 'u') return 1 << what;
    if (what == 'l') lost = malloc(100);
    if (what == 'm') return *(volatile char *)malloc(1) == 'm';
    return what + 1;
}
__attribute__((noinline)) int middle(volatile int *p, int what) { return inner_most(p, what) + 2; }
__attribute__((noinline)) int outer(volatile int *p, int what) { return middle(p, what) + 3; }
static void *other(void *unused) { outer(&shared, 't'); return unused; }
int main(int argc, char **argv) {
    pthread_t thread;
    if (argv[argc - 1][0] == 't') pthread_create(&thread, NULL, other, NULL);
    int result = outer(&shared, argv[argc - 1][0]);
    if (argv[argc - 1][0] == 't') pthread_join(thread, NULL);
    lost = NULL;
    return result == 0;
}
END_C
for kind in thread undefined leak memory; do
  compiler=gcc
  if [[ $kind == memory ]]; then compiler=clang-19; fi
  have $compiler || continue
  make_program "$kind" $compiler -O1 "-fsanitize=$kind" -fno-omit-frame-pointer -fno-optimize-sibling-calls sanitized.c 2>/dev/null || continue
  # ThreadSanitizer needs fixed load addresses (setarch); LeakSanitizer does not work in a traced process.
  TSAN_OPTIONS=symbolize=0 UBSAN_OPTIONS=symbolize=0:print_stacktrace=1 LSAN_OPTIONS=symbolize=0 \
    MSAN_OPTIONS=symbolize=0 setarch -R "./$kind" "${kind:0:1}" >/dev/null 2>"logs/$kind" || true
  if grep -q '^ *#3 ' "logs/$kind"; then named "$kind" inner_most middle outer; else echo "no report of -fsanitize=$kind: $(cat "logs/$kind")"; fi
done

if have javac && have java; then
  cat >Crash.java <<'END_JAVA'
public class Crash {
    static native int crash();
    public static void main(String[] arguments) {
        System.load(arguments[0]);
        crash();
    }
}
END_JAVA
  cat >jni.c <<'END_C'
__attribute__((noinline)) static int inner_most(volatile int *p) { return *p; }
int Java_Crash_crash(void *environment, void *type) { return inner_most((volatile int *)8) + (environment == type); }
END_C
  if make_program libcrash.so gcc -O1 -shared -fPIC -fno-optimize-sibling-calls jni.c 2>/dev/null && javac -d . Crash.java; then
    java -XX:ErrorFile="$work/logs/hs_err" -XX:-CreateCoredumpOnCrash -cp . Crash "$work/libcrash.so" >/dev/null 2>&1 || true
    if [[ -s logs/hs_err ]]; then named hs_err inner_most; fi
  fi
fi

if have perf && perf record -q -e cpu-clock -g -o perf.data ./prog l >/dev/null 2>&1; then
  perf script --show-mmap-events -i perf.data >logs/perf 2>/dev/null
  named perf inner_most
fi

if have rustc && have gdb && have setarch; then
  cat >panic.rs <<'END_RUST'
#[inline(never)]
#[no_mangle]
pub fn inner_most(n: usize) -> usize { [1, 2, 3][n] }
fn main() { std::process::exit(inner_most(std::env::args().count() + 3) as i32) }
END_RUST
  if rustc -O -g -o files/panic panic.rs 2>/dev/null && strip -o panic files/panic; then
    # Rust's run-time does not say where the program was loaded; under setarch it is at the same place as in gdb.
    RUST_BACKTRACE=full setarch -R ./panic 2>logs/panic || true
    gdb -batch -nx -ex starti -ex 'info proc mappings' ./panic >>logs/panic 2>/dev/null </dev/null || true
    if grep -q 'r-xp.*/panic$' logs/panic; then named panic inner_most; fi
  fi
fi

if have go && have gdb; then
  cat >crash.go <<'END_GO'
package main

/*
#include <stddef.h>
__attribute__((noinline, noclone)) static int inner_most(volatile int *p) { return *p; }
static int outer(void) { return inner_most(NULL) + 1; }
*/
import "C"

func main() { println(C.outer()) }
END_GO
  # The C code is at its linked address, so the log needs only the list of images that gdb adds.
  if CGO_ENABLED=1 GOFLAGS=-mod=mod GO111MODULE=off GOCACHE=$work/go-cache go build -ldflags '-extldflags=-no-pie' -o files/crash crash.go \
    2>/dev/null && strip -o crash files/crash; then
    ./crash >/dev/null 2>logs/go || true
    gdb -batch -nx -ex starti -ex 'info proc mappings' ./crash >>logs/go 2>/dev/null </dev/null || true
    if grep -q 'pc=0x' logs/go && grep -q 'r-xp.*/crash$' logs/go; then named go inner_most; fi
  fi
fi

cd "$started_in"
echo "$seen formats"
[[ $seen -ge 2 ]] || skip "nothing here writes a report but glibc"
# perf may not be permitted.
[[ -z ${USP_REQUIRE_TOOLS-} || $seen -ge 10 ]] || fail "only $seen formats were written"
verdict
