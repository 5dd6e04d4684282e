/* SPDX-License-Identifier: MIT */
/* This process's memory as walks of its stacks read it. Three kinds of memory, and one way for each:
 *
 *   - the stack that the calling thread runs on: directly (own_stack.h);
 *   - what stays in images that are never unloaded (lib/unwind/tables/image_tables.h): directly;
 *   - everything else: copied with a check, page by page, with the unreadable pages remembered (lib/base/page_cache.h). */
#ifndef USPI_OWN_MEMORY_H
#define USPI_OWN_MEMORY_H

#include "lib/base/page_cache.h"
#include "lib/os/os.h"
#include "lib/unwind/tables/image_tables.h"

/* All zero: nothing was read yet. */
struct uspi_own_memory {
    const struct uspi_image_tables *tables; /* NULL: nothing is known to stay */
    struct usp_memory_range still;          /* met last */
    bool has_pages;                         /* `pages` is in use */
    struct uspi_walk_pages pages;
};

/* Not all of it is cleared: most walks copy nothing. Async-signal-safe. */
void uspi_own_memory_init(struct uspi_own_memory *memory, const struct uspi_image_tables *tables);

/* Reads what stays directly, everything else through a copy. Async-signal-safe. */
int uspi_own_memory_read(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n);

/* The first half of that: true when the bytes were read because they stay. Async-signal-safe. */
bool uspi_own_memory_read_still(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n);

#endif
