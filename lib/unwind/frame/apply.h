/* SPDX-License-Identifier: MIT */
/* Applies an unwind rule to a frame's registers and memory. */
#ifndef USPI_UNWIND_FRAME_APPLY_H
#define USPI_UNWIND_FRAME_APPLY_H

#include "lib/unwind/frame/rule.h"
#include "lib/unwind/frame/walk.h"

/* The result of a rule. */
struct uspi_applied {
    struct usp_registers caller; /* the caller's registers without the pc, which is judged separately */
    usp_addr return_address;     /* as found; 0 for USPI_OUTERMOST */
    usp_addr fp_at;              /* address that the caller's fp was read from; 0: it was not read from memory */
    bool fp_is_extended;         /* the caller's fp has the mark of a Swift async record */
};

/* Returns false when the rule needs an unknown register or unreadable memory. */
bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct uspi_applied *applied);

/* Applies a rule whose CFA is in a register that the frame's callees may have changed, with the value that it had in the
 * innermost frame. Code in assembly relies on callees of its own that do not change it: OpenSSL's AES-GCM keeps its CFA
 * in rax. Returns false when the rule is another one, or gives an implausible CFA. The caller has to verify the return
 * address. Needs about 700 bytes of stack. */
bool uspi_apply_assuming(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         const struct uspi_rule *rule, struct uspi_applied *applied);

/* Returns whether a CFA is plausible. The caller's stack pointer must be on the same stack as the frame and above the
 * frame's. The distance must be at least a word if the call pushed one or the frame has one, unless the return address
 * has been popped into a register (vfork): then the stack pointer already has the caller's value. */
bool uspi_is_plausible_cfa(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                           const struct uspi_rule *rule, usp_addr cfa);

/* Returns whether a CFA that is not plausible can be on another stack: its rule computes it from another register than
 * the stack pointer, or from memory, or the rule states where the caller's stack pointer is saved. It is aligned
 * and readable, and not between the frame and the first one on its stack. */
bool uspi_is_other_stack(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         const struct uspi_rule *rule, usp_addr cfa);

/* Returns whether the walk may go to such a CFA: the walk has left no part of a stack that contains it, and may change
 * stacks once more. */
bool uspi_may_switch(const struct uspi_walk *walk, usp_addr cfa);

/* Notes that the walk went from a frame to a caller on another stack, whose stack pointer is sp. */
void uspi_note_switch(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr sp);

#endif
