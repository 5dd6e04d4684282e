/* SPDX-License-Identifier: MIT */
/* Which part of an image an index is made of while few addresses have been asked for: some windows around these, so that
 * the tables are read through once and what lies in no window is passed over by its address alone. What the windows'
 * index says of an address is what the whole one would say, or it is known not to be decided. */
#ifndef USPI_EXCERPT_H
#define USPI_EXCERPT_H

#include <unspool/base.h>

#define USPI_EXCERPT_WINDOWS 16

/* Bytes of a window below and above the address that it is for: most functions are shorter, and its neighbours are
 * likely to be asked for next. */
#define USPI_EXCERPT_BELOW UINT64_C(0x4000)
#define USPI_EXCERPT_ABOVE UINT64_C(0x4000)

struct uspi_excerpt {
    struct uspi_window {
        usp_addr low, high;          /* from low on, below high */
        usp_addr sure;               /* behind all that reaches into the window from below it */
    } windows[USPI_EXCERPT_WINDOWS]; /* ascending; none touches the next */
    uint32_t count;
    usp_addr lowest; /* no start of the whole index is below it; UINT64_MAX before anything was gathered */
};

/* Without windows, and nothing gathered. */
void uspi_excerpt_begin(struct uspi_excerpt *excerpt);

/* Makes sure that the address lies in a window. False: there is no room for another one. */
bool uspi_excerpt_add(struct uspi_excerpt *excerpt, usp_addr address);

/* The same for an address that nothing else is expected with: the window, which is the only one, begins at `start`, the last
 * start at or below it that is known. What begins above the address is of no interest. */
void uspi_excerpt_begin_at(struct uspi_excerpt *excerpt, usp_addr start, usp_addr address);

/* The window that holds an address; NULL: none does. */
const struct uspi_window *uspi_excerpt_window(const struct uspi_excerpt *excerpt, usp_addr address);

/* Whether an interval from `start` to `end` (start itself: its size is not known) overlaps a window or begins in one. Most
 * do not, in no order that could be foreseen: without a branch. */
static inline bool uspi_excerpt_overlaps(const struct uspi_excerpt *excerpt, usp_addr start, usp_addr end) {
    unsigned n = 0;
    for (uint32_t i = 0; i < excerpt->count; i++) {
        const struct uspi_window *window = &excerpt->windows[i];
        n |= (unsigned)(start < window->high) & ((unsigned)(end > window->low) | (unsigned)(start >= window->low));
    }
    return n != 0;
}

/* Whether such an interval must be shown to uspi_excerpt_keep; to be asked before its name is read, say. The end may be
 * higher than it is in truth. */
static inline bool uspi_excerpt_wants(const struct uspi_excerpt *excerpt, usp_addr start, usp_addr end) {
    return start < excerpt->lowest || uspi_excerpt_overlaps(excerpt, start, end);
}

/* Something that begins at `start` is passed over without being shown to uspi_excerpt_keep. */
static inline void uspi_excerpt_pass(struct uspi_excerpt *excerpt, usp_addr start) {
    if (start < excerpt->lowest) excerpt->lowest = start;
}

/* Whether an interval belongs to the excerpt: it overlaps a window, or begins in one. It is noted. */
bool uspi_excerpt_keep(struct uspi_excerpt *excerpt, usp_addr start, usp_addr end);

/* Whether the whole index would say of an address what the windows' index says: that `start` is the last start at or below
 * it (0: that there is none).
 *
 * Of what begins in a window all is there, so that at each start the same one wins, and inside each other they lie as
 * ever. What begins below it is not all there: the symbol that won such a start may be missing, and the one that is there
 * instead hides others, up to its end. Behind the ends of all of these nothing is left of it. */
bool uspi_excerpt_decides(const struct uspi_excerpt *excerpt, usp_addr address, usp_addr start);

#endif
