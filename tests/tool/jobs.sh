#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --log --jobs`: output, messages and status are those of one process, in the order of the logs.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
mkdir "$work/files" "$work/logs"
id=0123ABCD-4567-89AB-CDEF-0123456789AB
printf '%s\n' "MODULE mac arm64 ${id//-/}0 App" 'FUNC 5f2d 20 0 -[View draw]' >"$work/files/App.sym"
# Logs of very different length, of which some have builds without a file, one has no frame, and one is cut off.
for i in {1..24}; do
  {
    echo "Thread $i Crashed:"
    for ((n = 0; n < (i % 5 == 1 ? 3000 : i); n++)); do
      echo "$n   App                           	0x0000000104e61f34 App + 24372"
      echo "$n   Other$((i % 3))                        	0x0000000204e61f34 Other$((i % 3)) + 24372"
    done
    printf '%s\n' "" "Binary Images:" "0x104e5c000 - 0x104e6bfff App arm64 <${id,,}> /private/App" \
      "0x204e5c000 - 0x204e6bfff Other$((i % 3)) arm64 <1123abcd456789abcdef0123456789a$((i % 3))> /private/Other$((i % 3))"
  } >"$work/logs/$(printf '%02d' "$i").crash"
done
echo 'nothing' >"$work/logs/07.crash"
printf '{"threads":[{"frames":[{"imageOffset":24372,"imageIndex":0}]}],"usedImages":[{"base":4377133056,"size":65536,"uuid":"%s","name":"App"}' "$id" \
  >"$work/logs/09.crash"

# compare STATUS ARGUMENT...: one process and several write the same.
compare() {
  local status=$1 jobs
  shift
  run "$status" symbolize "$@"
  cp "$work/out" "$work/one.out"
  cp "$work/err" "$work/one.err"
  for jobs in 2 3 64; do
    run "$status" symbolize --jobs "$jobs" "$@"
    cmp "$work/one.out" "$work/out" || fail "--jobs $jobs $*: other output"
    cmp "$work/one.err" "$work/err" || fail "--jobs $jobs $*: other messages: $(diff "$work/one.err" "$work/err")"
  done
}
compare 0 --log "$work/logs" --search "$work/files"
[[ $(grep -c -- '-\[View draw\] + 7$' "$work/out") -gt 15000 ]] || fail "no names"
[[ $(grep -c 'Other1 .*not found in --search' "$work/err") -eq 1 ]] || fail "a build without a file is not named once: $(cat "$work/err")"
err_has ': all: [0-9]+ frames, '
err_has '07\.crash: no frames were recognised$'
err_has '09\.crash: offset 0x[0-9a-f]+: the JSON is cut off'
err_has 'lines need debug information'
compare 1 --strict --quiet --log "$work/logs" --search "$work/files"
compare 3 --log "$work/logs/01.crash" "$work/missing" "$work/logs/02.crash" --search "$work/files"

# An index that is damaged where addresses lie: each process finds it, and it is named once.
{
  echo "MODULE mac arm64 ${id//-/}0 App"
  for ((a = 0x1000; a < 0x20000; a += 32)); do printf 'FUNC %x 20 0 -[View draw%d]\n' "$a" "$a"; done
} >"$work/large.sym"
run 0 index --quiet -o "$work/store" "$work/large.sym"
index=$(find "$work/store" -name index)
cp "$index" "$work/index"
for ((at = 4200; at < $(stat -c %s "$index"); at += 4096)); do
  cp "$work/index" "$index"
  printf '\1\2\3\4' | dd of="$index" bs=1 seek="$at" conv=notrunc status=none
  "$unspool" symbolize --log "$work/logs/01.crash" --index "$work/store" 2>"$work/err" >"$work/out" || true
  if grep -q damaged "$work/err"; then break; fi
done
compare 0 --log "$work/logs" --index "$work/store"
[[ $(grep -c damaged "$work/err") -eq 1 ]] || fail "a damaged index is not named once: $(cat "$work/err")"

# ---- files of their own
run 0 symbolize --log "$work/logs" --search "$work/files" --output "$work/one"
cp "$work/err" "$work/one.err"
run 0 symbolize --jobs 3 --log "$work/logs" --search "$work/files" --output "$work/three"
diff -r "$work/one" "$work/three" || fail "other files"
cmp "$work/one.err" "$work/err" || fail "other messages: $(diff "$work/one.err" "$work/err")"
run 0 symbolize --jobs 3 --log "$work/logs" --search "$work/files" --in-place
diff -r "$work/one" "$work/logs" || fail "other files, --in-place"

# ---- a log that is written to itself is refused, temporary files that cannot be made, a reader that ends
# shellcheck disable=SC2094 # that is what is tested
"$unspool" symbolize --jobs 2 --log "$work/one.out" "$work/logs/02.crash" --search "$work/files" >>"$work/one.out" 2>"$work/err" && fail "a log is its own output"
err_has 'the output goes into this file$'
TMPDIR=$work/none "$unspool" symbolize --jobs 2 --log "$work/logs" --search "$work/files" >"$work/out" 2>"$work/err" && fail "no temporary files"
err_has '^unspool: temporary files: No such file or directory$'
[[ ! -s $work/out ]] || fail "output without temporary files"
{ "$unspool" symbolize --jobs 4 --log "$work/logs" --search "$work/files" 2>"$work/err" || true; } | head -n 1 >"$work/out"
out_has '^Thread 1 Crashed:$'

# The process whose log's turn it is writes to standard output itself. So each line of a stream appears immediately.
mkfifo "$work/stream"
printf '%s\n' 'Binary Images:' "0x104e5c000 - 0x104e6bfff App arm64 <${id,,}> /private/App" >"$work/images"
"$unspool" symbolize --jobs 2 --log "$work/stream" --log "$work/logs/02.crash" --search "$work/files" \
  --binary-images "$work/images" >"$work/out" 2>"$work/err" &
command=$!
exec 4>"$work/stream"
printf '0   App                           	0x0000000104e61f34 App + 24372\n' >&4
# shellcheck disable=SC2317,SC2329 # called by wait_until
has_line() { [[ $(wc -l <"$work/out") -gt 0 ]]; }
wait_until has_line || :
lines=$(wc -l <"$work/out")
exec 4>&-
wait "$command" || fail "a stream and --jobs: $(cat "$work/err")"
[[ $lines -eq 1 ]] || fail "the stream had $lines lines of output before it ended"
out_has '^0   App .*-\[View draw\] \+ 7$'
out_has '^Thread 2 Crashed:$'

# ---- output that cannot be written, messages that cannot, temporary files that are full, a process that a signal ends

# ends_with STATUS MESSAGE: what the command has left in $ended and $work/err.
ends_with() {
  [[ $ended -eq $1 ]] || fail "status $ended instead of $1: $(cat "$work/err")"
  [[ $(tail -n 1 "$work/err") == "unspool: $2" ]] || fail "the last message is not \"$2\": $(cat "$work/err")"
}
symbolize=(symbolize --log "$work/logs" --log "$work/logs/02.crash" --search "$work/files")
"$unspool" "${symbolize[@]}" --jobs 2 >"$work/whole" 2>/dev/null
for jobs in 1 2 64; do
  ended=0
  "$unspool" "${symbolize[@]}" --jobs "$jobs" >/dev/full 2>"$work/err" || ended=$?
  ends_with 4 'the output could not be written'
  [[ $(grep -c '01\.crash: ' "$work/err") -eq 1 ]] || fail "--jobs $jobs: the counts of a log that could not be shown are shown more than once: $(cat "$work/err")"
  # Without standard output, no temporary file takes its number. Without the limit, such a file would grow endlessly.
  ended=0
  (
    ulimit -c 0 -f 100000
    exec "$unspool" "${symbolize[@]}" --jobs "$jobs" >&-
  ) 2>"$work/err" || ended=$?
  ends_with 4 'the output could not be written'
  # Messages that cannot be written change neither output nor status.
  ended=0
  "$unspool" "${symbolize[@]}" --jobs "$jobs" >"$work/out" 2>/dev/full || ended=$?
  [[ $ended -eq 0 ]] || fail "--jobs $jobs: status $ended when messages cannot be written"
  cmp "$work/whole" "$work/out" || fail "--jobs $jobs: other output when messages cannot be written"
  ended=0
  "$unspool" "${symbolize[@]}" --jobs "$jobs" >"$work/out" 2>&- || ended=$?
  [[ $ended -eq 0 ]] || fail "--jobs $jobs: status $ended without standard error"
  cmp "$work/whole" "$work/out" || fail "--jobs $jobs: other output without standard error"
done
# Without a reader, and when a file may not become larger, the command ends as one process does, not one of its processes.
for jobs in 1 2; do
  ends=()
  for limit in unlimited 100; do
    ended=0
    (
      set +e
      ulimit -c 0 -f "$limit"
      if [[ $limit == 100 ]]; then
        "$unspool" "${symbolize[@]}" --quiet --jobs "$jobs" 2>"$work/err" >"$work/out"
      else
        "$unspool" "${symbolize[@]}" --quiet --jobs "$jobs" 2>"$work/err" | head -n 1 >"$work/out"
      fi
      exit "${PIPESTATUS[0]}"
    ) || ended=$?
    ends+=("$ended $(cat "$work/err")")
  done
  if [[ $jobs -eq 1 ]]; then of_one=("${ends[@]}"); fi
  [[ ${of_one[*]} == "${ends[*]}" ]] || fail "--jobs $jobs ends with ${ends[*]}, one process with ${of_one[*]}"
done
# With 24 processes, the long logs do not fit into the memory that they share.
for ignored in '' XFSZ; do
  ended=0
  (
    set +e
    if [[ -n $ignored ]]; then trap '' "$ignored"; fi
    ulimit -c 0 -f 32
    "$unspool" "${symbolize[@]}" --quiet --jobs 24 2>"$work/err" | { trap '' PIPE; wc -l >"$work/out"; }
    exit "${PIPESTATUS[0]}"
  ) || ended=$?
  if [[ -n $ignored ]]; then
    ends_with 4 'temporary files could not be written; TMPDIR names another folder for them'
  else
    [[ $ended -eq 4 ]] || fail "status $ended when a signal has ended a process"
    err_has '[0-9]+\.crash: a signal has ended the process that read it: File size limit exceeded'
  fi
done

# ---- wrong use
for wrong in 0 65 x -1 ''; do
  run 2 symbolize --jobs "$wrong" --log "$work/logs" --search "$work/files"
  err_has 'takes a number from 1 to 64'
done
run 2 symbolize --jobs 2 --records --search "$work/files"
run 2 symbolize --jobs 2 -o "$work/files/App.sym" 0x5f34
verdict
