#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that every public function has one row in the first table of doc/signal-safety.md, and that its declaration
# agrees: "not async-signal-safe" where the row's column "handler" says no, "async-signal-safe" where it says yes.
set -euo pipefail
export LC_ALL=C
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
table=$top/doc/signal-safety.md
make_work

awk '/^ *usp_[a-z0-9_]+;/ { sub(/;.*/, "", $1); print $1 }' "$top/lib/unspool.map" | sort >"$work/public"
[[ $(wc -l <"$work/public") -gt 100 ]] || fail "lib/unspool.map: the functions are not found"

# Writes NAME yes|no for each name in each row of the first table, which ends at the next heading.
sed '/^## /,$d' "$table" | perl -ne '
  next unless my ($names, $handler) = /^\|([^|]*`[^|]*)\|\s*(\w+)/;
  print "$1 $handler\n" while $names =~ /`([^`]*)`/g;' | sort -k1,1 >"$work/rows"

while read -r name; do fail "doc/signal-safety.md has no row for $name"; done \
  < <(cut -d' ' -f1 "$work/rows" | sort -u | comm -23 "$work/public" -)
while read -r name; do fail "doc/signal-safety.md has a row for $name, which is no public function"; done \
  < <(cut -d' ' -f1 "$work/rows" | sort -u | comm -13 "$work/public" -)
while read -r name; do fail "doc/signal-safety.md names $name twice"; done < <(cut -d' ' -f1 "$work/rows" | uniq -d)

# Writes NAME yes|no|unsaid for each declaration, from the comment above it. One comment may stand above several
# declarations in a row.
perl -ne '
  $comment = "" if m{^/\*} or /^\s*$/;
  $comment .= $_ unless /^USP_API/;
  my ($name) = /^USP_API\b.*?\b(usp_\w+)\(/ or next;
  my $text = $comment =~ s/\n \*//gr;
  my $word = $text =~ /\bnot async-signal-safe/i ? "no" : $text =~ /\basync-signal-safe/i ? "yes" : "unsaid";
  print "$name $word\n";' "$top"/include/unspool/*.h | sort -k1,1 >"$work/declared"

while read -r name word row; do
  case $word in
  "$row") ;;
  unsaid) fail "the declaration of $name does not say whether it is async-signal-safe" ;;
  *) fail "$name is async-signal-safe: $word by its declaration, $row by doc/signal-safety.md" ;;
  esac
done < <(join "$work/declared" "$work/rows")
[[ $(join "$work/declared" "$work/rows" | wc -l) -gt 100 ]] || fail "the declarations are not found"
verdict
