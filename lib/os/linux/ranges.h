/* SPDX-License-Identifier: MIT */
/* The mappings of a process that a tracer needs: stacks, heaps and code. They are read before any thread is stopped. */
#ifndef USPI_OS_LINUX_RANGES_H
#define USPI_OS_LINUX_RANGES_H

#include <unspool/base.h>

#include <stdbool.h>
#include <stddef.h>

/* Maximum number of bytes copied of a stack with an unknown end: the usual limit of a stack's size. */
#define USPI_STACK_MAX ((uint64_t)8 << 20)

struct uspi_image_listing; /* lib/os/linux/images.h */

/* A readable mapping. */
struct uspi_range {
    usp_addr low, high;
    bool writable, executable;
    bool grows;        /* the first thread's stack */
    bool is_anonymous; /* private memory without a file: a page that does not exist was never written */
};

/* All zero: none. */
struct uspi_ranges {
    struct uspi_range *list; /* ascending; mappings that are writable or executable */
    size_t count, capacity;
};

/* Reads the mappings again, and passes each to `listing` too (NULL: none). Returns the number of all mappings of the
 * process, or a negative error number. */
long uspi_ranges_read(struct uspi_ranges *ranges, int64_t pid, struct uspi_image_listing *listing);

/* Returns the mapping that contains an address, or the next one above it; NULL: there is none. Async-signal-safe. */
const struct uspi_range *uspi_ranges_above(const struct uspi_ranges *ranges, usp_addr address);

/* Returns the mapping that contains an address, or NULL. The first thread's stack may have grown downward since the
 * mappings were read. Async-signal-safe. */
const struct uspi_range *uspi_ranges_find(const struct uspi_ranges *ranges, usp_addr address);

/* Frees the list. */
void uspi_ranges_free(struct uspi_ranges *ranges);

#endif
