#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests files that another program shortens while they are read: programs, debug files, symbols of other formats, indexes,
# hangs, captures. The command must end by itself, never by SIGBUS, and say what was cut off or give what is whole.
# tests/hostile/shorten.c shortens a file before a certain read of it. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools gcc objcopy strip
here=$PWD
cd "$work"
gcc -shared -fPIC -o shorten.so "$top/tests/hostile/shorten.c" -ldl 2>/dev/null || skip "the file cannot be shortened here"
LD_PRELOAD=$work/shorten.so "$unspool" --version >/dev/null 2>&1 || skip "LD_PRELOAD does not work here"

# A program with many functions, its debug information in another file, and an index of it.
{
  for i in $(seq 600); do echo "int function_number_$i(int a) { return a * $i + $((i % 7)); }"; done
  echo 'int main(void) { return 0; }'
} >many.c
gcc -g -O1 -Wl,--build-id -o whole many.c
objcopy --only-keep-debug whole whole.debug
cp whole stripped
strip stripped
objcopy --add-gnu-debuglink=whole.debug stripped
address=$(nm whole | awk '$3 == "function_number_300" { print $1 }')
run 0 index -o store whole
index=$(find store -name index)
run 0 symbolize --index "$work/none" -o whole "$address"
cp out right

# What the command said, in all cases, of files that were cut.
: >messages
# The reads before which a file is shortened.
reads=(1 2 4)
# cut WHAT FILE ARGUMENT...: runs unspool while FILE is shortened to several sizes, at several reads of it, also with the
# old size restored. The exit status must be the command's own, not a signal's.
cut() {
  local what=$1 file=$2 size to after again status
  shift 2
  cp "$file" kept
  size=$(stat -c %s "$file")
  for to in 100 $((size / 3)) $((size - 50)); do
    for after in "${reads[@]}"; do
      for again in '' 1; do
        status=0
        cp kept "$file"
        rm -rf made
        env LD_PRELOAD="$work/shorten.so" SHORTEN="$work/$file" SHORTEN_TO="$to" SHORTEN_AFTER="$after" \
          ${again:+SHORTEN_AGAIN=1} "$unspool" "$@" >out 2>err || status=$?
        cat err >>messages
        ((status <= 3)) || fail "$what, cut to $to of $size bytes at read $after: exit status $status: $(cat err)"
      done
    done
  done
  cp kept "$file"
}

cut "the symbols of a program" whole symbols whole
cut "an index of a program" whole index -o made whole
cut "a program" whole symbolize --index none -i -o whole "$address"
cut "a program's debug file" whole.debug symbolize --index none -i -o stripped "$address"
cut "an index" "$index" symbolize --index store -i -o whole "$address"
cut "an index that is verified" "$index" store verify store

grep -q 'cut off\|truncated\|ends\|past the end\|bytes are left\|[0-9] are left\|too early' messages || fail "no message says what was cut off: $(sort -u messages)"
# Nothing that was kept is wrong now.
run 0 symbolize --index "$work/none" -o whole "$address"
cmp -s out right || fail "the whole file gives another answer: $(cat out)"

# A process whose program has its symbols in a file that is cut.
objcopy --only-keep-debug stuck stuck.debug
cp stuck waiting
strip waiting
objcopy --add-gnu-debuglink=stuck.debug waiting
start "$work/waiting"
cut "the debug file of a process" stuck.debug stack "$pid"
cut "the debug file of a process that is recorded" stuck.debug record --duration 0.05 -o profile "$pid"

# A thread that shortens and regrows the file without a pause: the moment is not chosen, so that each read can meet it.
# While it does, a program uses the library, and the command runs.
headers=(-I"$top/include" -I"$here/include")
if gcc -O1 -pthread "${headers[@]}" -o regrow "$top/tests/hostile/regrow.c" "$work"/libunspool.so.* 2>err; then
  status=0
  ./regrow whole 100 "$address" >out 2>&1 || status=$?
  [[ $status -eq 0 ]] || fail "a program that uses the library: exit status $status: $(cat out)"
  # regrown FILE ARGUMENT...: runs unspool eight times while FILE changes.
  regrown() {
    local file=$1 status changer
    shift
    cp "$file" kept
    ./regrow "$file" &
    changer=$!
    for _ in 1 2 3 4 5 6 7 8; do
      status=0
      "$unspool" "$@" >out 2>err || status=$?
      ((status <= 3)) || fail "$* while $file is shortened and regrown: exit status $status: $(cat err)"
    done
    { kill -KILL "$changer" && wait "$changer"; } 2>/dev/null || :
    cp kept "$file"
  }
  regrown whole index -o made whole
  regrown whole symbolize --index none -i -o whole "$address"
  regrown "$index" symbolize --index store -i -o whole "$address"
  regrown stuck.debug stack "$pid"
  regrown stuck.debug record --duration 0.05 -o profile "$pid"
else
  echo "a program that uses the library: not tested: $(head -n 1 err)"
fi

# A raw capture of a program of its own.
cp "$here/tests/tool/captures_itself" .
./captures_itself capture.raw >printed
cut "a raw capture" capture.raw stack capture.raw
grep -q 'the capture is cut off or damaged' messages || fail "no message says that a capture was cut off"

# A core of a small program.
printf 'int main(void) { volatile int *nowhere = 0; return *nowhere; }' >ends.c
gcc -g -o ends ends.c
if [[ $(cat /proc/sys/kernel/core_pattern) == core ]]; then
  (ulimit -c unlimited && ./ends) 2>/dev/null || :
  for core in core core.*; do if [[ -s $core ]]; then mv "$core" ended; fi; done
fi
if [[ -e ended ]]; then
  reads=(1 2 3 4 8)
  cut "a core" ended stack ended
else
  echo "cores: not tested: the kernel writes none here"
fi
verdict
