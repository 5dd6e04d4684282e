/* SPDX-License-Identifier: MIT */
/* Functions that the readers of Apple's reports share: lines of Binary Images, header fields, the order of MetricKit's
 * frames. */
#ifndef USPI_REPORT_READ_APPLE_H
#define USPI_REPORT_READ_APPLE_H

#include "lib/report/read/read.h"

bool uspi_apple_image(struct uspi_span line, struct uspi_read_image *image);

/* Reads a header line such as "Process: App [1234]". */
bool uspi_apple_field(struct uspi_span line, struct uspi_heading *heading);

/* Returns whether the root frames of a MetricKit list are the innermost ones, so that each frame's children are its
 * callers. This is so in crashes; trees of samples have either order. It is recognized by the offsets, since those of
 * calls are one byte less than those of other frames, and by a thread's outermost frame, which is in dyld or
 * libpthread. *is_chain: each frame has at most one child. */
bool uspi_metrickit_order(const struct uspi_json_document *document, size_t list, bool *is_chain);

/* Whether frames below a member with that key are those of a crash; whether it is a list of root frames. */
bool uspi_metrickit_is_crash(struct uspi_span key);
bool uspi_metrickit_is_root_list(struct uspi_span key);

#endif
