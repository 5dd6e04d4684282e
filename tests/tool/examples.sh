#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that the examples of doc/reports.md are what the command writes, and that each format of lib/report/read/ has
# one. examples.py makes the files that they are about.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
# Every shape that finds frames has a name; several shapes may belong to one format.
mapfile -t formats < <(cat "$top"/lib/report/read/*.c |
  perl -0ne 'while (/_(?:json_shape|line_shape) uspi_\w+ = \{(.*?)\n\};/sg) { my $s = $1; print "$1\n" if $s =~ /\.frame\b\s*=/ && $s =~ /\.name = "([^"]+)"/ }' |
  sort -u)
# A format that is not made of shapes has its name in its header.
mapfile -t -O ${#formats[@]} formats < <(sed -nE 's/^#define USPI_[A-Z]+_FORMAT "(.*)"/\1/p' "$top"/lib/report/read/*.h)
[[ ${#formats[@]} -gt 20 ]] || fail "only ${#formats[@]} formats"
python3 "$top/tests/tool/examples.py" "$unspool" "$top/doc/reports.md" "$work" "${formats[@]}" || fail "examples.py"
verdict
