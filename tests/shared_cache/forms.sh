#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the writer of shared caches: makes a cache of each form and compares it with the dylibs that are in it. The
# library is not used; tests/lanes/shared-cache.sh has other readers of the same caches.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/shared_cache/dylibs.sh
. "$top/tests/shared_cache/dylibs.sh"
need_tools clang-19 ld64.lld-19 llvm-nm-19 llvm-objdump-19 python3
make_work
export PYTHONDONTWRITEBYTECODE=1
for arch in arm64 arm64_32 x86_64; do make_dylibs "$arch" "$work/$arch"; done
python3 "$shared_cache/check_forms.py" "$work" arm64 arm64e arm64_32 x86_64 || fail "a cache differs from its dylibs"
verdict
