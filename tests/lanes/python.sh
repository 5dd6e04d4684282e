# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the Python package: a source distribution and from it a wheel, its names and ABI (auditwheel, abi3audit), its tests
# shellcheck source=tests/support/wheels.sh
. "$top/tests/support/wheels.sh"
need_build python3 python3-dev python3-venv binutils gdb
configure_in check
make_in check all
wheel_tools
"$top/bindings/python/wheels.sh" "$work/dist" "$(uname -m)"
wheel=$(echo "$work"/dist/unspool-*.whl)
audit "$wheel"

# The wheel is in an environment of its own, so that nothing but it is tested.
python3 -m venv "$work/venv"
patiently "$work/pip.log" "$work/venv/bin/pip" install -q "${wheel}[test]"
cd "$work" || exit
UNSPOOL_COMMAND=$top/build/check/tools/unspool PYTHONDONTWRITEBYTECODE=1 \
  "$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$top/bindings/python/tests"
