#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --log` with output of unspool itself, of programs of this machine: each style without names
# must become that style with the names that the process gave, by the program's file and by its debug file. Bytes that
# are not a frame must stay.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
cp tests/tool/captures_itself "$work"
mkdir "$work/files" "$work/others"
cp "$work/captures_itself" "$stuck" "$work/files"
# Without debug information, because the stacks below have no lines: tests/tool/lines.sh tests lines.
strip -g "$work/files"/*

expect() { cmp -s "$work/out" "$1" || fail "$2: differs: $(diff -a "$1" "$work/out" | head -n 6)"; }

# nothing_missing: checks that standard error has only the number of frames, and one message that the stripped files
# have no lines.
nothing_missing() {
  [[ $(wc -l <"$work/err") -eq 2 ]] || fail "$(cat "$work/err")"
  err_has "^unspool: [^:]*: lines need debug information .*: neither is in --search or in $XDG_CACHE_HOME/unspool/index\$"
  err_has ': [0-9]+ frames, [0-9]+ symbolicated, [0-9]+ with a name before, '
}

# The stack of the main thread, which is stopped, without the time of the report and the thread's clock.
stack() { run 0 stack --no-lines --thread "$thread" "$@" && sed -i -E '/^Date|^ *[a-z0-9]+: 0x/d' "$work/out"; }

# check NAME TARGET THREAD: tests a process or a capture whose program is in $work/files.
check() {
  local name=$1 target=$2 thread=$3 style
  local log=$work/$name
  stack --style crash-report --no-symbols "$target"
  cp "$work/out" "$log.images"
  for style in call-stack-symbols bs-backtrace crash-report plain backtrace-symbols; do
    stack --image "$name" --style "$style" --no-symbols "$target"
    cp "$work/out" "$log.$style.in"
    stack --image "$name" --style "$style" "$target"
    cp "$work/out" "$log.$style.named"
    ! cmp -s "$log.$style.in" "$log.$style.named" || fail "$name $style: nothing to be named"
    run 0 symbolize --log "$log.$style.in" --search "$work/files" --binary-images "$log.images"
    expect "$log.$style.named" "$name, $style"
    nothing_missing
    # A crash report lists its images. For other styles, the only file of that name is used.
    run 0 symbolize --log "$log.$style.in" --search "$work/files"
    expect "$log.$style.named" "$name, $style alone"
    # Another build is not used, whatever its name is.
    cp "$unspool" "$work/others/$name"
    run 0 symbolize --log "$log.$style.in" --search "$work/others" --binary-images "$log.images"
    expect "$log.$style.in" "$name, $style by another build"
    err_has "^unspool: $name [0-9A-Fa-f-]+: not found in --search(;|\$)"
  done
  # Build id and offset become the name and its offset.
  stack --image "$name" --style portable "$target"
  cp "$work/out" "$log.portable.in"
  sed -E 's/([0-9a-f]{40}|[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}) \+ 0x[0-9a-f]+ /@ /' "$log.portable.in" |
    awk -v plain="$log.plain.named" '
      / *@ \// { do getline name <plain; while (name !~ / \+ [0-9]+$/)
                sub(/@/, name) }
      { print }' >"$log.portable.named"
  run 0 symbolize --log "$log.portable.in" --search "$work/files"
  expect "$log.portable.named" "$name, portable"
  nothing_missing
}

start "$stuck" deep
# The innermost function runs in a loop, so it is stopped: each look must find it at the same address.
kill -STOP "$pid"
check stuck "$pid" "$pid"
"$work/captures_itself" "$work/raw" >/dev/null
check captures_itself "$work/raw" 1
grep -q '^ends_in_noreturn + [0-9]*$' "$work/captures_itself.plain.named" || fail "no call that never returns"

# Debug information that was split off from a stripped program.
objcopy --only-keep-debug "$stuck" "$work/split"
strip -o "$work/stripped" "$stuck"
for folder in split stripped both; do mkdir "$work/$folder.files"; done
cp "$work/split" "$work/split.files/stuck.debug"
cp "$work/stripped" "$work/stripped.files/stuck"
cp "$work/split.files/stuck.debug" "$work/stripped.files/stuck" "$work/both.files"
for folder in split both; do
  run 0 symbolize --log "$work/stuck.crash-report.in" --search "$work/$folder.files"
  if readelf -S "$work/split" 2>/dev/null | grep '\.debug_line' >/dev/null; then
    out_has ' inner \+ [0-9]+ \(stuck\.c:[0-9]+\)$'
  fi
  sed -i -E '/ \[inlined\]/d; s/ \(stuck\.c:[0-9]+\)$//' "$work/out"
  expect "$work/stuck.crash-report.named" "by the debug file ($folder)"
done
run 0 symbolize --log "$work/stuck.crash-report.in" --search "$work/stripped.files"
out_lacks ' descend \+'

# Bytes of any kind stay as they are: a program, lines too long for a frame, a last line without a line end, an empty
# file.
{
  cat "$unspool"
  echo
  head -c 70000 /dev/zero | tr '\0' 'x'
  cat "$work/stuck.plain.in"
  printf 'stuck + '
} >"$work/bytes"
{
  cat "$unspool"
  echo
  head -c 70000 /dev/zero | tr '\0' 'x'
  # The first line is appended to the long one.
  head -n 1 "$work/stuck.plain.in"
  tail -n +2 "$work/stuck.plain.named"
  printf 'stuck + '
} >"$work/bytes.named"
run 0 symbolize --log "$work/bytes" --search "$work/files"
expect "$work/bytes.named" "any bytes"
"$unspool" symbolize --log - --search "$work/files" <"$work/bytes" >"$work/out" 2>/dev/null
expect "$work/bytes.named" "any bytes, standard input"
: >"$work/empty"
run 0 symbolize --log "$work/empty" --search "$work/files"
expect "$work/empty" "nothing"

# ---- several logs: one after the other, into a folder, in place
mkdir -p "$work/logs/a b"
cp "$work/stuck.plain.in" "$work/logs/one"
cp "$work/stuck.crash-report.in" "$work/logs/a b/two"
chmod 640 "$work/logs/one"
cat "$work/stuck.crash-report.named" "$work/stuck.plain.named" >"$work/both"
run 0 symbolize --search "$work/files" --log "$work/logs"
expect "$work/both" "a folder"
err_has '/a b/two: [0-9]+ frames, '
err_has '^unspool: all: [0-9]+ frames, '
run 0 symbolize --search "$work/files" --log "$work/logs/a b/two" "$work/logs/one"
expect "$work/both" "two files"
run 0 symbolize --quiet --search "$work/files" --output "$work/named" --log "$work/logs" - <"$work/stuck.plain.in"
err_is_empty
[[ ! -s $work/out ]] || fail "something on standard output"
cmp "$work/stuck.plain.named" "$work/named/one" || fail "--output"
cmp "$work/stuck.crash-report.named" "$work/named/a b/two" || fail "--output, a folder below"
cmp "$work/stuck.plain.named" "$work/named/stdin" || fail "--output, standard input"
run 0 symbolize --search "$work/files" --in-place --log "$work/logs"
cmp "$work/stuck.plain.named" "$work/logs/one" || fail "--in-place"
[[ $(stat -c %a "$work/logs/one") == 640 ]] || fail "--in-place: another mode"
[[ $(find "$work/logs" -type f | wc -l) -eq 2 ]] || fail "--in-place leaves files behind"
# A log that cannot be read must not keep the others from being written.
run 3 symbolize --search "$work/files" --log "$work/absent" --log "$work/logs/one"
expect "$work/stuck.plain.named" "after one that is absent"

# ---- --strict
run 0 symbolize --strict --search "$work/files" --log "$work/stuck.plain.in"
run 1 symbolize --strict --search "$work/others" --log "$work/stuck.crash-report.in"
run 1 symbolize --strict --search "$work/files" --log "$work/empty"
err_has ': no frames were recognised$'

# ---- a pipe: the list of images comes last, and memory must not grow with the length
if have python3; then
  cat >"$work/feed.py" <<'END'
import resource, subprocess, sys
report, megabytes, *command = sys.argv[1:]
head, tail = open(report, 'rb').read().split(b'Binary Images:', 1)
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=open('out', 'wb'), stderr=open('err', 'wb'))
process.stdin.write(head)
for i in range(int(megabytes)):
    process.stdin.write((b'x' * 1023 + b'\n') * 1024)
process.stdin.write(b'Binary Images:' + tail)
process.stdin.close()
if process.wait() != 0:
    sys.exit('failed')
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
  # feed MEGABYTES: symbolicates a report with so much text before its list of images.
  feed() {
    (cd "$work" && "$(command -v python3)" feed.py stuck.crash-report.in "$1" "$unspool" symbolize --log - --search files) \
      >"$work/kilobytes" || fail "a pipe of $1 MB: $(cat "$work/err")"
    grep -v '^xxx' "$work/out" >"$work/without" || true
    cmp -s "$work/without" "$work/stuck.crash-report.named" || fail "a pipe of $1 MB: $(diff "$work/without" "$work/stuck.crash-report.named" | head)"
  }
  feed 1
  small=$(cat "$work/kilobytes")
  feed 48
  [[ $(cat "$work/kilobytes") -lt $((small + 16384)) ]] || fail "a pipe takes $(cat "$work/kilobytes") kB of memory, a short one $small"
  TMPDIR=$work/absent feed 12
  [[ $(wc -c <"$work/out") -gt 12000000 ]] || fail "a pipe that is kept in memory is cut off"
fi

# ---- arguments that are refused
run 2 symbolize --log "$work/bytes" --search "$work/files" --in-place --output "$work/named"
run 2 symbolize --records --search "$work/files" --log "$work/bytes"
run 2 symbolize --search "$work/files" --in-place --log -
run 2 symbolize --log "$work/bytes"
err_has '--search'
run 2 symbolize --log "$work/bytes" --search "$work/files" -o "$stuck"
run 2 symbolize -o "$stuck" --search "$work/files" 0x1000
run 3 symbolize --log "$work/absent" --search "$work/files"
err_has '^unspool: .*/absent: '
cp "$work/bytes" "$work/out"
# shellcheck disable=SC2094 # that is what is refused
"$unspool" symbolize --log "$work/out" --search "$work/files" >>"$work/out" 2>"$work/err" && fail "its own output is read"
err_has 'the output goes into this file$'
run 3 symbolize --log "$work/bytes" --search "$work/absent"
err_has '^unspool: .*/absent: '
run 3 symbolize --log "$work/bytes" --search "$work/files" --binary-images "$work/empty"
err_has '^unspool: .*/empty: lists no images$'
verdict
