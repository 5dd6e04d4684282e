# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs commands side by side, as many at a time as there are processors. Sourced by scripts and lanes that have a folder
# $work.

: "${jobs:=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"
beside_count=0

# beside COMMAND...: runs a command in the background as soon as a processor is free. Its output is shown in one piece
# when it ends. It has failed if it ends early or has called `fail` (script.sh).
beside() {
  local found_before=${failures:-0}
  while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || :; done
  beside_output=$work/beside-$((++beside_count))
  rm -f "$beside_output.passed"
  (
    exec 3>&1 >"$beside_output" 2>&1
    trap 'cat "$beside_output" >&3' EXIT
    "$@"
    [[ ${failures:-0} -gt $found_before ]] || : >"$beside_output.passed"
  ) &
}

# beside_ended: waits for all commands. Returns false if one has failed.
beside_ended() {
  local failed=0
  wait
  for (( ; beside_count > 0; beside_count--)); do [[ -e $work/beside-$beside_count.passed ]] || failed=1; done
  [[ $failed -eq 0 ]]
}
