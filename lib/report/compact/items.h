/* SPDX-License-Identifier: MIT */
/* The frames of a compact backtrace, one after the other. For usp_compact_stack_read, and for reports that carry one. */
#ifndef USPI_COMPACT_ITEMS_H
#define USPI_COMPACT_ITEMS_H

#include "lib/report/compact/bytes.h"

enum uspi_compact_kind {
    USPI_COMPACT_NONE,
    USPI_COMPACT_PC,     /* the address of an instruction */
    USPI_COMPACT_RETURN, /* where a call returns to */
    USPI_COMPACT_ASYNC,  /* where an async function continues */
    USPI_COMPACT_GAP,    /* `value` frames were left out */
    USPI_COMPACT_END,    /* the outermost frame was the last one */
    USPI_COMPACT_CUT     /* more frames were left out; their number is not known */
};

struct uspi_compact_item {
    enum uspi_compact_kind kind;
    uint64_t value; /* an address, or how many frames were left out */
    uint64_t times; /* how often the item stands there, at least 1: a run of equal frames is one item */
};

/* All fields belong to the functions below. */
struct uspi_compact_items {
    struct uspi_compact_in in;
    uint64_t last; /* address */
    struct uspi_compact_item item;
    bool has_ended;
};

/* Returns as uspi_compact_begin. The bytes must stay. */
int uspi_compact_items_begin(struct uspi_compact_items *items, const uint8_t *bytes, size_t n);

/* The next item. USPI_COMPACT_NONE: the bytes end, without telling whether the last frame was the outermost one: Swift 6.3 writes
 * its backtraces so. Nothing follows NONE, END and CUT. USP_OK, USP_ERROR_FORMAT, USP_ERROR_TRUNCATED. */
int uspi_compact_items_next(struct uspi_compact_items *items, struct uspi_compact_item *item);

#endif
