/* SPDX-License-Identifier: MIT */
/* Carrying out an unwind rule on a frame's registers and memory. */
#ifndef USPI_APPLY_H
#define USPI_APPLY_H

#include "lib/unwind/frame/rule.h"
#include "lib/unwind/frame/walk.h"

/* What a rule leads to. */
struct uspi_applied {
    struct usp_registers caller; /* without the pc, which is judged apart */
    usp_addr return_address;     /* as found; of USPI_OUTERMOST 0 */
    usp_addr fp_at;              /* where the caller's fp was read from; 0: it was not */
    bool fp_is_extended;         /* and it has the mark of a Swift async record */
};

/* False when it needs an unknown register or unreadable memory. */
bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct uspi_applied *applied);

/* The caller's stack pointer must lie above the frame's, by a word where the call pushed one or the frame made one, and on
 * the stack that the frame is on. */
bool uspi_is_plausible_cfa(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa);

#endif
