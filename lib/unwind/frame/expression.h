/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions in unwind tables on a frame's registers and memory, with limits on steps and stack
 * depth. The caller knows which register or CFA an expression describes. Source: DWARF 5, 2.5 "DWARF Expressions",
 * 6.4.2 "Call Frame Instructions", 7.7.1 (the opcodes). */
#ifndef USPI_UNWIND_FRAME_EXPRESSION_H
#define USPI_UNWIND_FRAME_EXPRESSION_H

#include "lib/object/bytes.h"
#include "lib/unwind/frame/walk.h"

/* Evaluates an expression. *value becomes the top of the stack, an address or a value. The CFA is pushed first; cfa
 * NULL: the expression computes the CFA itself. Returns false when the bytes are malformed or refer to what a frame
 * does not have, when a register is not known, memory is unreadable, or a limit is reached. Needs about 1 KB of stack.
 * Async-signal-safe if the target's memory is. */
bool uspi_dwarf_evaluate(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         struct uspi_bytes expression, const usp_addr *cfa, usp_addr *value);

#endif
