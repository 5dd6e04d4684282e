# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the Python package's wheels for x86_64 and aarch64, imported by each interpreter that is found, by PyPy and in qemu (not in CI)
# shellcheck source=tests/support/wheels.sh
. "$top/tests/support/wheels.sh"
need_build python3 python3-dev python3-venv binutils qemu-user=qemu-aarch64 pypy3 pypy3-dev pypy3-venv
wheel_tools
"$top/bindings/python/wheels.sh" "$work/dist"
for wheel in "$work"/dist/*.whl; do audit "$wheel"; done

program='import sys, unspool
assert unspool.demangle("_RNvC5crate4main") == "crate::main"
assert unspool.symbolize(sys.argv[1], [0], load_address=0)[0]["image_path"] == sys.argv[1]
print(sys.implementation.name, sys.version.split()[0], unspool.__version__)'
cat >"$work/a.c" <<<'int main(void) { return 0; }'
gcc -o "$work/a" "$work/a.c"

# Debian's interpreters, and those of pyenv.
found=0
for python in /usr/bin/python3.[0-9]* "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/*/bin/python3; do
  [[ $python != *-config && -x $python ]] || continue
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || continue
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  patiently "$work/pip.log" "$work/venv/bin/pip" install -q "$(echo "$work"/dist/*_x86_64.whl)"
  (cd "$work" && venv/bin/python -c "$program" "$work/a")
  found=$((found + 1))
done
[[ $found -gt 0 ]]

# PyPy compiles the source distribution.
pypy3 -m venv "$work/pypy"
patiently "$work/pip.log" "$work/pypy/bin/pip" install -q "$(echo "$work"/dist/*.tar.gz)"
(cd "$work" && pypy/bin/python -c "$program" "$work/a")

# Debian's interpreter for aarch64.
unpack_for arm64 libc6 libgcc-s1 libexpat1 zlib1g libffi8 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib \
  python3-cffi-backend
root=$cache/arm64/root
mkdir "$work/arm64"
python3 -m zipfile -e "$(echo "$work"/dist/*_aarch64.whl)" "$work/arm64"
(cd "$work" && PYTHONPATH=$work/arm64:$root/usr/lib/python3/dist-packages qemu-aarch64 -L "$root" \
  "$root/usr/bin/python3.11" -c "$program" "$work/a")
