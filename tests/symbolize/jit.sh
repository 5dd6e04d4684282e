#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack` with programs that generate code: names from a perf map, a jitdump and the GDB JIT interface,
# lines from a jitdump and from the interface's objects. Tests processes, a process in a container, and cores; and
# LLVM's JIT, node and a JVM, where they are installed. A sample runs each form of LLVM's JIT and each version of DWARF
# once, not all pairs.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
note_sample
victim=$work/jit_victim
cp tests/symbolize/jit_victim "$victim"
cd "$work"
compiler=gcc
have gcc || compiler=clang-19
need_tools "$compiler"
for debug in '' -g; do
  # shellcheck disable=SC2086 # one option or none
  "$compiler" $debug -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-stack-protector -fno-pic -c \
    "$top/tests/symbolize/jit_generated.c" -o "generated$debug.o"
done
object=generated.o
mkdir dumps
maps=()
# shellcheck disable=SC2317,SC2329 # called by trap
clean_up_maps() {
  rm -f "${maps[@]}"
  clean_up
}
trap clean_up_maps EXIT

# begin MODE...: starts jit_victim; its process id is in $pid.
begin() {
  start "$victim" "$work/$object" "$work/dumps" "$@"
  maps+=("/tmp/perf-$pid.map")
}

# expect PREFIX SUFFIX: checks that the output has the program's frames, with generated code named with this prefix and
# suffix, and never an offset from 0.
expect() {
  grep -qF " ${1}generated_inner$2 + " "$work/out" || fail "no ${1}generated_inner$2:" "$(cat "$work/out")"
  grep -qF " ${1}generated_outer$2 + " "$work/out" || fail "no ${1}generated_outer$2:" "$(cat "$work/out")"
  out_has ' stand_still( |$)'
  out_has ' main( |$)'
  out_lacks '0x0 \+ '
}

# named STRATEGY: checks that the JSON of the process has this strategy for the generated code.
named() {
  run 0 stack --json "$pid"
  cp "$work/out" "$work/$1.json"
  grep -qF "\"named_by\":\"$1\"" <(tr -d ' \n' <"$work/out") || fail "the JSON does not say $1"
}

# Without any source of names: the address, and "[unknown]".
begin none
run 0 stack "$pid"
err_is_empty
out_has '^[0-9]+ +\?\?\? +0x[0-9a-f]+ \[unknown\]$'
out_lacks '0x0 \+ '
out_lacks generated
run 0 stack --style plain "$pid"
out_has '^ *0x[0-9a-f]+$'
run 0 stack --style crash-report "$pid"
out_has '\[unknown\]$'
out_lacks '0x0 \+ '

# Each source alone.
begin map
run 0 stack "$pid"
err_is_empty
expect map: ' with blanks'
out_lacks map:older
named perf-map
map_pid=$pid
begin dump
run 0 stack "$pid"
err_is_empty
expect dump: ''
out_has ' dump:generated_inner \+ [0-9]+ \(generated\.source:12\)$'
out_has ' dump:generated_outer \+ [0-9]+ \(generated\.source:12\)$'
named jitdump
out_has '"source_directory": "/somewhere/else"'
run 0 stack --no-lines "$pid"
expect dump: ''
out_lacks generated.source
begin gdb
run 0 stack "$pid"
err_is_empty
expect '' ''
named gdb-jit
gdb_pid=$pid

# line_of TEXT FILE: prints the number of the line that contains TEXT.
line_of() { grep -nF -- "$1" "$2" | head -n 1 | cut -d: -f1; }

# An object with debug information whose relocations are not applied: the lines of the two calls.
has_lines() {
  out_has " generated_inner \+ [0-9]+ \(jit_generated\.c:$(line_of 'result = wait()' "$top/tests/symbolize/jit_generated.c")\)\$"
  out_has " generated_outer \+ [0-9]+ \(jit_generated\.c:$(line_of 'result = generated_inner' "$top/tests/symbolize/jit_generated.c")\)\$"
}
object=generated-g.o
begin gdb
run 0 stack "$pid"
err_is_empty
expect '' ''
has_lines
lines_pid=$pid
object=generated.o

# All sources at once: memory (the GDB JIT interface) wins over files, a jitdump, which has times, over a perf map.
begin map dump gdb
named gdb-jit
begin map dump
named jitdump

# Names in folded stacks, plain lines and lines of glibc's format.
run 0 stack --style folded "$map_pid"
out_has 'map:generated_outer with blanks;map:generated_inner with blanks;'
run 0 stack --style plain "$map_pid"
out_has '^ *map:generated_inner with blanks \+ [0-9]+$'
run 0 stack --style backtrace-symbols "$map_pid"
out_has '\?\?\?\(map:generated_inner with blanks\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]$'

# Single addresses.
read -r address _ < <(tail -n 1 "/tmp/perf-$map_pid.map")
run 0 symbolize -p "$map_pid" "0x$address"
out_has '^map:generated_[a-z]+ with blanks \+ 0$'
run 0 symbolize --json -p "$map_pid" "0x$address"
out_has '"named_by": "perf-map"'
cp "$work/out" address.of

# A map that is a symbolic link, a pipe, or another user's file is ignored.
mv "/tmp/perf-$map_pid.map" good.map
ln -s "$work/good.map" "/tmp/perf-$map_pid.map"
run 0 stack "$map_pid"
out_lacks map:
rm "/tmp/perf-$map_pid.map"
mkfifo "/tmp/perf-$map_pid.map"
run 0 stack "$map_pid"
out_lacks map:
rm "/tmp/perf-$map_pid.map"
cp good.map "/tmp/perf-$map_pid.map"
if [[ $(id -u) -eq 0 ]] && chown 12345 "/tmp/perf-$map_pid.map" 2>/dev/null; then
  run 0 stack "$map_pid"
  out_lacks map:
  chown 0 "/tmp/perf-$map_pid.map"
fi
run 0 stack "$map_pid"
expect map: ' with blanks'

# A container: the process has another id and another /tmp there.
if unshare --user --map-root-user --mount --pid --fork true 2>/dev/null; then
  mkfifo said_inside
  # By descriptors: the paths may lie below /tmp.
  unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c \
    'mount -t tmpfs none /tmp && exec /proc/self/fd/9 /proc/self/fd/8 / map' 8<generated.o 9<"$victim" >said_inside \
    2>unshare_says &
  running+=("$!")
  said=
  read -r said <said_inside || :
  inside=$(pgrep -P "${running[-1]}" | head -n 1 || :)
  if [[ $said == ready && -n $inside ]]; then
    running+=("$inside")
    run 0 stack "$inside"
    expect map: ' with blanks'
    [[ ! -e /tmp/perf-$inside.map ]] || fail "the map of a container is outside"
    echo "a container: tested"
  else
    echo "a container: not tested: $(cat unshare_says)"
  fi
fi

# stack_has PATTERN: whether the stack of the process that was started last has such a line now.
# shellcheck disable=SC2317,SC2329 # called by wait_until
stack_has() { run 0 stack "$pid" && grep -q "$1" "$work/out"; }

# core PID NAME: makes a core of the process, named NAME.
core() { have gdb && gdb -nx -batch -readnever -p "$1" -ex "gcore $work/$2" >/dev/null 2>&1 </dev/null && [[ -s $2 ]]; }

# Cores: objects are in the memory. A perf map is used if it lies beside the core, with the process's id in its name.
mkdir cores
if core "$gdb_pid" cores/gdb && core "$map_pid" cores/map; then
  run 0 stack cores/gdb
  expect '' ''
  if core "$lines_pid" cores/lines; then
    run 0 stack cores/lines
    has_lines
  fi
  run 0 stack cores/map
  out_lacks map:
  cp good.map "cores/perf-$map_pid.map"
  run 0 stack cores/map
  expect map: ' with blanks'
  mkdir -p root/tmp
  mv "cores/perf-$map_pid.map" root/tmp
  run 0 stack --sysroot root cores/map
  expect map: ' with blanks'
  echo "cores: tested"
else
  echo "cores: not tested, gdb is missing or may not look"
fi

# Both kinds of LLVM's JIT: the objects that it registers for debuggers have the lines and the inlined call. Only
# sections have their addresses, and the relocations of debug information are not applied.
cat >jitted.c <<'END_OF_C'
extern long write(int, const void *, unsigned long);
extern int pause(void);
static volatile int sink;
static inline __attribute__((always_inline)) void jitted_innermost(int n) {
  sink = n;
  pause(); /* innermost */
  sink = n + 1;
}
static __attribute__((noinline)) int jitted_middle(int n) {
  jitted_innermost(n + 1); /* middle */
  return sink + n;
}
__attribute__((noinline)) int jitted_outer(int n) {
  int result = jitted_middle(n * 2); /* outer */
  return result + 1;
}
int main(void) {
  write(1, "ready\n", 6);
  return jitted_outer(3) & 1; /* main */
}
END_OF_C
if have lli-19 && have clang-19 && clang-19 -g -O1 -c -emit-llvm jitted.c -o jitted.bc; then
  for kind in mcjit orc; do
    for form in '' -gdwarf-4; do
      is_full_size || [[ $kind == mcjit && -z $form || $kind == orc && -n $form ]] || continue
      # shellcheck disable=SC2086 # one option or none
      clang-19 -g $form -O1 -c -emit-llvm jitted.c -o jitted.bc
      start lli-19 "--jit-kind=$kind" jitted.bc
      # The program reports readiness before it waits.
      wait_until stack_has pause || fail "lli-19 --jit-kind=$kind does not wait"
      err_is_empty
      out_has " jitted_innermost \[inlined\] \(jitted\.c:$(line_of '/* innermost' jitted.c)\)\$"
      for name in middle outer; do
        out_has " jitted_$name \+ [0-9]+ \(jitted\.c:$(line_of "/* $name" jitted.c)\)\$"
      done
      out_has " main \+ [0-9]+ \(jitted\.c:$(line_of '/* main' jitted.c)\)\$"
      if [[ $kind == mcjit && -z $form ]] && core "$pid" cores/lli; then
        run 0 stack cores/lli
        out_has " jitted_innermost \[inlined\] \(jitted\.c:"
      fi
    done
  done
  echo "LLVM's JIT: tested"
else
  echo "LLVM's JIT: not tested, lli-19 or clang-19 is missing"
fi

# Node: a JavaScript function is called often enough to be compiled; the function that it calls waits in a system call.
cat >work.js <<'END_OF_SCRIPT'
const { readSync, openSync, writeSync } = require('fs');
const fifo = process.argv[2];
function wait(n) { return n < 0 ? (writeSync(1, 'ready\n'), readSync(openSync(fifo), Buffer.alloc(1))) : n + 1; }
function outerWork(n) {
  // The line of the call is neither the function's first one nor its last.
  return wait(n) +
    1;
}
let sum = 0;
for (let i = 0; i < 300000; i++) sum += outerWork(i % 7);
outerWork(-1);
END_OF_SCRIPT
if have node; then
  mkfifo never
  for option in --perf-basic-prof --perf-prof; do
    start node "$option" --no-turbo-inlining work.js "$work/never"
    maps+=("/tmp/perf-$pid.map")
    # A thread of its own compiles the function, which can end later than the calls.
    wait_until stack_has 'JS:[*^]outerWork' || fail "node does not compile the function"
    out_has ' JS:[*^]outerWork .*work\.js:[0-9]+:[0-9]+ \+ [0-9]+( \(work\.js:6\))?$'
    out_lacks '0x0 \+ '
    if [[ $option == --perf-prof ]]; then
      out_has ' JS:[*^]outerWork .* \(work\.js:6\)$'
      named jitdump
    else
      named perf-map
    fi
  done
  echo "node: tested"
else
  echo "node: not tested, it is not installed"
fi

# A JVM: a method is compiled at its first call, and runs until it is killed; the map is written on request.
cat >Loop.java <<'END_OF_CLASS'
public class Loop {
    static volatile boolean goesOn;
    static long innermostLoop(long n) { do n = n * 31 + 1; while (goesOn); return n; }
    public static void main(String[] arguments) {
        long sum = innermostLoop(1);
        goesOn = true;
        System.out.println("ready");
        System.out.println(sum + innermostLoop(sum));
    }
}
END_OF_CLASS
if have java && have javac && have jcmd && javac Loop.java 2>javac_says; then
  start java -Xcomp -Xbatch -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,Loop.innermostLoop \
    -XX:+PreserveFramePointer -cp . Loop
  maps+=("/tmp/perf-$pid.map")
  if jcmd "$pid" Compiler.perfmap >jcmd_says 2>&1 && [[ -s /tmp/perf-$pid.map ]]; then
    # The thread may not have reached the method yet.
    wait_until stack_has innermostLoop || fail "the JVM does not run the method"
    out_has '\?\?\? +0x[0-9a-f]+ .*Loop\.innermostLoop.* \+ [0-9]+$'
    out_has '\?\?\? +0x[0-9a-f]+ Interpreter \+ [0-9]+$'
    out_lacks '0x0 \+ '
    echo "a JVM: tested"
  else
    echo "a JVM: not tested: $(cat jcmd_says)"
  fi
else
  echo "a JVM: not tested, it is not installed"
fi
validate symbolize address.of
validate stacks "$work"/*.json
verdict
