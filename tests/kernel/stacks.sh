#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests a core that the arm64 kernel writes: the command must show every thread with all of its functions. Runs in the
# machine of the lane kernel-arm64. $UNSPOOL is the command, $VICTIM is tests/corefile/core_victim.c with signed return
# addresses.
set -u
folder=$(mktemp -d)
cd "$folder" || exit 1
"$VICTIM"
[ -f core ] || {
  echo "no core was written"
  exit 1
}
"$UNSPOOL" stack --no-lines core >stacks || {
  echo "unspool stack core: exit status $?"
  cat stacks
  exit 1
}
cat stacks

# Writes each thread's symbols on one line.
awk '/^Thread/ { if (line) print line; line = "thread" } /^[0-9]+ / { line = line " " $4 } END { print line }' stacks >lines
workers=$(grep -c ' worker_inner worker_middle worker_outer ' lines)
victims=$(grep -c '^thread victim_inner victim_middle main ' lines)
echo "$victims main thread, $workers workers"
[ "$victims" -eq 1 ] && [ "$workers" -eq 3 ]
