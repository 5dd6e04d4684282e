/* SPDX-License-Identifier: MIT */
/* See excerpt.h. */
#include "lib/symbolize/index/excerpt.h"

#include <string.h>

void uspi_excerpt_begin(struct uspi_excerpt *excerpt) {
    memset(excerpt, 0, sizeof *excerpt);
    excerpt->lowest = UINT64_MAX;
}

bool uspi_excerpt_add(struct uspi_excerpt *excerpt, usp_addr address) {
    struct uspi_window *windows = excerpt->windows;
    if (uspi_excerpt_window(excerpt, address) != NULL) return true;
    usp_addr low = address > USPI_EXCERPT_BELOW ? address - USPI_EXCERPT_BELOW : 0;
    usp_addr high = address < UINT64_MAX - USPI_EXCERPT_ABOVE ? address + USPI_EXCERPT_ABOVE : UINT64_MAX;
    /* The windows that touch the new one, from `first` up to `end`, are merged with it. */
    uint32_t first = 0, end;
    while (first < excerpt->count && windows[first].high < low) first++;
    for (end = first; end < excerpt->count && windows[end].low <= high; end++) {
        if (windows[end].low < low) low = windows[end].low;
        if (windows[end].high > high) high = windows[end].high;
    }
    if (end == first && excerpt->count == USPI_EXCERPT_WINDOWS) return false;
    memmove(&windows[first + 1], &windows[end], (excerpt->count - end) * sizeof *windows);
    windows[first] = (struct uspi_window){low, high, low};
    excerpt->count = excerpt->count - (end - first) + 1;
    return address < high;
}

void uspi_excerpt_begin_at(struct uspi_excerpt *excerpt, usp_addr start, usp_addr address) {
    uspi_excerpt_begin(excerpt);
    excerpt->count = 1;
    excerpt->windows[0] = (struct uspi_window){start, address + 1, start};
}

const struct uspi_window *uspi_excerpt_window(const struct uspi_excerpt *excerpt, usp_addr address) {
    uint32_t i = 0;
    while (i < excerpt->count && excerpt->windows[i].high <= address) i++;
    return i < excerpt->count && excerpt->windows[i].low <= address ? &excerpt->windows[i] : NULL;
}

bool uspi_excerpt_keep(struct uspi_excerpt *excerpt, usp_addr start, usp_addr end) {
    uspi_excerpt_pass(excerpt, start);
    if (!uspi_excerpt_overlaps(excerpt, start, end)) return false;
    for (uint32_t i = 0; i < excerpt->count; i++) {
        struct uspi_window *window = &excerpt->windows[i];
        if (start < window->low && end > window->sure) window->sure = end;
    }
    return true;
}

bool uspi_excerpt_decides(const struct uspi_excerpt *excerpt, usp_addr address, usp_addr start) {
    const struct uspi_window *window = uspi_excerpt_window(excerpt, address);
    /* The whole index leaves out symbols that are too far above its lowest start (uspi_index_build). */
    return window != NULL && start >= window->sure && address - excerpt->lowest < UINT32_MAX;
}
