#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that a program finds itself among its images, under its path, and names its functions, however it is linked:
# dynamically, statically, statically and position-independent, and started through the loader. Compiles with $CC, so
# that the lane musl tests musl too. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
libraries=("$PWD/lib/.libs/libunspool-core.a" "$PWD/arch/.libs/libunspool-arch.a")
[[ -f ${libraries[0]} ]] || skip "lib/libunspool-core.la was not built"
make_work
read -ra compiler <<<"${CC:-cc}"

# build NAME FLAG...: links the program as NAME.
build() {
  local name=$1
  shift
  # glibc warns that a static program needs its libraries for dlopen.
  "${compiler[@]}" -std=gnu11 -O1 -g -I"$top/include" "$@" -o "$work/$name" "$top/tests/images/linked.c" \
    "${libraries[@]}" -lpthread 2>"$work/warnings" || fail "$name: $(cat "$work/warnings")"
}

# run NAME COMMAND...: runs COMMAND with the program's path as the last argument.
run() {
  local name=$1
  shift
  "$@" "$work/$name" >"$work/out" || fail "$* $name: $(cat "$work/out")"
}

build dynamic -fPIE -pie
run dynamic "$work/dynamic"
# Started by another name than its own.
(cd "$work" && ln -s dynamic linked-to && run dynamic ./linked-to) || fail "linked-to"
loader=$(readelf -lW "$work/dynamic" | sed -n 's/.*interpreter: \(.*\)]$/\1/p')
# If musl's loader starts a program so, its images are not found: the list depends on the loader's own program headers.
[[ $loader == *musl* ]] || run dynamic "$loader" "$work/dynamic"
build fixed -fno-pie -no-pie
run fixed "$work/fixed"
build static -fno-pie -no-pie -static
run static "$work/static"
build static-pie -fPIE -static-pie
run static-pie "$work/static-pie"
# Symbolicated from outside, by the file's own symbols, of static programs too.
for name in dynamic static static-pie; do
  "$started_in/tools/unspool" symbols "$work/$name" | grep -c ' wait_here$' >/dev/null || fail "$name: no wait_here"
done
verdict
