/* SPDX-License-Identifier: MIT */
/* The stack that the calling thread runs on, which can be read directly: it stays mapped while the thread runs on
 * it. */
#ifndef USPI_CAPTURE_OWN_STACK_H
#define USPI_CAPTURE_OWN_STACK_H

#include "lib/os/os.h"

struct uspi_stack_view {
    uintptr_t low, high;       /* known bounds of the stack on which the walk begins */
    bool grows;                /* its upper end is not known */
    struct uspi_own_stack own; /* the thread's own stack; another one while a signal is handled on an alternate stack */
};

/* Makes a view of the stack from a stack pointer upward. Async-signal-safe. */
void uspi_stack_view_init(struct uspi_stack_view *view, uintptr_t sp);

/* Implements uspi_stack_view_holds past the known bounds. */
bool uspi_stack_view_extend(struct uspi_stack_view *view, uintptr_t from, size_t n);

/* Returns whether n bytes are stack that can be read directly. If the bounds are not known (an alternate signal stack,
 * a coroutine's), a page counts as stack when no page between it and the stack pointer is unreadable: a stack has no
 * holes, and other memory usually lies beyond a guard page. Async-signal-safe. */
static inline bool uspi_stack_view_holds(struct uspi_stack_view *view, usp_addr from, size_t n) {
    if (from >= view->low && from < view->high && n <= view->high - from) return true;
    return from <= UINTPTR_MAX && uspi_stack_view_extend(view, (uintptr_t)from, n);
}

#endif
