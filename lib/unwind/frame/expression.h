/* SPDX-License-Identifier: MIT */
/* DWARF expressions in unwind tables, carried out on a frame's registers and memory: in a machine whose steps and stack are
 * bounded. Which register or CFA an expression describes is not known here.
 * Source: DWARF 5, 2.5 "DWARF Expressions", 6.4.2 "Call Frame Instructions", 7.7.1 (the opcodes). */
#ifndef USPI_EXPRESSION_H
#define USPI_EXPRESSION_H

#include "lib/object/bytes.h"
#include "lib/unwind/frame/walk.h"

/* What the expression leaves on top of the stack, an address or a value. cfa is pushed first; NULL where the expression
 * yields the CFA itself. False when the bytes are malformed or name what no frame has, when a register is not known, memory
 * cannot be read, or the machine's bounds are reached. Needs about 1 KB of stack; async-signal-safe as the target's memory is. */
bool uspi_dwarf_evaluate(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         struct uspi_bytes expression, const usp_addr *cfa, usp_addr *value);

#endif
