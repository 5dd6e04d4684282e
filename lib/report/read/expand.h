/* SPDX-License-Identifier: MIT */
/* Backtraces that Swift's Runtime module has encoded, {"architecture": …, "backtrace": base64, "imageMap": base64}, as frames and
 * images that the reader of Swift's crash logs understands (json_reporters.c). */
#ifndef USPI_EXPAND_H
#define USPI_EXPAND_H

#include "lib/base/gathered.h"

/* A text with what was added to it. */
struct uspi_expanded {
    struct uspi_gathered text; /* empty: there was nothing to expand */
    struct uspi_addition {
        size_t from, to; /* in `text` */
    } *additions;        /* ascending */
    size_t count, room;
};

/* Looks for such objects in a text of JSON documents, and adds to each, behind its members, "threads" and "images" as
 * swift-backtrace writes them. What is damaged, or has members of these names, is left as it is. `expanded` is empty, or of another
 * text, which is freed. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_expand_backtraces(struct uspi_span text, struct uspi_expanded *expanded);

void uspi_expanded_clear(struct uspi_expanded *expanded);

#endif
