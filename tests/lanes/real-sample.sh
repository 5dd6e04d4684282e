# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: instructions of some real Debian programs, for four processors: a short run of the lane real, with a minimum for each program
. "$top/tests/lanes/real.sh"
