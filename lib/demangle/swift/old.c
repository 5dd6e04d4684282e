/* SPDX-License-Identifier: MIT */
/* See old.h: manages the list of steps. */
#include "lib/demangle/swift/old.h"

bool uspi_old_add_step(struct uspi_old_parser *old, struct uspi_old_step step) {
    struct uspi_old_step *added = old->unused;
    if (added != NULL) {
        old->unused = added->next;
    } else {
        added = uspi_region_take(old->base.memory, sizeof *added);
        if (added == NULL) return false;
    }
    *added = step;
    added->next = old->steps;
    old->steps = added;
    return true;
}

bool uspi_old_add_steps(struct uspi_old_parser *old, const struct uspi_old_step *steps, size_t count) {
    while (count > 0) {
        if (!uspi_old_add_step(old, steps[--count])) return false;
    }
    return true;
}
