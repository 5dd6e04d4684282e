/* SPDX-License-Identifier: MIT */
/* Copies the stacks of threads that a tracer has stopped.
 *
 *     usual stacks   as a whole, some thirty with one call
 *     large stacks   ├── innermost part ──┤  not copied  ├── outermost part ──┤
 *
 * Pages of a large stack that were never written are not copied: the copy reads as zeros there, as the stack does.
 * The kernel says which pages exist (/proc/PID/pagemap; Documentation/admin-guide/mm/pagemap.rst). Limits hold for each
 * part, for all large stacks together, and in time. All threads get their innermost bytes before one of them gets
 * more. Async-signal-safe, except uspi_copies_reserve. */
#ifndef USPI_OS_LINUX_COPIES_H
#define USPI_OS_LINUX_COPIES_H

#include "lib/os/linux/tracer.h"

/* Reserves the memory for copies that most processes need, before any of their `threads` is stopped. */
void uspi_copies_reserve(struct uspi_tracing *tracing, size_t threads);

/* Copies the stacks of all stopped threads, and of handlers on alternate stacks the interrupted stacks too. */
void uspi_copies_take(struct uspi_tracing *tracing);

/* Unmaps the memory for copies. */
void uspi_copies_clear(struct uspi_tracing *tracing);

/* Returns the copied part that ends where the stack ends, or as near to it as was copied. */
static inline struct uspi_copied uspi_extent_outermost(const struct uspi_stack_extent *e) {
    if (e->outer.copied == 0 || e->copied >= e->outer.from - e->from) {
        return (struct uspi_copied){e->bytes, e->from, e->copied};
    }
    return (struct uspi_copied){e->outer.bytes, e->outer.from, e->outer.copied};
}

#endif
