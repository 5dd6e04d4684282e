# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: ThreadSanitizer (clang-19) over the suites that symbolicate, cache unwind rules or walk stacks from many threads while libraries are loaded and unloaded, and over the sampler and the monitor
need_build clang-19 libclang-rt-19-dev llvm-19
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 die_after_fork=0 external_symbolizer_path=/usr/bin/llvm-symbolizer-19 suppressions=$top/tests/lanes/tsan.supp"
export CK_TIMEOUT_MULTIPLIER=10
# ThreadSanitizer does not know threads of thrd_create: they crash in the code that it inserts into every function.
configure_in tsan --disable-static CC=clang-19 "CFLAGS=-O1 -g -fsanitize=thread -D__STDC_NO_THREADS__"
suites=(tests/profile/test_profile tests/sampler/test_linux_sampler tests/monitor/test_linux_monitor tests/unwind/test_rule_cache tests/capture/test_linux_walks tests/unwind/test_linux_rules tests/symbolize/test_excerpt tests/symbolize/test_symbolize_cache tests/symbolize/test_symbolize_loaded tests/symbolize/test_objc_runtime)
make_in tsan "${suites[@]}" tests/monitor/hang_plugin.la tests/symbolize/names_fixture.la tests/symbolize/names_fixture_2.la tests/unwind/linux_frame_plugin_a.la tests/unwind/linux_frame_plugin_b.la \
  tests/symbolize/objc_scripted_apple.la tests/symbolize/objc_scripted_gnu.la
# Runs the suites without make check, which would build all the others. Two suites run only some cases: where system
# calls fail, the table of calls changes while other threads use it, and ThreadSanitizer's own functions hide what is on
# stacks.
declare -A cases=([tests/sampler/test_linux_sampler]=all [tests/monitor/test_linux_monitor]=races)
for suite in "${suites[@]}"; do
  (cd "$top/build/tsan" && if [[ -n ${cases[$suite]:-} ]]; then export CK_RUN_CASE=${cases[$suite]}; fi && "./$suite")
done
