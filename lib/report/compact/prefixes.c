/* SPDX-License-Identifier: MIT */
/* The fixed prefixes of paths in compact image maps. See prefixes.h. */
#include "lib/report/compact/prefixes.h"

const struct uspi_span uspi_fixed_prefixes[USPI_PREFIX_FIXED] = {
    USPI_SPAN_INIT("/lib"),
    USPI_SPAN_INIT("/usr/lib"),
    USPI_SPAN_INIT("/usr/local/lib"),
    USPI_SPAN_INIT("/opt/lib"),
    USPI_SPAN_INIT("/System/Library/Frameworks"),
    USPI_SPAN_INIT("/System/Library/PrivateFrameworks"),
    USPI_SPAN_INIT("/System/iOSSupport"),
    USPI_SPAN_INIT("/Library/Frameworks"),
    USPI_SPAN_INIT("/System/Applications"),
    USPI_SPAN_INIT("/Applications"),
    USPI_SPAN_INIT("C:\\Windows\\System32"),
    USPI_SPAN_INIT("C:\\Program Files"),
};
