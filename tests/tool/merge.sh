#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack --merge`: threads with equal stacks are one path in a tree, with the number of threads; of a
# process and of a raw capture, with filters and without names.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

# More threads than places: 20 that sleep in one place, one that runs in another.
start "$stuck" pool
run 0 stack --merge "$pid"
err_is_empty
out_has "^Analysis of sampling stuck \(pid $pid\)$"
out_has '^ +[+!:| ]*20 wait_in_pool  \(in stuck\)'
out_has '^ +[+!:| ]*1 work_inner  \(in stuck\)'
out_has '^ +[+!:| ]*1 inner  \(in stuck\)'
out_lacks 'Thread_'
# There is one root: the threads' start routine is shared by the pool, the worker and the thread that reported
# readiness.
[[ $(grep -c ' wait_in_pool  (in stuck)' "$work/out") -eq 1 ]] || fail "the pool is not one path: $(cat "$work/out")"

run 0 stack --merge --app "$pid"
out_has '^    \+ 20 wait_in_pool  \(in stuck\)'
out_lacks '\(in libc'
run 0 stack --merge --no-symbols "$pid"
out_lacks 'wait_in_pool'
out_has '^ +[+!:| ]*20 \?\?\?  \(in stuck\)  load address 0x[0-9a-f]+ \+ 0x[0-9a-f]+'

cp tests/tool/captures_itself "$work"
"$work/captures_itself" "$work/capture.raw" >/dev/null || fail "the program ended with $?"
run 0 stack --merge "$work/capture.raw"
out_has '^    1 '
verdict
