/* SPDX-License-Identifier: MIT */
/* The images that a text tells: one table for each list of them (Binary Images, mappings), in the order of the text. A log
 * of several launches has several, with the same images at other places. */
#ifndef USPI_TABLES_H
#define USPI_TABLES_H

#include "lib/report/read/read.h"

struct uspi_image_entry {
    uint64_t first, last;               /* addresses, inclusive; both 0: not known */
    struct uspi_span ident, path, name; /* as frames have it; the path, and its last part; each may be empty */
    uint32_t arch;                      /* enum usp_arch; 0 unknown */
    uint32_t variant;                   /* enum usp_variant */
    uint32_t base;                      /* enum usp_place_base: what offsets in it count from, */
    uint64_t base_offset;               /* and which of them `first` has */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;     /* 0: not known */
    uint64_t module;    /* its number, if it is a module's part */
    uint32_t module_is; /* enum uspi_module_is */
};

struct uspi_table;

struct uspi_tables {
    struct uspi_table *tables;
    size_t count, room;
    bool is_open; /* the last one is still being filled */
};

/* All zero is an empty one. Frees what it holds. */
void uspi_tables_clear(struct uspi_tables *tables);

/* Adds an image to the open table, or begins one. `position` is the image's place in the text, in bytes. The strings are
 * copied. False when memory lacks. */
bool uspi_tables_add(struct uspi_tables *tables, uint64_t position, const struct uspi_read_image *image);

/* Ends the open table; nothing when none is open. */
static inline void uspi_tables_end(struct uspi_tables *tables) { tables->is_open = false; }

/* Makes what was added findable. `all`: without it, little that was added to a long list may have to wait for more, so that
 * a list that is asked while it grows is not sorted each time. Only tables that were ended and settled are asked. False when
 * memory lacks. */
bool uspi_tables_settle(struct uspi_tables *tables, bool all);

/* How many tables were ended, where table i begins in the text, in bytes, and whether frames stand between its lines. */
size_t uspi_tables_count(const struct uspi_tables *tables);
uint64_t uspi_tables_position(const struct uspi_tables *tables, size_t i);
bool uspi_tables_is_scattered(const struct uspi_tables *tables, size_t i);

/* The n-th image of table i in the order in which it came, NULL behind the last; and how many it has. */
const struct uspi_image_entry *uspi_tables_image(const struct uspi_tables *tables, size_t i, uint64_t n);
size_t uspi_tables_image_count(const struct uspi_tables *tables, size_t i);

/* The image of table i that a frame's address lies in, NULL when there is none. It must be called as the frame says or be
 * loaded where the frame says; with `strict` both. */
const struct uspi_image_entry *uspi_tables_find(const struct uspi_tables *tables, size_t i,
                                                const struct uspi_frame *frame, bool strict);

/* The image of table i with that file name, NULL when there is none. */
const struct uspi_image_entry *uspi_tables_find_name(const struct uspi_tables *tables, size_t i, struct uspi_span name);

#endif
