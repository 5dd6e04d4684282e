#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the Python package's files: a source distribution and, from it, a wheel for each processor, for Linux with glibc
# 2.28 or later. ziglang of PyPI is the compiler, so any Linux makes wheels for both.
#
#   wheels.sh OUTPUT [x86_64|aarch64]...      (default: both)
#
# PYTHON names an interpreter that has build, cffi, setuptools, wheel and ziglang; without it they are installed in a
# virtual environment that is removed at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ $# -gt 0 ]] || {
  sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
mkdir -p "$1"
output=$(cd "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- x86_64 aarch64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z ${PYTHON-} ]]; then
  python3 -m venv "$work/venv"
  PYTHON=$work/venv/bin/python
  "$PYTHON" -m pip install -q build 'cffi>=1.15' 'setuptools>=61' wheel ziglang
fi

# run COMMAND...: shows the output only if the command fails.
run() {
  "$@" >"$work/log" 2>&1 || {
    cut -c 1-500 "$work/log" | grep -v "^[^ ]*python -m ziglang" | tail -n 40 >&2
    exit 1
  }
}

# Debian's pyconfig.h includes that of the processor, which only an interpreter for it brings. The stable ABI depends on
# the width of types alone, which is the same.
multiarch=$("$PYTHON" -c 'import sysconfig as s; print(s.get_config_var("MULTIARCH") or "", s.get_path("include"))')
read -r own include <<<"$multiarch"
headers() {
  local from=${include%/*}/$own/${include##*/} to=$work/include/$1-linux-gnu/${include##*/}
  [[ -f $from/pyconfig.h ]] || return 0
  mkdir -p "$to"
  cp "$from/pyconfig.h" "$to"
}

run "$PYTHON" -m build -n --sdist -o "$work/sdist" "$here"
archive=$(echo "$work"/sdist/*.tar.gz)
cp "$archive" "$output"
for processor; do
  rm -rf "$work/source"
  mkdir "$work/source"
  tar -xf "$archive" -C "$work/source" --strip-components 1
  headers "$processor"
  compiler="$PYTHON -m ziglang cc -target $processor-linux-gnu.2.28"
  run env CC="$compiler" LDSHARED="$compiler -shared -s" CFLAGS="-g0 -I$work/include" \
    _PYTHON_HOST_PLATFORM="linux-$processor" "$PYTHON" -m build -n --wheel -o "$work/made" "$work/source"
  run "$PYTHON" -m wheel tags --remove --platform-tag "manylinux_2_28_$processor" "$work"/made/*.whl
  mv "$work"/made/*.whl "$output"
done
