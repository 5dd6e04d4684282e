#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Symbolicates reports: a log of 400,000 frames, payloads of MetricKit, one report beside a store of 100,000 builds.
# reports.py has the rows, records.sh has records. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools gcc llvm-symbolizer-19 llvm-nm-19 python3
make_work
# Use the program itself, because Libtool's script around it takes a tenth of the time.
unspool=$PWD/tools/unspool
if [[ -x tools/.libs/unspool ]]; then
  unspool=$PWD/tools/.libs/unspool
  export LD_LIBRARY_PATH=$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
unset UNSPOOL_INDEX_STORE DEBUGINFOD_URLS
export XDG_CACHE_HOME=$work/cache
python3 -B "$top/tests/bench/reports.py" "$work" "$unspool"
