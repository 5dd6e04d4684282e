#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes a dyld shared cache of 5 GB, mostly holes, and measures the first name of a new process, names of random
# addresses, and indexes of all images, with their memory (shared_cache.py). Compares with llvm-nm-19. Run in the build
# folder; `make bench-shared-cache` does. Needs 1.5 GB of disk; USP_BENCH_IMAGES=N makes a smaller cache.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools python3 llvm-nm-19
make_work
unspool=$PWD/tools/unspool
if [[ -x tools/.libs/unspool ]]; then
  unspool=$PWD/tools/.libs/unspool
  export LD_LIBRARY_PATH=$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$top/tests/bench/shared_cache.py" "$work" "$unspool" llvm-nm-19 "${USP_BENCH_IMAGES:-2500}"
