/* SPDX-License-Identifier: MIT */
/* Signal handlers on an alternate stack (sigaltstack(2)): where the stack is that they interrupted. The bytes of the one
 * that a thread stands on tell, of this process or of another one, of this processor or of its 32-bit sibling. */
#ifndef USPI_LINUX_ALTERNATE_H
#define USPI_LINUX_ALTERNATE_H

#include "lib/os/os.h"

struct uspi_alternate {
    usp_addr low, high;
};

/* The stack pointer that the outermost signal on an alternate stack interrupted; 0 when no signal's context is there.
 *   stack  its bytes from the live part's beginning on; may be fenced off by AddressSanitizer
 * Async-signal-safe. */
usp_addr uspi_alternate_interrupted(uint32_t arch, struct uspi_alternate alternate, const struct uspi_copied *stack);

/* The same where it is not known whether the thread runs on an alternate stack, and on which. A handler without siginfo
 * leaves no sign of that on 32-bit processors. */
usp_addr uspi_alternate_search(uint32_t arch, const struct uspi_copied *stack);

#endif
