#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the command with made shared caches: each known fault of readers of shared caches is a test (traps.py).
# Arguments choose tests by a part of their names.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/shared_cache/dylibs.sh
. "$top/tests/shared_cache/dylibs.sh"
need_tools clang-19 ld64.lld-19 python3
export PYTHONDONTWRITEBYTECODE=1
for arch in arm64 arm64_32 x86_64; do make_dylibs "$arch" "$work/$arch"; done
python3 "$shared_cache/traps.py" "$unspool" "$work" "$@" || fail "tests failed"
verdict
