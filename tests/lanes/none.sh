# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: without an operating system (--with-os=none): stacks from bytes work, live capture answers "unsupported"
need_build
# Unoptimized code must compute the same.
build_and_check none --with-os=none --enable-werror CFLAGS=-O0
