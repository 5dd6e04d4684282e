#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that all C is formatted as .clang-format says, with the one version of clang-format that the project uses. A
# sample examines the files that have changed since the lane `format`, which examines all, last passed.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools clang-format-19
cd "$top"
mapfile -t files < <(project_files | grep -E '\.[chm]$')
[[ ${#files[@]} -gt 0 ]] || fail "no C file found"
sample_changed .clang-format "${files[@]}"
# New rules hold for all files.
[[ " ${sample[*]} " != *" .clang-format "* ]] || sample=("${files[@]}")
echo "${#sample[@]} of ${#files[@]} files are examined"
[[ ${#sample[@]} -gt 0 ]] || verdict
mapfile -t unformatted < <(clang-format-19 --dry-run "${sample[@]}" 2>&1 | grep -oE '^[^ :]+' | sort -u |
  while read -r file; do if [[ -f $file ]]; then echo "$file"; fi; done)
for file in "${unformatted[@]}"; do fail "clang-format-19 -i $file"; done
verdict
