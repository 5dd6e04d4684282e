# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the Python package: a source distribution and from it a wheel, its names and ABI (auditwheel, abi3audit), its tests
need_build python3 python3-dev python3-venv binutils gdb
configure_in check
make_in check all

# The tools are in a virtual environment in the cache, the wheel in one of its own, so that nothing but it is tested.
tools=$(python_tools python 'build cffi>=1.15 setuptools>=61 wheel ziglang auditwheel abi3audit')
processor=$(uname -m)
PYTHON=$tools/bin/python ZIG_GLOBAL_CACHE_DIR=$cache/zig "$top/bindings/python/wheels.sh" "$work/dist" "$processor"
wheel=$(echo "$work"/dist/unspool-*.whl)

# auditwheel names the oldest glibc that the wheel runs with.
"$tools/bin/auditwheel" show "$wheel" | tee "$work/audit"
oldest=$(grep -oE 'manylinux_2_[0-9]+' "$work/audit" | cut -d_ -f3 | sort -n | head -n 1)
[[ -n $oldest && $oldest -le 28 ]] || {
  echo "the wheel needs glibc 2.${oldest:-?}"
  exit 1
}
"$tools/bin/abi3audit" --strict --summary "$wheel"

python3 -m venv "$work/venv"
patiently "$work/pip.log" "$work/venv/bin/pip" install -q "${wheel}[test]"
cd "$work" || exit
UNSPOOL_COMMAND=$top/build/check/tools/unspool PYTHONDONTWRITEBYTECODE=1 \
  "$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$top/bindings/python/tests"
