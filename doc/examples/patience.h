/* SPDX-License-Identifier: MIT */
/* When a monitor may call a hang a hang: once the main thread has been silent for long enough while the monitor itself ran.
 * A system that suspends an app, a debugger and a machine that sleeps stop all threads at once; then the monitor is late
 * as well, and that is no hang. No thread and no clock in here: hang.c and hang.m have those. */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct patience {
    uint64_t tick;  /* ns: how often the monitor looks, */
    uint64_t limit; /* and for how long the main thread may be silent */
    uint64_t then;  /* when it looked last (usp_clock); set it when the monitor begins */
    uint64_t silence;
    unsigned beat; /* of the main thread, at that time */
};

/* To be asked at each look. True when the silence has lasted; it then begins anew. */
static inline bool patience_ends(struct patience *patience, uint64_t now, unsigned beat) {
    uint64_t passed = now - patience->then;
    bool was_late = passed > 4 * patience->tick;
    bool was_heard = beat != patience->beat;
    patience->then = now;
    patience->beat = beat;
    patience->silence = was_late || was_heard ? 0 : patience->silence + passed;
    if (patience->silence < patience->limit) return false;
    patience->silence = 0;
    return true;
}

#endif
