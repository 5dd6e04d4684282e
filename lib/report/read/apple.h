/* SPDX-License-Identifier: MIT */
/* What Apple's reports have in common: lines of Binary Images, the fields of their headers; the order of MetricKit's frames. */
#ifndef USPI_APPLE_H
#define USPI_APPLE_H

#include "lib/report/read/read.h"

bool uspi_apple_image(struct uspi_span line, struct uspi_read_image *image);

/* "Process:  App [1234]" and its like. */
bool uspi_apple_field(struct uspi_span line, struct uspi_heading *heading);

/* Of a list of MetricKit's root frames: whether they are the innermost ones, which what stands below them has called. Crashes
 * have them so, trees of samples in either order: offsets of calls count from one byte less than the others, and a thread's
 * outermost frame is dyld's or libpthread's. *is_chain: each frame has no more than one below it. */
bool uspi_metrickit_order(const struct uspi_json_document *document, size_t list, bool *is_chain);

#endif
