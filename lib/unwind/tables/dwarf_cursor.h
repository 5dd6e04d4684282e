/* SPDX-License-Identifier: MIT */
/* Reads a part of a call frame information section field by field: entries' headers and instructions. The first
 * failure is kept, and later reads give 0. dwarf_entry.c and dwarf_row.c interpret the fields. */
#ifndef USPI_UNWIND_TABLES_DWARF_CURSOR_H
#define USPI_UNWIND_TABLES_DWARF_CURSOR_H

#include "lib/unwind/tables/dwarf_section.h"

struct uspi_dwarf_cursor {
    struct uspi_dwarf_section within; /* the section, cut at the part's end */
    uint64_t at;                      /* offset in the section */
    int status;                       /* USP_OK, or the first failure */
};

static inline struct uspi_dwarf_cursor uspi_dwarf_cursor(const struct uspi_dwarf_section *section, uint64_t at,
                                                         uint64_t end) {
    struct uspi_dwarf_cursor c = {.within = *section, .at = at};
    c.within.bytes.size = end;
    return c;
}

static inline void uspi_dwarf_fail(struct uspi_dwarf_cursor *c, int status) {
    if (c->status == USP_OK) c->status = status;
}

static inline uint64_t uspi_dwarf_take(struct uspi_dwarf_cursor *c, unsigned width) {
    uint64_t value = 0;
    if (c->status == USP_OK) c->status = uspi_bytes_load(c->within.bytes, c->at, width, &value, "field", NULL);
    if (c->status != USP_OK) return 0;
    c->at += width;
    return value;
}

static inline uint64_t uspi_dwarf_take_uleb(struct uspi_dwarf_cursor *c) {
    uint64_t value = 0;
    if (c->status == USP_OK) c->status = uspi_bytes_uleb(c->within.bytes, &c->at, &value, "field", NULL);
    return c->status == USP_OK ? value : 0;
}

static inline int64_t uspi_dwarf_take_sleb(struct uspi_dwarf_cursor *c) {
    int64_t value = 0;
    if (c->status == USP_OK) c->status = uspi_bytes_sleb(c->within.bytes, &c->at, &value, "field", NULL);
    return c->status == USP_OK ? value : 0;
}

/* `function` as for uspi_dwarf_pointer. */
static inline usp_addr uspi_dwarf_take_pointer(struct uspi_dwarf_cursor *c, uint8_t encoding, usp_addr function) {
    usp_addr value = 0;
    if (c->status == USP_OK) c->status = uspi_dwarf_pointer(&c->within, &c->at, encoding, function, &value);
    return c->status == USP_OK ? value : 0;
}

#endif
