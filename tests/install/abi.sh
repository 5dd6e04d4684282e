#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares the functions and public types of a built shared library with tests/install/unspool.abi, by libabigail. Before
# 1.0.0 it reports differences, from then on it fails.
#   tests/install/abi.sh BUILD            BUILD: a build folder with the shared library and debug information (-g)
#   tests/install/abi.sh --update BUILD   writes tests/install/unspool.abi again
# The file is of x86_64, because sizes and offsets differ between processors; on another one nothing is compared.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools abidw abidiff
update=
[[ ${1-} != --update ]] || { update=yes && shift; }
folder=$(cd "${1:?usage: abi.sh [--update] BUILD}" && pwd)
make_work
shared=$folder/lib/.libs/libunspool.so
baseline=$top/tests/install/unspool.abi
[[ -f $shared ]] || fail "$folder has no shared library"
if [[ $(uname -m) != x86_64 ]]; then
  echo "not compared: the committed functions and types are those of x86_64"
  exit
fi

# Types of the public headers alone: others are named uspi_.
printf '[suppress_type]\nname_regexp = ^uspi_\ndrop = yes\n' >"$work/internal"
# describe LIBRARY: prints the functions and types of a library, without paths.
describe() {
  abidw --headers-dir "$top/include/unspool" --drop-private-types --exported-interfaces-only --suppressions "$work/internal" \
    --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-write-default-sizes --no-parameter-names --type-id-style hash "$1" |
    sed -E "s, path='(\.\./)*, path=',; s/^ +//"
}
describe "$shared" >"$work/now"
if [[ -n $update ]]; then
  cp "$work/now" "$baseline"
  echo "written: ${baseline#"$top/"}, $(wc -c <"$baseline") bytes"
  exit
fi

# compare OLD NEW: prints what differs. The status is 0 if nothing does, and 1 if something does.
compare() {
  local status=0
  abidiff --no-show-locs "$1" "$2" >"$work/diff" 2>&1 || status=$?
  # abidiff does not report a file that it cannot read as a difference.
  ! grep -q 'parser error' "$work/diff" || fail "abidiff: $(head -n 3 "$work/diff")"
  ((status == 0)) && return
  # abidiff's statuses: 4, and 8 with it, if something differs; 1 and 2 are errors.
  (((status & 3) == 0)) || { cat "$work/diff" && fail "abidiff failed with status $status"; }
  return 1
}
# The comparison must notice a function that is gone.
sed 's/usp_capture_thread\b/usp_capture_nothing/g' "$work/now" >"$work/without"
if compare "$work/now" "$work/without"; then fail "a missing function is not noticed"; fi
grep -q "usp_capture_thread" "$work/diff" || fail "a missing function is not named: $(cat "$work/diff")"

major=$(sed -n 's/^#define USP_VERSION_MAJOR //p' "$top/include/unspool/base.h")
if compare "$baseline" "$work/now"; then
  echo "functions and types are as in ${baseline#"$top/"}"
else
  cat "$work/diff"
  [[ $major -eq 0 ]] || fail "functions or types have changed (tests/install/abi.sh --update when that is right)"
  echo "functions or types have changed; before 1.0.0 this is only reported"
fi
verdict
