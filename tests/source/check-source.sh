#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks every file of the project: the licence line in sources, clean whitespace, no path of a machine, no notes to
# self. Each header's include guard follows from its path. Functions that take their own return address are not inlined.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
make_work
cd "$top"

licence='SPDX-License-Identifier: MIT'
# Written so that this file does not match itself.
# Tests may have home folders of users who do not exist.
machine='/wor[k]/|/far[m]/|(^|[[:space:]"=(:])/(home/(?!USER|anna|bo\b|")|roo[t]/)|/tm[p]/(prompt|wt-|bash_jobs)'
notes='\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b'

mapfile -t files < <(project_files)
[[ ${#files[@]} -gt 500 ]] || fail "the project's files are not found"
# One process for all files, because a few processes for each file would take half a minute.
perl - "$licence" "$machine" "$notes" "${files[@]}" >"$work/found" <<'END' || fail "perl"
use strict;
use warnings;
my ($licence, $machine, $notes) = splice @ARGV, 0, 3;
my $scripts = qr{^(\.clang-format|tools/build-apple|tools/release|tools/quickstart|tools/ci-lane|tests/apple/xcrun|\.ci/run)$};
for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my $text = do { local $/; <$in> } // '';
    my @lines = split /\n/, $text;
    # say_of WHAT, PATTERN: reports the first lines that match.
    my $say_of = sub {
        my ($what, $pattern) = @_;
        my @found = grep { $lines[$_] =~ $pattern } 0 .. $#lines;
        print "$file: $what, line ", $_ + 1, ": $lines[$_]\n" for splice @found, 0, 3;
    };
    if ($file =~ /\.(c|h|m|S|sh|py|ac|am|m4|inc|map|modulemap|swift|podspec)$/ or $file =~ $scripts) {
        print "$file: the first lines lack $licence\n" unless grep { defined and index($_, $licence) >= 0 } @lines[0 .. 2];
    }
    # A function that takes its own return address, or captures its own stack, must not be inlined, which link-time
    # optimization does to public ones: the stack would lack the program's function. The Objective-C layer is exempt,
    # because it finds its own frames by their addresses.
    if ($file =~ m{^lib/(?!objc/).*\.c$}) {
        my $taken = '__builtin_return_address|OWN_RECORD|usp_capture_self|usp_stack_create';
        while ($text =~ /^(\w[^\n;{}]*(?:\n[^\n;{}]+)*\)) \{\n(.*?)^\}/msg) {
            my ($head, $body) = ($1, $2);
            next if $body !~ /\b(?:$taken)\(/;
            my $is_apart = $head =~ s/USPI_APART|__attribute__\(\(noinline\)\)//;
            my ($name) = $head =~ /(\w+)\(/;
            if ($head =~ /USPI_TEMPLATE/) { $taken .= "|$name" }
            elsif (!$is_apart) { print "$file: $name takes its own return address or stack, and is not USPI_APART\n" }
        }
    }
    if ($file =~ /\.[chm]$/) {
        print "$file: the first line is not /* $licence */\n" unless @lines and $lines[0] eq "/* $licence */";
        $say_of->('tabs', qr/\t/);
    }
    # Skips binary files, and the output of other tools, which is kept unchanged.
    next if $text !~ /[^\n]/ or $text =~ /\0/ or $file eq 'COPYING';
    $say_of->("blanks at a line's end", qr/[ \t]+$/);
    $say_of->('carriage returns', qr/\r/);
    print "$file: no newline at the end\n" unless $text =~ /\n\z/;
    $say_of->('a path of a machine', qr/$machine/);
    $say_of->('a note to oneself', qr/$notes/);
}
END
while read -r line; do fail "$line"; done <"$work/found"

# An include guard is the header's path in capitals, below include/ or lib/; those of lib/ and arch/ begin with USPI_. So
# no two headers share one, which would make the second of them empty.
perl - "${files[@]}" >"$work/guards" <<'END' || fail "perl"
use strict;
use warnings;
my %owner;
for my $file (grep { /\.h$/ } @ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my $text = do { local $/; <$in> } // '';
    my $guard = $file;
    $guard =~ s{^include/}{} or $guard =~ s{^lib/}{USPI_} or $guard =~ s{^arch/}{USPI_ARCH_};
    $guard =~ s/[^A-Za-z0-9]+/_/g;
    $guard = uc $guard;
    print "$file: $owner{$guard} has the same include guard\n" if defined $owner{$guard};
    $owner{$guard} = $file;
    # Only comments and blank lines are before the guard, and nothing is after it.
    (my $code = $text) =~ s{/\*.*?\*/}{}gs;
    print "$file: its include guard is not $guard\n" if $code !~ /\A\s*#ifndef $guard\n#define $guard\n.*^#endif\s*\z/ms;
}
END
while read -r line; do fail "$line"; done <"$work/guards"

# A function with more than six parameters should take a struct.
perl - "${files[@]}" >"$work/parameters" <<'END' || fail "perl"
use strict;
use warnings;
for my $file (grep { m{^(arch|include|lib|tools)/.*\.[chm]$} } @ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my $text = do { local $/; <$in> } // '';
    $text =~ s{/\*.*?\*/}{}gs;
    while ($text =~ /^[A-Za-z_][\w *]*?\b(\w+)\(((?:[^()]|\([^()]*\))*)\)\s*[;{A-Z]/gm) {
        my ($name, $parameters) = ($1, $2);
        $parameters =~ s/\([^()]*\)//g;
        my $count = 1 + ($parameters =~ tr/,//);
        print "$file: $name has $count parameters\n" if $count > 6 and $parameters !~ /\.\.\./;
    }
}
END
while read -r line; do fail "$line"; done <"$work/parameters"

# Each type must be defined in one header only, so that a reader finds it.
printf '%s\n' "${files[@]}" | grep -E '^(arch|include|lib|tools)/.*\.h$' | xargs grep -hoE '^(struct|enum|union) [a-z_0-9]+ \{' |
  sort | uniq -d >"$work/types"
while read -r line; do fail "defined in two headers: ${line% \{}"; done <"$work/types"

# There is one list of lanes, and each lane in it must exist.
lanes=$(tools/ci-lane --list | awk '{ print $1 }')
for lane in $lanes; do [[ -f tests/lanes/$lane.sh ]] || fail "tools/ci-lane names $lane, which tests/lanes/ lacks"; done
for file in $(project_files | grep -E '^tests/lanes/.*\.sh$'); do
  name=$(basename "$file" .sh)
  [[ $name == common ]] || grep -qx "$name" <<<"$lanes" || fail "$file is in no list of lanes"
done
verdict
