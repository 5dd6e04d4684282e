/* SPDX-License-Identifier: MIT */
/* Whether a thread still stands where it was captured: see struct uspi_clocked. */
#include "lib/sampler/clocked.h"

/* What being stopped takes of a thread's own time at most, in ns: the handler of the request, or the way out of the call in
 * which it waited and back. */
#define BEING_STOPPED UINT64_C(50000)
/* As many looks as there may be until a thread is captured again. */
#define PATIENCE_MAX (UINT32_C(1) << 20)

uint64_t uspi_clocked_look(struct uspi_clocked *clocked, uint64_t cpu, bool *moved) {
    const uint64_t passed = cpu > clocked->cpu ? cpu - clocked->cpu : 0;
    const bool is_doubtful = clocked->was_captured && passed > 0 && passed <= BEING_STOPPED;
    *moved = passed > 0 && !is_doubtful;
    if (*moved || clocked->patience == 0) clocked->patience = 1;
    if (*moved) {
        clocked->left = 0;
    } else if (is_doubtful) {
        clocked->left = clocked->patience;
        if (clocked->patience < PATIENCE_MAX) clocked->patience *= 2;
    } else if (clocked->left > 0) {
        clocked->left--;
        *moved = clocked->left == 0;
    }
    clocked->was_captured = false;
    clocked->cpu = cpu;
    return passed;
}
