# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: profiles read by the tools for their formats: go tool pprof, the schemas of speedscope and Firefox Profiler, a browser; perf's recordings against perf script; reports' pages
need_build linux-perf=perf golang-go=go chromium=chromium fonts-dejavu-core python3 python3-jsonschema binutils
configure_in check
make_in check all
make_in check tests/profile/profile_writer tests/tool/stuck
# shellcheck disable=SC2046 # words on purpose
check_rest check $(cd "$top" && echo tests/profile/*.sh tests/tool/report_page.sh)
