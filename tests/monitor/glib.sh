#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs doc/examples/glib.c with Debian's GLib: the example finds the hangs that it causes. Runs in the folder of the
# build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools pkg-config
pkg-config --exists glib-2.0 || skip "GLib is not installed"
[[ -e lib/.libs/libunspool.so ]] || skip "no shared library in $PWD/lib"
make_work

read -ra cc < <(sed -n 's/^CC = //p' Makefile)
read -ra glib < <(pkg-config --cflags --libs glib-2.0)
"${cc[@]}" -std=gnu11 -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror -I"$top/include" -o "$work/glib" \
  "$top/doc/examples/glib.c" -Llib/.libs -Wl,-rpath,"$PWD/lib/.libs" -lunspool "${glib[@]}"

status=0
timeout 120 "$work/glib" >"$work/out" 2>&1 || status=$?
cat "$work/out"
[[ $status -eq 0 ]] || fail "glib: exit status $status"
for line in '^Hang of [0-9.]+ ms: recovered$' '^[0-9]+ +glib +0x[0-9a-f]+ take_long \+ [0-9]+$' ' g_main_loop_run \+ [0-9]+$'; do
  [[ $(grep -cE -- "$line" "$work/out") -gt 0 ]] || fail "the report lacks: $line"
done
verdict
