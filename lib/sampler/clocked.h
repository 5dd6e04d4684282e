/* SPDX-License-Identifier: MIT */
/* Whether a thread still stands where it was captured, by its processor clock: for samplers and monitors. */
#ifndef USPI_CLOCKED_H
#define USPI_CLOCKED_H

#include <stdbool.h>
#include <stdint.h>

/* Being stopped takes some of a thread's own time on some systems. When the clock has moved by no more than that, the thread has
 * probably not run by itself, and is captured again to be sure: after one look, then after twice as many each time. A clock that has
 * not moved at all leaves no doubt. */
struct uspi_clocked {
    uint64_t cpu;      /* of the thread, when it was looked at last, in ns */
    uint32_t patience; /* looks until it is captured again, the next time that there is a doubt */
    uint32_t left;     /* looks until then, now; 0: there is no doubt */
    bool was_captured; /* at the last look */
};

/* Notes the clock, and tells how much time has passed on it. *moved: it has to be captured. */
uint64_t uspi_clocked_look(struct uspi_clocked *clocked, uint64_t cpu, bool *moved);

/* It has been captured at this look. */
static inline void uspi_clocked_captured(struct uspi_clocked *clocked) { clocked->was_captured = true; }

#endif
