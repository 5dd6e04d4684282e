/* SPDX-License-Identifier: MIT */
/* This process as the target of a walk: its memory, its code, the calling thread's stack. */
#ifndef USPI_CAPTURE_OWN_TARGET_H
#define USPI_CAPTURE_OWN_TARGET_H

#include "lib/base/page_cache.h"
#include "lib/capture/own_code.h"
#include "lib/capture/own_stack.h"

/* Reads this process's memory for walks of its stacks. There are three kinds of memory:
 *
 *   - the stack that the calling thread runs on is read directly (own_stack.h);
 *   - memory that stays mapped, in images that are never unloaded (lib/unwind/tables/image_tables.h), is read
 *     directly;
 *   - everything else is copied with a check, page by page; unreadable pages are remembered (lib/base/page_cache.h). */
/* All zero: nothing was read yet. */
struct uspi_own_memory {
    const struct uspi_image_tables *tables; /* NULL: no memory is known to stay */
    struct usp_memory_range still;          /* the last such range that was used */
    bool has_pages;                         /* `pages` is in use */
    struct uspi_walk_pages pages;
};

/* Initializes only some fields, because most walks copy nothing. Async-signal-safe. */
void uspi_own_memory_init(struct uspi_own_memory *memory, const struct uspi_image_tables *tables);

/* Reads only memory that stays. Returns true when the bytes stay and were read. Async-signal-safe. */
bool uspi_own_memory_read_still(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n);

/* Reads memory that stays directly, other memory through a copy. Async-signal-safe. */
int uspi_own_memory_read(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n);

/* What a walk of the calling thread reads, and the cached data that it uses. */
struct uspi_own_surroundings {
    struct uspi_stack_view stack;
    struct uspi_own_memory memory;
    struct uspi_image_tables *tables; /* NULL: usp_prepare was not called */
    struct uspi_shortcuts shortcuts;
    uint32_t ticket;
};

/* Prepares a walk that begins at `sp`. After the walk the caller passes own->ticket to usp_images_release.
 * Async-signal-safe. */
void uspi_own_target_init(struct usp_target *target, struct uspi_own_surroundings *own, uintptr_t sp);

#endif
