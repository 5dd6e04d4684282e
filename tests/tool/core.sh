#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack CORE` with a core that this kernel writes: its program is in its place, elsewhere, replaced or
# gone.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
[[ $(cat /proc/sys/kernel/core_pattern) == core ]] || skip "the kernel pipes cores elsewhere (core_pattern)"
core=$work/core
[[ $(cat /proc/sys/kernel/core_uses_pid) == 0 ]] || core='' # found below

cd "$work"
ulimit -c unlimited
start "$stuck"
kill -SEGV "$pid"
wait "$pid" 2>/dev/null || :
running=()
[[ -n $core ]] || core=$(echo "$work"/core.*)
[[ -s $core ]] || skip "the kernel writes no core here"

run 0 stack "$core"
err_is_empty
out_has "^Process $pid $stuck, .*3 threads, ended by SIGSEGV$"
out_has "^    SIGSEGV, sent by a process \(SI_USER\), from process [0-9]+$"
out_has "^Thread $pid .*\(crashed\)"
expect_frames "$pid" inner outer main
[[ $(frames '' | grep -c '^work_inner$') -eq 1 ]] || fail "the worker's stack is not there"

# The core was copied to another machine: the program is not in its place.
mkdir away root
mv stuck away/stuck
run 0 stack "$core"
err_has "^unspool: .*stuck"
out_lacks ' inner \+'
run 0 stack --program away/stuck "$core"
expect_frames "$pid" inner outer main
mkdir -p "root$work"
cp away/stuck "root$stuck"
run 0 stack --sysroot root "$core"
expect_frames "$pid" inner outer main
# Links below the folder end there: not a file outside of it.
for link in "$work/away/stuck" "../../../../../../../../../../$work/away/stuck"; do
  ln -sfn "$link" "root$stuck"
  run 0 stack --sysroot root "$core"
  out_lacks ' inner \+'
  mkdir "root$work/away"
  cp away/stuck "root$work/away/stuck"
  run 0 stack --sysroot root "$core"
  expect_frames "$pid" inner outer main
  # Also when few descriptors are left, so that the file is opened again for each block.
  (ulimit -n 10 && "$unspool" stack --sysroot root "$core") >out 2>err || fail "with few descriptors: $(cat err)"
  expect_frames "$pid" inner outer main
  rm -r "root$work/away"
done
rm "root$stuck"
cp away/stuck other
mv "$core" away/core
run 0 stack away/core
expect_frames "$pid" inner outer main

# The name belongs to another build: the command must show no names rather than wrong ones.
cp unspool stuck
rm away/stuck
run 0 stack away/core
out_lacks ' (inner|outer) \+'
err_has '^unspool: .*stuck'

# A core that is cut off, and a file that is not a core.
head -c 1000 away/core >short
run 3 stack short
err_has '^unspool: .*short'
run 3 stack other
err_has '^unspool: .*other: .*not a core'
verdict
