#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that shellcheck reports nothing about our scripts, and that none pipes into grep -q (why: see script.sh).
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools shellcheck
cd "$top"
mapfile -t files < <(project_files | while read -r file; do
  if [[ $file == *.sh ]] || head -n 1 "$file" | grep -aE '^#!.*\b(ba)?sh$' >/dev/null; then echo "$file"; fi
done)
[[ ${#files[@]} -gt 0 ]] || fail "no script found"
shellcheck "${files[@]}" || fail "shellcheck"
! grep -nE '(^|[^|])[|] *gre[p] (-[a-zA-Z]+ )*-[a-zA-Z]*q' "${files[@]}" || fail "a pipe into grep -q: let grep read all"
verdict
