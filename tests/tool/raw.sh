#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack FILE` with a raw capture: it has the names that the process itself found, complete or cut off;
# the name of a call that never returns; and the lines of glibc's backtrace_symbols(3).
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
cp tests/tool/captures_itself "$work"
program=$work/captures_itself
raw=$work/capture.raw

"$program" "$raw" >"$work/printed" || fail "the program ended with $?"
grep -v '^differs: ' "$work/printed" >"$work/in-process"
run 0 stack --no-lines --style call-stack-symbols "$raw"
err_is_empty
tail -n +2 "$work/out" >"$work/later"
cmp -s "$work/in-process" "$work/later" || fail "named later it differs: $(diff "$work/in-process" "$work/later")"

# The function ends with the call: the return address lies after it, but the name must be the caller's.
size=$(nm -S "$program" | awk '$4 == "ends_in_noreturn" { print $2 }')
out_has " ends_in_noreturn \\+ $((16#$size))\$"
out_has ' calls_it \+ [0-9]+$'
out_has ' main \+ [0-9]+$'
out_has ' never_returns \+ [0-9]+$'

# glibc looks the return address itself up. There it names the next function, or none (compilers notice that the caller
# never returns either); and of two names it may choose another.
differing=$(grep '^differs: ' "$work/printed" | grep -vE '\((ends_in_noreturn|calls_it|raise)\+' || :)
[[ -z $differing ]] || fail "$differing"

for style in json folded crash-report ips sentry bs-backtrace portable; do
  run 0 stack --style "$style" "$raw"
  err_is_empty
done
run 0 stack "$raw"
expect_frames '' never_returns ends_in_noreturn calls_it main
run 0 stack --app "$raw"
expect_frames '' ends_in_noreturn calls_it main
out_lacks ' libc'

# The options of a walk must hold for a stack that was walked before: the innermost frames, the outermost one, and the
# number of frames left out.
run 0 stack "$raw"
all=$(frames '' | wc -l)
[[ $all -gt 4 ]] || fail "the capture has $all frames only"
run 0 stack --max 3 --tail 1 "$raw"
[[ $(frames '' | wc -l) -eq 3 ]] || fail "--max 3 gives $(frames '' | wc -l) frames"
out_has "^    \\.\\.\\. $((all - 3)) frames left out \\.\\.\\.\$"
out_has "^$((all - 1)) "
run 0 stack --max 3 --tail 0 "$raw"
[[ $(frames '' | wc -l) -eq 3 ]] || fail "--max 3 --tail 0 gives $(frames '' | wc -l) frames"
out_has '^    \.\.\. further frames left out'

# Cut off: complete threads are shown, the others are reported as missing.
head -c $(($(wc -c <"$raw") - 200)) "$raw" >"$work/short.raw"
run 1 stack "$work/short.raw"
err_has '^unspool: the capture is cut off or damaged at offset 0x[0-9a-f]+$'
head -c 20 "$raw" >"$work/shorter.raw"
run 3 stack "$work/shorter.raw"
err_has '^unspool: .*shorter.raw: offset 0x'

# Another build of the program: the command must show no names rather than wrong ones.
cp "$unspool" "$program"
run 0 stack "$raw"
out_lacks ' (calls_it|main) \+'
verdict
