/* SPDX-License-Identifier: MIT */
/* The images in a text: one table for each list (Binary Images, mappings), in the order of the text. A log of several
 * launches has several, with the same images at different addresses. */
#ifndef USPI_REPORT_READ_TABLES_H
#define USPI_REPORT_READ_TABLES_H

#include "lib/report/read/read.h"

struct uspi_image_entry {
    uint64_t first, last; /* addresses, inclusive; both 0: not known */
    /* As frames refer to it; the path; the path's last component. Each may be empty. */
    struct uspi_span ident, path, name;
    uint32_t arch;        /* enum usp_arch; 0 unknown */
    uint32_t variant;     /* enum usp_variant */
    uint32_t base;        /* enum usp_place_base: what offsets in it count from */
    uint64_t base_offset; /* the offset at `first` */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;     /* 0: not known */
    uint64_t module;    /* number of its module, if it is a part of one */
    uint32_t module_is; /* enum uspi_module_is */
    bool counts_from_0; /* offsets in it are addresses */
};

struct uspi_table;

struct uspi_text_tables {
    struct uspi_table *tables;
    size_t count, capacity;
    bool is_open; /* the last table is still being filled */
};

/* Frees the contents. All zero is an empty set. */
void uspi_log_tables_clear(struct uspi_text_tables *tables);

/* Adds an image to the open table, or begins a table. `position` is the image's position in the text, in bytes. The
 * strings are copied. Returns false when memory is exhausted. */
bool uspi_log_tables_add(struct uspi_text_tables *tables, uint64_t position, const struct uspi_read_image *image);

/* Ends the open table, if there is one. */
static inline void uspi_log_tables_end(struct uspi_text_tables *tables) { tables->is_open = false; }

/* Makes added images findable. Only ended and settled tables are searched. Without `all`, a few images that were added
 * to a long list may have to wait for more, so that a list that is used while it grows is not sorted each time.
 * Returns false when memory is exhausted. */
bool uspi_log_tables_settle(struct uspi_text_tables *tables, bool all);

/* Return the number of ended tables, the position in the text at which table i begins, in bytes, and whether frames
 * are between its lines. */
size_t uspi_log_tables_count(const struct uspi_text_tables *tables);
uint64_t uspi_log_tables_position(const struct uspi_text_tables *tables, size_t i);
bool uspi_log_tables_is_scattered(const struct uspi_text_tables *tables, size_t i);

/* Return the n-th image of table i in the order of addition, NULL past the last, and the number of images. */
const struct uspi_image_entry *uspi_log_tables_image(const struct uspi_text_tables *tables, size_t i, uint64_t n);
size_t uspi_log_tables_image_count(const struct uspi_text_tables *tables, size_t i);

/* Returns the image of table i that contains a frame's address, or NULL. Its name or its load address must match the
 * frame's; with `strict` both. */
const struct uspi_image_entry *uspi_log_tables_find(const struct uspi_text_tables *tables, size_t i,
                                                    const struct uspi_frame *frame, bool strict);

/* Returns the image of table i with that file name, or NULL. */
const struct uspi_image_entry *uspi_log_tables_find_name(const struct uspi_text_tables *tables, size_t i,
                                                         struct uspi_span name);

#endif
