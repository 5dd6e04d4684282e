#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that every public function is on exactly one page of doc/man, that every page documents something that exists,
# and that the formatter accepts all pages.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
pages=$top/doc/man
make_work

# Writes NAME PAGE for each function.
{
  for page in "$pages"/usp_*.3; do echo "$(basename "$page" .3) $(basename "$page" .3)"; done
  sh "$pages/redirections.sh" "$pages"
} >"$work/pages"

while read -r name; do
  page=$(awk -v name="$name" '$1 == name { print $2 }' "$work/pages")
  case $(wc -w <<<"$page") in
  0) fail "$name has no page" ;;
  1)
    # Each name must be where whatis(1) looks for it, and be declared in the synopsis.
    sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$pages/$page.3" | grep -cw "$name" >/dev/null || fail "$page.3: NAME lacks $name"
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$pages/$page.3" | grep -cw "$name" >/dev/null ||
      fail "$page.3: SYNOPSIS lacks $name"
    ;;
  *) fail "$name is on several pages: $(tr '\n' ' ' <<<"$page")" ;;
  esac
done < <(public_functions)

while read -r name page; do
  grep -qwF "$name" "$top"/include/unspool/*.h || fail "$page.3 is about $name, which does not exist"
done <"$work/pages"

# A page must refer only to pages that exist, and unspool(7) must refer to each page.
for page in "$pages"/*.[1-9]; do
  while read -r name; do
    grep -q "^$name " "$work/pages" || fail "$(basename "$page") refers to $name(3), which does not exist"
  done < <(grep -oE '\busp_[a-z0-9_]+ \(3\)' "$page" | cut -d' ' -f1 | sort -u)
done
for page in "$pages"/usp_*.3; do
  name=$(basename "$page" .3)
  grep -qw "$name (3)" "$pages/unspool.7" || fail "unspool.7 does not mention $name(3)"
done

if have groff; then
  for page in "$pages"/*.[1-9]; do
    [[ -f $page ]] || continue
    said=$(groff -man -Tutf8 -ww -z -rLL=100n "$page" 2>&1 | grep -v 'cannot adjust line' || :)
    [[ -z $said ]] || fail "$(basename "$page"): $said"
  done
fi
verdict
