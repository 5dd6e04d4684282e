#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests `unspool crash-handler` with the kernel: a piped core_pattern, whether the kernel waits for its program or not, for
# a program of this system and one in a root and a pid namespace of its own. Runs in the machine of the lane
# kernel-arm64. $HANDLER starts the command with its libraries, since the kernel gives it no environment; $UNSPOOL is the
# command, $VICTIM is tests/corefile/core_victim.c.
set -u
reports=/tmp/reports
folder=$(mktemp -d)
cd "$folder" || exit 1
failed=0
fail() {
  echo "$*"
  failed=1
}

# expect WHAT NAME: there is one report, of the whole process. Its threads have this name.
expect() {
  name=$2
  # Where the kernel does not wait, the command may end after the process.
  waits=0
  while set -- "$1" "$reports"/*.raw && [ ! -f "$2" ] && [ $waits -lt 60 ]; do
    waits=$((waits + 1))
    sleep 1
  done
  if [ $# -ne 2 ] || [ ! -f "$2" ]; then
    fail "$1: not one report: $*"
    return
  fi
  "$UNSPOOL" stack --no-lines --index store "$2" >stacks || fail "$1: unspool stack: exit status $?"
  cat stacks
  awk '/^Thread/ { if (line) print line; line = "thread" } /^[0-9]+ / { line = line " " $4 } END { print line }' stacks >lines
  [ "$(grep -c ' worker_inner worker_middle worker_outer ' lines)" -eq 3 ] || fail "$1: not three workers"
  [ "$(grep -c '^thread victim_inner victim_middle main ' lines)" -eq 1 ] || fail "$1: not one main thread"
  [ "$(grep -c "^Thread [0-9]* \"$name\"" stacks)" -eq 4 ] || fail "$1: not four threads with the name $name"
  grep -q '(crashed)' stacks || fail "$1: no thread has crashed"
  grep -q '^Process .*ended by SIG' stacks || fail "$1: no signal"
  [ ! -e core ] || fail "$1: a core is on the disk"
  rm -f "$2"
}

# The other root's files are not there any more when its report is read: names come from the store, by build id.
"$UNSPOOL" index --quiet -o store "$VICTIM" || fail "unspool index: exit status $?"
echo "|$HANDLER --directory $reports %P %s" >/proc/sys/kernel/core_pattern
mkdir "$folder/jail"
busybox cp "$VICTIM" "$folder/jail/inner"
for limit in 0 4; do
  echo $limit >/proc/sys/kernel/core_pipe_limit
  "$VICTIM"
  expect "limit $limit" victim
  # unshare ends by the signal of its program, which here is the shell.
  busybox unshare -f -p sh -c "busybox chroot $folder/jail /inner; exit 0"
  expect "limit $limit, other root" inner
done
echo core >/proc/sys/kernel/core_pattern
busybox dmesg | grep 'unspool:' && fail "the command has complained"
exit $failed
