/* SPDX-License-Identifier: MIT */
/* Infers the tail calls between two frames of a stack: functions that were called and then jumped to another function,
 * so that they have no frame. Debug information lists the calls that each function makes. doc/symbolize-lines.md ("Tail
 * calls") has the rules. */
#ifndef USPI_SYMBOLIZE_TAIL_CALLS_H
#define USPI_SYMBOLIZE_TAIL_CALLS_H

#include "lib/symbolize/index/expected.h"

#include <unspool/lines.h>

/* The maximum number of tail calls between two frames. Nothing is inferred from a longer chain. */
#define USPI_TAIL_CALLS_MAX 16u

/* What a stack is symbolicated with. */
struct uspi_stack_names {
    struct usp_symbolizer *symbolizer;
    const struct usp_images *images;      /* the images that hold its addresses; NULL: those of the symbolizer */
    const struct uspi_expected *expected; /* further addresses that will be looked up; NULL: not known */
};

/* Infers the tail calls between frame i of a stack and the next frame, which is its caller. `jumps` receives an address
 * in each jump instruction, the innermost function's first. Returns the number of tail calls, or USP_ERROR_NO_MEMORY.
 * Returns 0 when there are none, when several chains lead from the called function to that of frame i, or when a call
 * on the way is not known. */
int uspi_stack_tail_calls(const struct uspi_stack_names *names, const struct usp_stack *stack, uint32_t i,
                          usp_addr jumps[USPI_TAIL_CALLS_MAX]);

#endif
