/* SPDX-License-Identifier: MIT */
/* The mappings of a process that a tracer has to know: where stacks and heaps lie, and where code does. They are read before any
 * thread is stopped. */
#ifndef USPI_LINUX_RANGES_H
#define USPI_LINUX_RANGES_H

#include <unspool/base.h>

#include <stdbool.h>
#include <stddef.h>

/* Of a stack whose end is not known, at most so much is copied: the usual limit of a stack's size. */
#define USPI_STACK_MAX ((uint64_t)8 << 20)

/* A mapping that can be read. */
struct uspi_range {
    usp_addr low, high;
    bool writable, executable;
    bool grows; /* the first thread's stack */
};

/* All zero: none. */
struct uspi_ranges {
    struct uspi_range *list; /* ascending; of the mappings that are writable or executable */
    size_t count, room;
};

/* Reads them anew. Returns how many mappings of any kind the process has, or a negative error number. */
long uspi_ranges_read(struct uspi_ranges *ranges, int64_t pid);

/* The mapping that an address lies in; NULL: there was none. A stack that grows downward may have grown since it was read.
 * Async-signal-safe. */
const struct uspi_range *uspi_ranges_find(const struct uspi_ranges *ranges, usp_addr address);

/* Frees what it holds. */
void uspi_ranges_free(struct uspi_ranges *ranges);

#endif
