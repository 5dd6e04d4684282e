# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: programs with Go's run-time, whose preemption by SIGURG and our captures share the signal
need_build golang-go=go
configure_in check
make_in check lib/libunspool.la
(cd build/check && CC=gcc "$top/tests/capture/go.sh")
