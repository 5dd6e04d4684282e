#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Crashes in storms: while threads are born, libraries loaded, memory allocated or signals sent, a thread crashes. Each
# report is compared with what the program wrote before. USP_CRASHES is the number of crashes in each storm: 2 by
# default, 75 at the full size, 2,500 in the lane soak. USP_SEED repeats a run from one seed.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
crasher=$PWD/tests/crash/crasher
ulimit -c 0
cd "$work"
# qemu-user ends by an error of its own when other threads run while a thread dies.
[[ ${USP_TEST_UNDER-} != qemu-* ]] || skip "an emulator does not bear the storms"

storms=(births allocation signals)
if part_needs cc; then
  read -ra compiler <<<"${CC:-cc}"
  "${compiler[@]}" -O2 -shared -fPIC -o late.so "$top/tests/crash/late.c"
  export CRASHER_LIBRARY=$work/late.so
  storms+=(libraries)
fi
if is_full_size; then count=75; else count=2; fi
count=${USP_CRASHES:-$count}
first=${USP_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "seed $first"
for storm in "${storms[@]}"; do
  for ((i = 0; i < count && failures < 5; i++)); do
    export CRASHER_SEED=$((first + i))
    status=0
    rm -rf reports
    { timeout 300 "$crasher" "$storm" reports >says 2>err; } 2>/dev/null || status=$?
    read -r _ signal _ <says || signal=none
    [[ $status -eq $((128 + ${signal/none/0})) ]] || fail "$storm, seed $CRASHER_SEED: exit status $status: $(cat says err)"
    "$crasher" --compare reports <says 2>err || fail "$storm, seed $CRASHER_SEED: $(cat err)"
  done
done
verdict
