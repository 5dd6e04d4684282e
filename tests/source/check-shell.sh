#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that shellcheck reports nothing about our scripts.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools shellcheck
cd "$top"
mapfile -t files < <(project_files | while read -r file; do
  if [[ $file == *.sh ]] || head -n 1 "$file" | grep -aqE '^#!.*\b(ba)?sh$'; then echo "$file"; fi
done)
[[ ${#files[@]} -gt 0 ]] || fail "no script found"
shellcheck "${files[@]}" || fail "shellcheck"
verdict
