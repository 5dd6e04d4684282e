/* SPDX-License-Identifier: MIT */
/* Expands backtraces that Swift's Runtime module has encoded, {"architecture": …, "backtrace": base64, "imageMap":
 * base64}, to frames and images as in Swift's crash logs (json_reporters.c). */
#ifndef USPI_REPORT_READ_EXPAND_H
#define USPI_REPORT_READ_EXPAND_H

#include "lib/base/gathered.h"

/* A text with additions. */
struct uspi_expanded {
    struct uspi_gathered text; /* empty: nothing was expanded */
    struct uspi_addition {
        size_t from, to; /* range in `text` */
    } *additions;        /* ascending */
    size_t count, capacity;
};

/* Finds such objects in a text of JSON documents, and appends members "threads" and "images" to each, in the format of
 * swift-backtrace. Damaged objects, and objects that already have such members, are left unchanged. `expanded` is
 * empty or has another text, which is freed. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_expand_backtraces(struct uspi_span text, struct uspi_expanded *expanded);

void uspi_expanded_clear(struct uspi_expanded *expanded);

#endif
