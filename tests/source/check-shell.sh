#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that shellcheck reports nothing about our scripts, that none pipes into grep -q, and that none waits by a loop of
# its own (why: see script.sh). A sample gives shellcheck the scripts that have changed since the lane `format`, which gives it all, last passed.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools shellcheck
cd "$top"
mapfile -t files < <(project_files | LC_ALL=C xargs -d '\n' awk \
  'FNR == 1 { if (FILENAME ~ /\.sh$/ || /^#!.*[^a-z](ba)?sh$/) print FILENAME; nextfile }')
[[ ${#files[@]} -gt 0 ]] || fail "no script found"
sample_changed "${files[@]}"
echo "${#sample[@]} of ${#files[@]} scripts are given to shellcheck"
[[ ${#sample[@]} -eq 0 ]] || shellcheck "${sample[@]}" || fail "shellcheck"
! grep -nE '(^|[^|])[|] *gre[p] (-[a-zA-Z]+ )*-[a-zA-Z]*q' "${files[@]}" || fail "a pipe into grep -q: let grep read all"
! grep -nE '^ *sleep 0?[.]|; (do|then|else) sleep 0?[.]' "${files[@]}" |
  grep '^tests/' | grep -v '^tests/support/script[.]sh:' ||
  fail "a loop that waits: use wait_until, which is patient enough for a busy machine"
verdict
