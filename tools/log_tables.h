/* SPDX-License-Identifier: MIT */
/* The images that a log tells: one table for each list of them (Binary Images, usedImages) that it has, in the log's order.
 * A log of several launches has several, with the same images at other places. */
#ifndef TOOL_LOG_TABLES_H
#define TOOL_LOG_TABLES_H

#include "tools/log_line.h"

struct log_image {
    uint64_t first, last;          /* addresses */
    struct span ident, path, name; /* as frames have it; the path, and its last part; each may be empty */
    uint32_t arch;                 /* enum usp_arch; 0 unknown */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size; /* 0: it has none */
};

/* Opaque. */
struct log_table;

struct log_tables {
    struct log_table *tables;
    size_t count, room;
    bool is_open; /* the last one is still being filled */
};

/* All zero is an empty one. Frees what it holds. */
void log_tables_free(struct log_tables *tables);

/* Adds an image to the open table, or begins one. `position` is the image's place in the log, in bytes. The strings are
 * copied. False when memory lacks. */
bool log_tables_add(struct log_tables *tables, uint64_t position, const struct log_image_line *line);

/* Ends the open table; nothing when none is open. Only a table that was ended is asked. False when memory lacks. */
bool log_tables_end(struct log_tables *tables);

/* The tables that were ended. */
size_t log_tables_count(const struct log_tables *tables);

/* Where table i begins in the log, in bytes. */
uint64_t log_tables_position(const struct log_tables *tables, size_t i);

/* The n-th image of table i in the order in which it came, NULL behind the last. */
const struct log_image *log_tables_image(const struct log_tables *tables, size_t i, uint64_t n);

/* The image of table i that a frame's address lies in, NULL when there is none. It must be called as the frame
 * says or be loaded where the frame says; with `strict` both. */
const struct log_image *log_tables_find(const struct log_tables *tables, size_t i, const struct log_frame *frame,
                                        bool strict);

/* The image of table i with that name, NULL when there is none. */
const struct log_image *log_tables_find_name(const struct log_tables *tables, size_t i, struct span name);

#endif
