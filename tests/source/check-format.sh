#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that all C is formatted as .clang-format says, with the one version of clang-format that the project uses.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools clang-format-19
cd "$top"
mapfile -t files < <(project_files | grep -E '\.[chm]$')
[[ ${#files[@]} -gt 0 ]] || fail "no C file found"
mapfile -t unformatted < <(clang-format-19 --dry-run "${files[@]}" 2>&1 | grep -oE '^[^ :]+' | sort -u |
  while read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done)
for file in "${unformatted[@]}"; do fail "clang-format-19 -i $file"; done
verdict
