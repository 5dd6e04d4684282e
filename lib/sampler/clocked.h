/* SPDX-License-Identifier: MIT */
/* Decides by a thread's processor clock whether it has run since it was captured: for samplers and monitors. */
#ifndef USPI_SAMPLER_CLOCKED_H
#define USPI_SAMPLER_CLOCKED_H

#include <stdbool.h>
#include <stdint.h>

/* On some systems a stop itself adds to the thread's processor time. If the clock has moved by no more than that, the
 * thread has probably not run, and is captured again to be sure: after one look, then after twice as many each time.
 * If the clock has not moved at all, there is no doubt. */
struct uspi_clocked {
    uint64_t cpu;      /* the thread's processor time at the last look, in ns */
    uint32_t interval; /* number of looks before the next repeated capture after a doubt */
    uint32_t left;     /* looks left before the repeated capture; 0: there is no doubt */
    bool was_captured; /* at the last look */
};

/* Records the clock and returns how much it has advanced. *moved: the thread has to be captured. */
uint64_t uspi_clocked_look(struct uspi_clocked *clocked, uint64_t cpu, bool *moved);

/* Records that the thread was captured at this look. */
static inline void uspi_clocked_captured(struct uspi_clocked *clocked) { clocked->was_captured = true; }

#endif
