# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: instructions of some real programs of Debian, for four processors: the lane real, briefly, with floors for each program
. "$top/tests/lanes/real.sh"
