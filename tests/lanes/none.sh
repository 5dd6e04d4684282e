# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: without an operating system (--with-os=none): stacks from bytes work, live capture answers "unsupported"
need_build
# Code that nothing has optimized: what it computes is the same.
build_and_check none --with-os=none --enable-werror "CFLAGS=-O0 -g"
