#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes README's picture, demo.svg: a flame graph of a run of the demo. The programs are those that tools/quickstart
# builds, unless others are named.
# Usage: doc/pictures/make.sh [DEMO UNSPOOL]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
demo=${1:-$top/build/demo/tools/demo}
unspool=${2:-$top/build/check/tools/unspool}

"$demo" >/dev/null &
trap 'kill $! 2>/dev/null || :' EXIT
# The demo hangs after it has loaded its view.
sleep 0.5
"$unspool" record --wall --duration 1 -o "$top/doc/pictures/demo.svg" "$!"
