/* SPDX-License-Identifier: MIT */
/* The lists of all shapes, in the order in which they are tried: the commonest first, and each before other shapes that
 * would accept its lines. */
#include "lib/report/read/shapes.h"

const struct uspi_line_shape *const uspi_line_shapes[] = {
    &uspi_markup_lines,      &uspi_swift_lines,       &uspi_panic_lines,
    &uspi_lldb_lines,        &uspi_apple_lines,       &uspi_apple_unknown_lines,
    &uspi_apple_named_lines, &uspi_crashlytics_lines, &uspi_dart_lines,
    &uspi_sanitizer_lines,   &uspi_coredumpctl_lines, &uspi_gdb_lines,
    &uspi_eu_stack_lines,    &uspi_android_lines,     &uspi_glibc_lines,
    &uspi_kernel_faults,     &uspi_sample_lines,      &uspi_sample_top_lines,
    &uspi_spindump_lines,    &uspi_spindump_unknown,  &uspi_java_lines,
    &uspi_java_code,         &uspi_crashlytics_named, &uspi_portable_lines,
    &uspi_portable_named,    &uspi_minidump_lines,    &uspi_glog_lines,
    &uspi_dotnet_lines,      &uspi_mono_lines,        &uspi_sanitizer_summary,
    &uspi_address_list,      &uspi_rust_lines,        &uspi_go_lines,
    &uspi_go_frames,         &uspi_kernel_stacks,     &uspi_perf_lines,
    &uspi_plain_lines,       &uspi_dotnet_named,      &uspi_gdb_maps_lines,
    &uspi_maps_lines,        &uspi_panic_extensions,  NULL,
};

#define ADDRESS_OF(name) &uspi_##name##_json,
const struct uspi_json_shape *const uspi_json_shapes[] = {USPI_JSON_SHAPES(ADDRESS_OF) NULL};
