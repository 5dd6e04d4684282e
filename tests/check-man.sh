#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every public function has a page in doc/man (of its own, or one that shows to the page it shares), every page is about
# something that exists, and the formatter accepts them all.
set -euo pipefail
# shellcheck source=tests/script.sh
. "$(dirname "$0")/script.sh"
pages=$top/doc/man

while read -r name; do
  page=$pages/$name.3
  if [[ ! -f $page ]]; then
    fail "$name has no page"
    continue
  fi
  shared=$(sed -n 's,^\.so man3/,,p' "$page")
  if [[ -n $shared ]]; then
    [[ -f $pages/$shared ]] || fail "$name.3 shows to $shared, which is not there"
    page=$pages/$shared
  fi
  [[ -f $page ]] || continue
  # Named where whatis(1) looks for it, and declared in the synopsis.
  sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$page" | grep -cw "$name" >/dev/null || fail "$(basename "$page"): NAME lacks $name"
  sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$page" | grep -cw "$name" >/dev/null ||
    fail "$(basename "$page"): SYNOPSIS lacks $name"
done < <(public_functions)

for page in "$pages"/usp_*.3; do
  name=$(basename "$page" .3)
  [[ $name == 'usp_*' ]] || grep -qwF "$name" "$top"/include/unspool/*.h || fail "$name.3 is about nothing that exists"
done

if have groff; then
  for page in "$pages"/*.[1-9]; do
    [[ -f $page ]] || continue
    grep -q '^\.so ' "$page" && continue
    said=$(groff -man -Tutf8 -ww -z -rLL=100n "$page" 2>&1 | grep -v 'cannot adjust line' || :)
    [[ -z $said ]] || fail "$(basename "$page"): $said"
  done
fi
verdict
