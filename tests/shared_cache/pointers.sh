#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests pointers of made shared caches as the library reads them (pointers.py), for each version of slide info. Runs in
# the folder of the build, where tests/shared_cache/cache_words was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/shared_cache/dylibs.sh
. "$top/tests/shared_cache/dylibs.sh"
words=$PWD/tests/shared_cache/cache_words
[[ -x $words ]] || skip "tests/shared_cache/cache_words was not built"
need_tools clang-19 ld64.lld-19 python3
make_work
export PYTHONDONTWRITEBYTECODE=1
for arch in arm64 arm64_32 x86_64; do make_dylibs "$arch" "$work/$arch"; done
python3 "$shared_cache/pointers.py" "$(runnable "$words" "$work")" "$work" "$@" || fail "tests failed"
verdict
