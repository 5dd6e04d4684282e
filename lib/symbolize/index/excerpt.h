/* SPDX-License-Identifier: MIT */
/* The part of an image that its first index covers: windows around the addresses that were looked up first.
 *
 * An index of a whole large image takes longer to make than a few names are worth. With an excerpt the symbol tables
 * are read once, and a symbol that touches no window is skipped by its address alone, before its name is read. An
 * excerpt's index either gives the answer that the whole image's index would give, or it is known that it cannot
 * decide. */
#ifndef USPI_SYMBOLIZE_INDEX_EXCERPT_H
#define USPI_SYMBOLIZE_INDEX_EXCERPT_H

#include <unspool/base.h>

#define USPI_EXCERPT_WINDOWS 16

/* How far a window reaches below and above its address, in bytes. Most functions are shorter, and neighbouring
 * addresses are likely to be looked up next. */
#define USPI_EXCERPT_BELOW UINT64_C(0x4000)
#define USPI_EXCERPT_ABOVE UINT64_C(0x4000)

struct uspi_excerpt {
    struct uspi_window {
        usp_addr low, high;          /* first address of the window, first address past it */
        usp_addr sure;               /* first address past every symbol that begins before the window */
    } windows[USPI_EXCERPT_WINDOWS]; /* in ascending order, with gaps between them */
    uint32_t count;
    usp_addr lowest; /* lowest start of the whole image's symbols; UINT64_MAX before the first one was seen */
};

/* Makes an excerpt without windows. */
void uspi_excerpt_begin(struct uspi_excerpt *excerpt);

/* Makes sure that a window holds the address. Returns false when there is no room for another window. */
bool uspi_excerpt_add(struct uspi_excerpt *excerpt, usp_addr address);

/* Makes an excerpt of one window for a single address. The window begins at `start`, the last known start at or below
 * the address, and ends with the address. */
void uspi_excerpt_begin_at(struct uspi_excerpt *excerpt, usp_addr start, usp_addr address);

/* Returns the window that holds an address, or NULL. */
const struct uspi_window *uspi_excerpt_window(const struct uspi_excerpt *excerpt, usp_addr address);

/* Returns whether the interval from `start` to `end` overlaps a window or begins in one. `end` equals `start` when the
 * size is not known. Most intervals do neither, in an order that no branch predictor could learn; so the loop has no
 * branch. */
static inline bool uspi_excerpt_overlaps(const struct uspi_excerpt *excerpt, usp_addr start, usp_addr end) {
    unsigned n = 0;
    for (uint32_t i = 0; i < excerpt->count; i++) {
        const struct uspi_window *window = &excerpt->windows[i];
        n |= (unsigned)(start < window->high) & ((unsigned)(end > window->low) | (unsigned)(start >= window->low));
    }
    return n != 0;
}

/* Returns whether the interval has to be passed to uspi_excerpt_keep. Callers ask before they read a symbol's name.
 * `end` may be too high. */
static inline bool uspi_excerpt_wants(const struct uspi_excerpt *excerpt, usp_addr start, usp_addr end) {
    return start < excerpt->lowest || uspi_excerpt_overlaps(excerpt, start, end);
}

/* Notes the start of a symbol that is skipped without a call of uspi_excerpt_keep. */
static inline void uspi_excerpt_pass(struct uspi_excerpt *excerpt, usp_addr start) {
    if (start < excerpt->lowest) excerpt->lowest = start;
}

/* Notes a symbol's interval. Returns whether it belongs to the excerpt: whether it overlaps a window or begins in
 * one. */
bool uspi_excerpt_keep(struct uspi_excerpt *excerpt, usp_addr start, usp_addr end);

/* Returns whether the excerpt's answer for an address is the whole index's answer. The excerpt's answer is `start`, the
 * last start at or below the address, or 0 for none.
 *
 * Every symbol that begins inside a window is in the excerpt, so each start there has the same winner as in the whole
 * index. Of the symbols that begin before the window, only those that reach into it are there: the true winner of such
 * a start may be missing, and a loser may cover the code up to its own end. Past the ends of all of them, both indexes
 * agree. */
bool uspi_excerpt_decides(const struct uspi_excerpt *excerpt, usp_addr address, usp_addr start);

#endif
