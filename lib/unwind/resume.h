/* SPDX-License-Identifier: MIT */
/* Resumes a walk that cannot go on from its last frame: past stack that was not copied, where the frame's registers are
 * not known, in generated code that keeps no frame records, and in code of a language with a stack of its own. It
 * searches the stack for the return address of a frame further out. */
#ifndef USPI_UNWIND_RESUME_H
#define USPI_UNWIND_RESUME_H

#include "lib/unwind/walker.h"

/* What was missing at the walk's last frame. */
enum uspi_resumed {
    USPI_NOT_RESUMED,
    USPI_RESUMED_PAST_GAP,      /* stack that was not copied: frames are missing, and their number is not known */
    USPI_RESUMED_PAST_CODE,     /* the rule of generated code, or of a language's code: the same */
    USPI_RESUMED_PAST_REGISTERS /* registers */
};

/* Resumes a walk whose last step found no caller, once, if shortcuts.parts is set. A return address is believed only if
 * it follows a call and the walk from there reaches the stack's root. Past generated code the call must go through a
 * pointer, and the walk may use unwind tables only; the frame is marked unverified. It is not, and the call goes to a
 * function, if that has entered the last frame's code by a jump and its table finds the return address from the last
 * frame's stack pointer. Async-signal-safe. Needs about 6 KB of stack besides that of a step. */
enum uspi_resumed uspi_walker_resume(struct uspi_walker *walker);

#endif
