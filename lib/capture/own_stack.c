/* SPDX-License-Identifier: MIT */
/* See own_stack.h. */
#include "lib/capture/own_stack.h"

/* Maximum growth of an unknown stack's view at once, in bytes. A larger frame is read with a check. */
#define GROWTH (16u * USPI_LEAST_PAGE)

static uintptr_t page_of(uintptr_t address) { return address & ~(uintptr_t)(USPI_LEAST_PAGE - 1); }

void uspi_stack_view_init(struct uspi_stack_view *view, uintptr_t sp) {
    view->grows = !uspi_os_stack(sp, &view->high);
    view->low = sp;
    /* The first page is checked like all others, because a context's stack pointer can have any value. */
    if (view->grows) view->high = sp;
    view->own = view->grows ? uspi_os_own_stack() : (struct uspi_own_stack){0, 0};
}

static bool grow(struct uspi_stack_view *view, uintptr_t from, size_t n) {
    uintptr_t end = from + n;
    if (!view->grows || from < view->low || end < from || end > view->high + GROWTH) return false;
    while (view->high < end) {
        uintptr_t next = page_of(view->high) + USPI_LEAST_PAGE;
        if (next < view->high || !uspi_os_can_read(page_of(view->high))) {
            view->grows = false;
            return false;
        }
        view->high = next;
    }
    return true;
}

bool uspi_stack_view_extend(struct uspi_stack_view *view, uintptr_t from, size_t n) {
    if (grow(view, from, n)) return true;
    return from - view->own.low < view->own.high - view->own.low && n <= view->own.high - from;
}
