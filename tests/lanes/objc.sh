# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: gcc with every warning an error, including tests and benchmarks; the Objective-C layer with GNUstep; a hang monitor in GLib's main loop; the layer compiled for every Apple slice with and without ARC
need_build clang-19 gobjc libglib2.0-dev libgnustep-base-dev pkg-config
configure_in objc --disable-static --enable-werror --enable-objc CFLAGS=-O2
# Xcode's Debug builds define DEBUG, so no name of the library may be the same.
make_in objc all CPPFLAGS=-DDEBUG=1
make_in objc test-programs benchmarks
programs='tests/objc/test_objc_crashes tests/objc/test_objc_hangs tests/objc/test_objc_stacks tests/objc/test_objc_threads tests/objc/test_thread_slots'
make_in objc check VERBOSE=1 check_LTLIBRARIES= check_PROGRAMS="$programs" TESTS="$programs tests/monitor/glib.sh tests/source/check-exports.sh"
"$top/tests/apple/objc.sh"
