# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: clang-format and the scripts that inspect the source: headers alone, includes, SPDX lines, shellcheck, man pages
need_build g++=g++ clang-19 clang-format-19 shellcheck git man-db groff
configure_in check
export USP_TEST_SCALE=1 # check-shell.sh examines all scripts
# shellcheck disable=SC2046 # words on purpose
check_rest check $(make -s -C "$top/build/check" print-source-scripts)
