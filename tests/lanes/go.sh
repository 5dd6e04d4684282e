# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: Go's run-time, whose preemption uses the same signal SIGURG as captures; stripped Go programs, symbolicated by Go's function table; goroutines that no thread runs
need_build golang-go=go python3
configure_in check
make_in check lib/libunspool.la
make_in check tools/unspool tests/symbolize/lines_dump
(cd build/check && CC=gcc "$top/tests/capture/go.sh")
(cd build/check && "$top/tests/symbolize/go.sh")
(cd build/check && "$top/tests/snapshot/goroutines.sh")
