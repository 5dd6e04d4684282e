/* SPDX-License-Identifier: MIT */
/* Reads the frames of a compact backtrace one after the other. Used by usp_compact_stack_read, and for reports that
 * contain such a backtrace. */
#ifndef USPI_REPORT_COMPACT_ITEMS_H
#define USPI_REPORT_COMPACT_ITEMS_H

#include "lib/report/compact/bytes.h"

enum uspi_compact_kind {
    USPI_COMPACT_NONE,
    USPI_COMPACT_PC,     /* the address of an instruction */
    USPI_COMPACT_RETURN, /* a return address */
    USPI_COMPACT_ASYNC,  /* an async resume point */
    USPI_COMPACT_GAP,    /* `value` frames were left out */
    USPI_COMPACT_END,    /* the backtrace ends: its last frame was the outermost one */
    USPI_COMPACT_CUT     /* more frames were left out; their number is not known */
};

struct uspi_compact_item {
    enum uspi_compact_kind kind;
    uint64_t value; /* an address, or the number of frames that were left out */
    uint64_t times; /* number of equal frames that the item stands for, at least 1 */
};

/* The state of a reader. Callers may read in.width. */
struct uspi_compact_items {
    struct uspi_compact_in in;
    uint64_t last; /* the last address */
    struct uspi_compact_item item;
    bool has_ended;
};

/* Begins to read. The bytes must stay valid. Returns as uspi_compact_begin. */
int uspi_compact_items_begin(struct uspi_compact_items *items, const uint8_t *bytes, size_t n);

/* Reads the next item. USPI_COMPACT_NONE: the bytes end without saying whether the last frame was the outermost one, as
 * in backtraces of Swift 6.3. Nothing follows NONE, END and CUT. Returns USP_OK, USP_ERROR_FORMAT or
 * USP_ERROR_TRUNCATED. */
int uspi_compact_items_next(struct uspi_compact_items *items, struct uspi_compact_item *item);

#endif
