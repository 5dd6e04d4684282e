#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the manual pages, the table of where functions may be called, and the HTML page: doc/pages.pl and doc/html.pl
# write them from the public headers, which this script compares with lib/unspool.map. Also checks that both programs
# refuse what they cannot show, and that doc/functions.md, which is written by hand, lists each public function once.
set -euo pipefail
export LC_ALL=C
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools perl
make_work
pages=$work/pages
mkdir "$pages"

write_pages() { perl "$top/doc/pages.pl" 0.0.0 "$1" "$top/doc/examples/pages" "${@:2}"; }
write_pages "$pages" "$top"/include/unspool/*.h

awk '/^ *usp_[a-z0-9_]+;/ { sub(/;.*/, "", $1); print $1 }' "$top/lib/unspool.map" | sort >"$work/public"
[[ $(wc -l <"$work/public") -gt 100 ]] || fail "lib/unspool.map: the functions are not found"

# ---- the pages ----

(cd "$pages" && printf '%s\n' usp_*.3) | sed 's/\.3$//' | sort >"$work/named"
while read -r name; do fail "$name has no page"; done < <(comm -23 "$work/public" "$work/named")
while read -r name; do fail "$name.3: there is no such public function"; done < <(comm -13 "$work/public" "$work/named")

# Another name's file refers to the page that has the function's contract. One perl reads all pages.
while read -r line; do fail "$line"; done < <(cd "$pages" && perl -ne '
  BEGIN { sub text { open my $in, "<", $_[0] or die "$_[0]: $!\n"; local $/; <$in> } }
  chomp(my $name = $_);
  my $text = text("$name.3");
  my $page = $text =~ m{^\.so man3/(.*)\.3$}m ? $1 : $name;
  $text = text("$page.3") if $page ne $name;
  my ($named) = $text =~ /^(\.SH NAME.*?)^\.SH SYNOPSIS/ms;
  my ($shown) = $text =~ /^(\.SH SYNOPSIS.*?)^\.SH DESCRIPTION/ms;
  print "$page.3: NAME lacks $name\n" if ($named // "") !~ /\b$name\b/;
  print "$page.3: SYNOPSIS lacks $name\n" if ($shown // "") !~ /\b$name\(/;
' "$work/named" || echo "the pages cannot be read")
for part in 'uint32_t kept_rules' 'Number of unwind rules' 'finds the roots of stacks'; do
  grep -cF -- "$part" "$pages/usp_prepare.3" >/dev/null || fail "usp_prepare.3 lacks: $part"
done
for header in "$top"/include/unspool/*.h; do
  name=$(basename "$header" .h)
  [[ $name == unspool ]] && continue
  [[ -f $pages/unspool_$name.3 ]] || fail "unspool/$name.h has no page"
  grep -qw "unspool_$name (3)" "$top/doc/man/unspool.7" || fail "unspool.7 does not mention unspool_$name(3)"
done

# Hand-written pages must refer only to pages that exist.
for page in "$top"/doc/man/*.[1-9]; do
  while read -r name; do
    [[ -f $pages/$name.3 ]] || fail "$(basename "$page") refers to $name(3), which does not exist"
  done < <(grep -oE '\b(usp|unspool)_[a-z0-9_]+ \(3\)' "$page" | cut -d' ' -f1 | sort -u)
done

if have groff; then
  # In one run: its messages name the pages.
  mapfile -t whole < <(grep -L '^\.so ' "$top"/doc/man/*.[1-9] "$pages"/*.3)
  said=$(groff -man -Tutf8 -ww -z -rLL=100n "${whole[@]}" 2>&1 | grep -v 'cannot adjust line' || :)
  [[ -z $said ]] || fail "$said"
fi

# ---- the table ----

perl -ne 'next unless my ($names, $rest) = /^\| (`[^|]*) \| (.*?)[ |]*\n/; print "$1 | $rest\n" while $names =~ /`([^`]*)`/g' \
  "$pages/safety-table.md" | sort >"$work/rows"
cut -d' ' -f1 "$work/rows" | cmp -s - "$work/public" || fail "safety-table.md has not one row for each public function"
while read -r row; do grep -qxF -- "$row" "$work/rows" || fail "safety-table.md lacks: $row"; done <<'END'
usp_capture_context | yes | it walks the calling thread
usp_capture_thread | no | it stops the thread itself | It may allocate, and waits for the thread's answer.
usp_images_find | yes | yes
usp_monitor_turn_end | yes | yes
usp_snapshot_open_core | no | yes | It opens files and allocates.
usp_thread_main | yes on Linux | yes on Linux | On Apple systems it obtains port rights and frees the kernel's list of threads.
END

# ---- the list by job ----

# listed FILE: prints what is wrong with a list like doc/functions.md: a function that is missing, gone, listed twice or
# under another header than the one that declares it.
listed() {
  perl -e '
    my ($list, %header, %seen, $under) = shift;
    sub text { open my $in, "<", $_[0] or die "$_[0]: $!\n"; local $/; <$in> }
    for my $path (@ARGV) {
      my ($name) = $path =~ m{([^/]+)$};
      my $code = text($path) =~ s{/\*.*?\*/}{}gsr;
      $header{$1} = $name while $code =~ /\bUSP_API [^;{(]*\b(usp_\w+) *\(/g;
    }
    for (grep { /^(#|- )/ } split /^(?=#|- )/m, text($list)) {
      ($under) = /`(\w+\.h)`/ if /^#/ || /`\w+\.h`/;
      next if /^# /;
      while (/`(usp_\w+)`/g) {
        print "$1: there is no such public function\n" if !$header{$1};
        print "$1: is declared in $header{$1}, not in ", $under // "a header that the heading names", "\n"
          if $header{$1} && $header{$1} ne ($under // "");
        print "$1: is listed twice\n" if $seen{$1}++;
      }
    }
    print map { "$_ is missing\n" } grep { !$seen{$_} } sort keys %header;
  ' "$1" "$top"/include/unspool/*.h
}
while read -r line; do fail "doc/functions.md: $line"; done < <(listed "$top/doc/functions.md" || echo "it cannot be read")
sed -e 's/usp_clock/usp_cloc/' -e 's/usp_registers_pc/usp_unwind/' -e 's/usp_raw_write/usp_demangle/' \
  "$top/doc/functions.md" >"$work/functions.md"
listed "$work/functions.md" >"$work/said"
for part in 'usp_cloc: there is no such' 'usp_registers_pc is missing' 'usp_demangle: is listed twice' \
  'usp_demangle: is declared in demangle.h, not in raw.h'; do
  grep -qF -- "$part" "$work/said" || fail "doc/functions.md: not reported: $part"
done

# ---- the HTML page ----

# write_html FILE: writes the page, with one more file.
write_html() { perl "$top/doc/html.pl" 0.0.0 "$top"/doc/man/*.[1-9] "$pages"/*.3 "$top"/doc/*.md "$1"; }
write_html "$pages/safety-table.md" >"$work/unspool.html"
grep -oE '<[a-z0-9]+ id="[^"]*"' "$work/unspool.html" | cut -d'"' -f2 | sort >"$work/anchors"
uniq -d "$work/anchors" | while read -r id; do echo "two places have the anchor $id"; done >"$work/twice"
[[ ! -s $work/twice ]] || fail "$(cat "$work/twice")"
grep -oE 'href="[^"]*"' "$work/unspool.html" | cut -d'"' -f2 | sort -u >"$work/links"
while read -r link; do fail "unspool.html: the link #$link leads nowhere"; done < <(sed -n 's/^#//p' "$work/links" |
  sort | comm -23 - <(sort -u "$work/anchors"))
while read -r link; do fail "unspool.html: a link to a file: $link"; done < <(grep -vE '^(#|https://)' "$work/links")
[[ $(wc -l <"$work/links") -gt 200 ]] || fail "unspool.html has too few links"
while read -r name; do fail "unspool.html has no anchor for $name"; done < <(comm -23 "$work/public" "$work/anchors")
for file in "$top"/doc/man/*.[1-9] "$top"/doc/*.md; do
  grep -qxF -- "#$(basename "$file")" "$work/links" || fail "unspool.html: the contents list lacks $(basename "$file")"
done

# ---- what is refused ----

# refused WORDS FUNCTION: the last command must have failed with a message that has these words.
refused() { if "${@:2}" >/dev/null 2>"$work/said" || ! grep -qF -- "$1" "$work/said"; then fail "not refused: $1: $(cat "$work/said")"; fi; }
# header TEXT: writes a header with a declaration.
header() { printf '/* SPDX */\n/* A header. */\nUSP_BEGIN_DECLS\n\n%s\n\nUSP_END_DECLS\n' "$1" >"$work/made.h"; }
mkdir "$work/made"
header 'USP_API int usp_made(int n);'
refused 'usp_made has no contract' write_pages "$work/made" "$work/made.h"
header "$(printf '/* Makes. Thread-safe. */\nUSP_API int usp_made(int n);')"
refused 'does not say whether it is async-signal-safe' write_pages "$work/made" "$work/made.h"
header "$(printf '/* Makes. Not async-signal-safe. */\nUSP_API int usp_made(int n);')"
write_pages "$work/made" "$work/made.h" || fail "a right header is refused"
printf '# Made\n\nSee [there](nowhere.md).\n' >"$work/made.md"
refused 'there is no nowhere.md' write_html "$work/made.md"
verdict
