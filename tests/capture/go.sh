#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests captures beside Go's preemption by SIGURG: a Go program that loads the library, and a C program that loads a
# library written in Go, before and after it prepares captures. Runs in a folder of a build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools go "${CC:-gcc}"
make_work
built=$PWD/lib/.libs
[[ -e $built/libunspool.so ]] || skip "no shared library was built"
cp "$top"/tests/capture/go/{capture.h,capture.c,work.go} "$work"
export GO111MODULE=off GOCACHE=$work/cache GOPATH=$work/path CGO_ENABLED=1
export CGO_CFLAGS="-I$top/include -O1 -g" CGO_LDFLAGS="-L$built -lunspool -Wl,-rpath,$built -pthread"

run() {
  echo "-- $1"
  shift
  timeout 300 "$@" || fail "exit status $?"
}

(cd "$work" && go build -o program . && go build -buildmode=c-shared -o go.so .)
"${CC:-gcc}" -I"$top/include" -o "$work/host" "$top/tests/capture/go/host.c" -L"$built" -lunspool -Wl,-rpath,"$built" -ldl
run 'a Go program' "$work/program"
run 'a library in Go, loaded before captures are prepared' "$work/host" after "$work/go.so"
run 'a library in Go, loaded afterwards' "$work/host" before "$work/go.so"
verdict
