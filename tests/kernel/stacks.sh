#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the machine of the lane kernel-arm64, where $UNSPOOL is the command and $VICTIM is tests/corefile/core_victim.c with signed
# return addresses: the kernel writes a core, the command shows every thread of it with all of its functions.
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

# Each thread's symbols in one line.
awk '/^Thread/ { if (line) print line; line = "thread" } /^[0-9]+ / { line = line " " $4 } END { print line }' stacks >lines
workers=$(grep -c ' worker_inner worker_middle worker_outer ' lines)
victims=$(grep -c '^thread victim_inner victim_middle main ' lines)
echo "$victims main thread, $workers workers"
[ "$victims" -eq 1 ] && [ "$workers" -eq 3 ]
