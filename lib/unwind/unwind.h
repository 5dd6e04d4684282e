/* SPDX-License-Identifier: MIT */
/* usp_unwind for the library's own captures. */
#ifndef USPI_UNWIND_UNWIND_H
#define USPI_UNWIND_UNWIND_H

#include "lib/unwind/walker.h"

/* Walks a stack like usp_unwind.
 *   at_return  the registers' pc is a return address, not an interrupted pc
 *   shortcuts  may be NULL */
int uspi_unwind(const struct usp_target *target, const struct usp_registers *registers, bool at_return,
                const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                struct usp_stack *stack);

/* Walks a stack of this process from a frame after a call, by cached rules alone. Returns true when the rules lead to
 * the stack's end or until the array is full. Otherwise returns false; the caller then uses uspi_unwind. */
bool uspi_unwind_by_rules(const struct usp_target *target, const struct uspi_rule_position *from,
                          const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                          struct usp_stack *stack);

/* Returns stack.hash for the frames of a stack. images: usp_unwind_options.images. */
uint64_t uspi_stack_hash(const struct usp_stack *stack, const struct usp_images *images);

#endif
