#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool report`: texts of every format as text and as JSON that conforms to its schema; names from files; many
# files; what is refused. tests/report/test_read_report.c tests the result for each text.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

mkdir -p "$work/texts/below"
tests/fuzz/log_seeds "$work/texts" --plain
texts=("$work"/texts/*.*)
# Some of them, by format: their numbers change when a text is added.
samples=("$work"/texts/sample.*) metrickits=("$work"/texts/metrickit.*)
# The last list of addresses has no images.
lists=("$work"/texts/apple-address-list.*)
[[ ${#texts[@]} -gt 20 ]] || fail "only ${#texts[@]} texts"
for text in "${texts[@]}"; do
  run 0 report "$text"
  [[ -s $work/out ]] || fail "$text: nothing is shown"
  [[ $(wc -l <"$work/err") -eq 1 ]] || fail "$text: $(cat "$work/err")"
  err_has "^unspool: $text: [0-9]+ frames, "
done
run 0 report --quiet --json "$work/texts"
err_is_empty
cp "$work/out" "$work/reports.json"
[[ $(grep -c '^  "version": 1,$' "$work/reports.json") -eq ${#texts[@]} ]] || fail "not an object for each file"

# ---- names from files
mkdir "$work/files"
cp "$stuck" "$work/files"
start "$stuck" deep
kill -STOP "$pid"
"$unspool" stack "${patient[@]}" --thread "$pid" --style crash-report --no-symbols "$pid" >"$work/unnamed"
run 0 report --search "$work/files" "$work/unnamed"
out_has '^[0-9]+ +stuck +.0x[0-9a-f]{16} descend \+ [0-9]+( \(stuck\.c:[0-9]+\))?$'
out_has '^0x[0-9a-f]+ - 0x[0-9a-f]+ stuck .*<[0-9a-f]+> .*/stuck$'
if grep -q '(stuck\.c:[0-9]' "$work/out"; then
  ! grep 'lines need' "$work/err" || fail "there are lines"
fi
# If there are no lines, one message says so, however many reports there are.
mkdir "$work/stripped"
strip -g -o "$work/stripped/stuck" "$stuck"
run 0 report --search "$work/stripped" "$work/unnamed" "$work/unnamed"
out_has ' descend \+ [0-9]+$'
[[ $(grep -c '^unspool: stuck [0-9a-f]*: lines need debug information .*: neither is in --search or in /' "$work/err") -eq 1 ]] ||
  fail "$(cat "$work/err")"
run 0 report --quiet --search "$work/stripped" "$work/unnamed"
err_is_empty
run 0 report "$work/unnamed"
out_lacks descend
! grep 'lines need' "$work/err" || fail "nothing was looked for"
# Reports of a program whose file is not found, and of one whose file is given.
run 1 report --strict "$work/unnamed"
run 0 report --strict --search "$work/files" "${lists[-1]}"
grep -v '^0x' "$work/unnamed" | grep -v '^Binary' >"$work/alone"
run 0 report --search "$work/files" --binary-images "$work/unnamed" "$work/alone"
out_has ' descend \+ '

# ---- several files, standard input
run 0 report "$work/texts/apple.0" "${samples[0]}"
out_has "^$work/texts/apple.0:\$"
out_has "^${samples[0]}:\$"
"$unspool" report - <"$work/texts/apple.0" >"$work/out" 2>"$work/err" || fail "standard input"
out_has '^Thread 0 Crashed:$'
out_lacks '^-:$'
# A file without a report, a damaged one and an absent one must not keep the others from being shown.
echo 'nothing here' >"$work/none"
head -c 300 "${metrickits[0]}" >"$work/damaged"
run 3 report "$work/none" "$work/damaged" "$work/absent" "$work/texts/apple.0"
out_has '^Thread 0 Crashed:$'
err_has "^unspool: $work/none: no frames were recognised\$"
err_has "^unspool: $work/damaged: offset 0x[0-9a-f]+: "
err_has "^unspool: $work/absent: "

# ---- escape sequences in a report must not reach the terminal
# shellcheck disable=SC2016 # a report's text
printf 'Process: \033[31mred [5]\n\nThread 0 Crashed:\n0   App\033]0;title\a 0x0000000100000100 0x100000000 + 256\n' >"$work/control"
run 0 report "$work/control"
[[ $(tr -d '\n\t -~' <"$work/out" | wc -c) -eq 0 ]] || fail "control characters: $(cat -v "$work/out")"

# ---- usage
run 2 report
err_has '^unspool: report: FILE is missing$'
run 2 report --demangle what "$work/unnamed"
run 3 report --search "$work/absent" "$work/unnamed"
run 3 report --binary-images "$work/none" "$work/unnamed"
err_has '^unspool: .*/none: lists no images$'

validate report "$work/reports.json"
verdict
