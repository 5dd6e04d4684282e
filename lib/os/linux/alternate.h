/* SPDX-License-Identifier: MIT */
/* Signal handlers on an alternate stack (sigaltstack(2)): finds the stack that they interrupted. The bytes of the
 * thread's current stack show it. The thread may be of this process or another one, of this processor or its 32-bit
 * variant. */
#ifndef USPI_OS_LINUX_ALTERNATE_H
#define USPI_OS_LINUX_ALTERNATE_H

#include "lib/os/os.h"

struct uspi_alternate {
    usp_addr low, high;
};

/* Returns the stack pointer that the outermost signal on an alternate stack interrupted; 0 when there is no signal
 * context.
 *   stack  its bytes from the beginning of the live part; AddressSanitizer may have poisoned them
 * Async-signal-safe. */
usp_addr uspi_alternate_interrupted(uint32_t arch, struct uspi_alternate alternate, const struct uspi_copied *stack);

/* Does the same when it is not known whether the thread runs on an alternate stack, and on which. On 32-bit processors
 * it cannot find a handler without siginfo. */
usp_addr uspi_alternate_search(uint32_t arch, const struct uspi_copied *stack);

#endif
