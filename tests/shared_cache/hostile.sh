#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the command with made shared caches: damaged caches (hostile.py). Arguments choose tests by a part of their
# names. A sample tries a part of the values of each damaged field.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/shared_cache/dylibs.sh
. "$top/tests/shared_cache/dylibs.sh"
note_sample
need_tools clang-19 ld64.lld-19 python3
export PYTHONDONTWRITEBYTECODE=1
for arch in arm64 arm64_32 x86_64; do make_dylibs "$arch" "$work/$arch"; done
python3 "$shared_cache/hostile.py" "$unspool" "$work" "$@" || fail "tests failed"
verdict
