/* SPDX-License-Identifier: MIT */
/* Tail calls between two frames of a stack: functions that were called and have jumped on, so that no frame is left of them. Debug
 * information knows the calls that each function makes. doc/symbolize.md ("Tail calls") has the rules. */
#ifndef USPI_TAIL_CALLS_H
#define USPI_TAIL_CALLS_H

#include "lib/symbolize/index/expected.h"

#include <unspool/lines.h>

/* Tail calls that are inferred between two frames, at most. A longer way is none. */
#define USPI_TAIL_CALLS_MAX 16u

/* What a stack is symbolicated with. */
struct uspi_stack_names {
    struct usp_symbolizer *symbolizer;
    const struct usp_images *images;      /* in which its addresses lie; NULL: those that the symbolizer knows */
    const struct uspi_expected *expected; /* what else is going to be asked for; NULL: not known */
};

/* The tail calls between frame i of a stack and the next one, where that one has called it: an address in each jump instruction, the
 * innermost function's first. Returns how many: 0 when there are none, when there may have been several ways from the function that
 * was called to the one of frame i, or when something on the way is not known; USP_ERROR_NO_MEMORY. */
int uspi_stack_tail_calls(const struct uspi_stack_names *names, const struct usp_stack *stack, uint32_t i,
                          usp_addr jumps[USPI_TAIL_CALLS_MAX]);

#endif
