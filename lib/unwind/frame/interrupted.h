/* SPDX-License-Identifier: MIT */
/* Finds the registers that a signal interrupted, where a handler returns to a trampoline (Linux). Used by the reader of
 * signal frames and by the fast walk, which is linked without the other readers. */
#ifndef USPI_UNWIND_FRAME_INTERRUPTED_H
#define USPI_UNWIND_FRAME_INTERRUPTED_H

#include "lib/unwind/frame/code.h"
#include "lib/unwind/frame/walk.h"

enum uspi_interrupted {
    USPI_NO_TRAMPOLINE,        /* the frame's code is not a signal trampoline */
    USPI_INTERRUPTED,          /* *caller has all registers */
    USPI_CONTEXT_IS_UNREADABLE /* it is a trampoline, but the saved registers are not readable */
};

/* Finds the function that a signal interrupted, from a frame whose pc is in a signal trampoline.
 *   code  a window for the trampoline's code
 *   cfa   receives the address at which the kernel's frame begins; 0: not known */
enum uspi_interrupted uspi_find_interrupted(const struct uspi_walk *walk, struct uspi_code *code,
                                            const struct uspi_frame_state *frame, struct uspi_frame_state *caller,
                                            usp_addr *cfa);

#endif
