/* SPDX-License-Identifier: MIT */
/* A log of lines: which image a frame's line means, by what stands in the log around it, and the line with its name. */
#ifndef TOOL_LOG_TEXT_H
#define TOOL_LOG_TEXT_H

#include "tools/log_names.h"
#include "tools/log_tables.h"

struct log_text {
    struct log_names *names;
    const struct log_search *search;
    const struct log_tables *given;                     /* of --binary-images; NULL: none */
    struct log_tables tables;                           /* of the log itself */
    uint64_t collected;                                 /* up to here the log's tables are known */
    size_t next;                                        /* the first of them that begins behind the line */
    bool is_below_frame, is_below_trampoline, is_async; /* what stands above the line */
};

/* Learns what a line at a position (in bytes) tells of images. False when memory lacks. */
bool log_text_collect(struct log_text *text, uint64_t position, struct span line);

/* Says that the log was collected up to a position, and that it is written from its beginning now. False as above. */
bool log_text_rewind(struct log_text *text, uint64_t position);

/* Writes a whole line to standard output, with a name where it lacks one. Behind what was collected it is collected first.
 * Returns USP_OK or USP_ERROR_NO_MEMORY. */
int log_text_write(struct log_text *text, uint64_t position, struct span line);

void log_text_free(struct log_text *text);

#endif
