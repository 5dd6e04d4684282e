/* SPDX-License-Identifier: MIT */
/* Implements clocked.h: decides whether a thread has run since it was captured. */
#include "lib/sampler/clocked.h"

/* The most processor time, in ns, that a stop adds to a thread's own clock. The thread runs the request's signal
 * handler, or leaves the system call in which it waited and enters it again. */
#define BEING_STOPPED UINT64_C(50000)
/* Maximum number of looks between a doubt and the repeated capture. */
#define INTERVAL_MAX (UINT32_C(1) << 20)

uint64_t uspi_clocked_look(struct uspi_clocked *clocked, uint64_t cpu, bool *moved) {
    const uint64_t passed = cpu > clocked->cpu ? cpu - clocked->cpu : 0;
    const bool is_doubtful = clocked->was_captured && passed > 0 && passed <= BEING_STOPPED;
    *moved = passed > 0 && !is_doubtful;
    if (*moved || clocked->interval == 0) clocked->interval = 1;
    if (*moved) {
        clocked->left = 0;
    } else if (is_doubtful) {
        clocked->left = clocked->interval;
        if (clocked->interval < INTERVAL_MAX) clocked->interval *= 2;
    } else if (clocked->left > 0) {
        clocked->left--;
        *moved = clocked->left == 0;
    }
    clocked->was_captured = false;
    clocked->cpu = cpu;
    return passed;
}
