#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# by_emulator.sh EMULATOR ARGUMENT... PROGRAM: runs a test program by a user-mode emulator. If the test fails because the
# emulator itself did, which an assertion in the emulator's own source says, it is run again, three times at most: QEMU
# 7.2 aborts at times when a program's threads load libraries. All other failures count at once.
set -u
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for attempt in 1 2 3; do
  "$@" >"$said" 2>&1
  status=$?
  cat "$said"
  if [[ $status -eq 0 || $status -eq 77 ]] ||
    ! grep -qE '^(ERROR:.*/(accel|linux-user|tcg)/|qemu-[a-z0-9]+: .*/(accel|linux-user|tcg)/).*[Aa]ssertion' "$said"; then
    exit "$status"
  fi
  echo "$0: the emulator failed in run $attempt"
done
exit "$status"
