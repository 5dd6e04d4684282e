# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For lanes that make wheels of the Python package.
# shellcheck disable=SC2154 # of tests/lanes/common.sh

# wheel_tools: installs what makes and checks wheels. Sets `tools` to its folder, and what wheels.sh needs.
wheel_tools() {
  tools=$(python_tools python 'build cffi>=1.15 setuptools>=61 wheel ziglang auditwheel abi3audit')
  export PYTHON=$tools/bin/python ZIG_GLOBAL_CACHE_DIR=$cache/zig
}

# audit WHEEL: checks the oldest glibc that the wheel runs with, and that it uses the stable ABI alone.
audit() {
  local oldest
  "$tools/bin/auditwheel" show "$1" | tee "$work/audit"
  oldest=$(grep -oE 'manylinux_2_[0-9]+' "$work/audit" | cut -d_ -f3 | sort -n | head -n 1)
  [[ -n $oldest && $oldest -le 28 ]] || {
    echo "the wheel needs glibc 2.${oldest:-?}"
    exit 1
  }
  "$tools/bin/abi3audit" --strict --summary "$1"
}
