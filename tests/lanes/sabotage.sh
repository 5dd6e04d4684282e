# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: puts old faults back into a copy of the source, one at a time: a test of make check must find each (tests/sabotage; not in CI)
need_build g++=g++ libunicorn-dev git perl
"$top/tests/sabotage/run.sh" --all
