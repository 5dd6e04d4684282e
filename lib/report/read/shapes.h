/* SPDX-License-Identifier: MIT */
/* All shapes. Each shape's file describes it. */
#ifndef USPI_REPORT_READ_SHAPES_H
#define USPI_REPORT_READ_SHAPES_H

#include "lib/report/read/read.h"

extern const struct uspi_line_shape uspi_address_list, uspi_android_lines, uspi_apple_lines, uspi_apple_named_lines,
    uspi_apple_unknown_lines, uspi_coredumpctl_lines, uspi_crashlytics_lines, uspi_crashlytics_named, uspi_dart_lines,
    uspi_dotnet_lines, uspi_dotnet_named, uspi_eu_stack_lines, uspi_gdb_lines, uspi_gdb_maps_lines, uspi_glibc_lines,
    uspi_glog_lines, uspi_go_frames, uspi_go_lines, uspi_java_code, uspi_java_lines, uspi_kernel_faults,
    uspi_kernel_stacks, uspi_lldb_lines, uspi_maps_lines, uspi_markup_lines, uspi_minidump_lines, uspi_mono_lines,
    uspi_panic_extensions, uspi_panic_lines, uspi_perf_lines, uspi_plain_lines, uspi_portable_lines,
    uspi_portable_named, uspi_rust_lines, uspi_sample_lines, uspi_sample_top_lines, uspi_sanitizer_lines,
    uspi_sanitizer_summary, uspi_spindump_lines, uspi_spindump_unknown, uspi_swift_lines, uspi_unity_lines;

/* The formats of JSON, in the order in which they are tried. This is the only list of them. */
#define USPI_JSON_SHAPES(X)                                                                                            \
    X(metrickit)                                                                                                       \
    X(ips)                                                                                                             \
    X(kscrash)                                                                                                         \
    X(sentry)                                                                                                          \
    X(sentry_script)                                                                                                   \
    X(swift)                                                                                                           \
    X(record)                                                                                                          \
    X(stackshot)                                                                                                       \
    X(bugsnag)                                                                                                         \
    X(datadog)                                                                                                         \
    X(minidump)                                                                                                        \
    X(log)

#define USPI_DECLARE_SHAPE(name) extern const struct uspi_json_shape uspi_##name##_json;
USPI_JSON_SHAPES(USPI_DECLARE_SHAPE)
#undef USPI_DECLARE_SHAPE

#endif
