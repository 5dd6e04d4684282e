# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: profiles and crash reports read by the tools for their formats: go tool pprof, the schemas of speedscope and Firefox Profiler, a browser; pycrashreport; Sentry's events by the normalizer of its servers; perf's recordings against perf script; pprof and OTLP with names by go tool pprof and opentelemetry-proto; reports' pages
need_build linux-perf=perf golang-go=go chromium=chromium fonts-dejavu-core python3 python3-venv python3-jsonschema binutils lld=ld.lld mold=mold
USP_OTLP_PYTHON=$(python_tools profiles 'opentelemetry-proto>=1.40')/bin/python
export USP_OTLP_PYTHON
configure_in check
make_in check all
make_in check tests/profile/profile_writer tests/tool/stuck tests/crash/crasher
# shellcheck disable=SC2046 # words on purpose
check_rest check $(cd "$top" && echo tests/profile/*.sh tests/tool/report_page.sh)
# The lane check runs these without pycrashreport and sentry-relay.
python=$(python_tools crash pycrashreport)/bin/python
(cd "$top/build/check" && USP_CRASH_PYTHON=$python "$top/tests/crash/ips.sh") | tee "$top/build/ips.log"
grep -c '^pycrashreport reads ' "$top/build/ips.log" >/dev/null
python=$(python_tools sentry sentry-relay==0.10.1)/bin/python
(cd "$top/build/check" && USP_SENTRY_PYTHON=$python "$top/tests/crash/sentry.sh") | tee "$top/build/sentry.log"
grep -c '^sentry-relay accepts ' "$top/build/sentry.log" >/dev/null
