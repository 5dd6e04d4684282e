/* SPDX-License-Identifier: MIT */
/* usp_unwind for the library's own captures. */
#ifndef USPI_UNWIND_H
#define USPI_UNWIND_H

#include "lib/unwind/walker.h"

/* As usp_unwind.
 *   at_return  the registers' pc is a return address, not where the thread stands
 *   shortcuts  may be NULL */
int uspi_unwind(const struct usp_target *target, const struct usp_registers *registers, bool at_return,
                const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                struct usp_stack *stack);

/* The same from a frame behind a call in this process, without a walker, where rules that were kept lead to the stack's end
 * or to that of the room. False: nothing was found out, and uspi_unwind has to do it. */
bool uspi_unwind_by_rules(const struct usp_target *target, const struct uspi_standing *from,
                          const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                          struct usp_stack *stack);

/* stack.hash of the frames that a stack has; images: usp_unwind_options.images. */
uint64_t uspi_stack_hash(const struct usp_stack *stack, const struct usp_images *images);

#endif
