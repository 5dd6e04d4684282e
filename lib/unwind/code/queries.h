/* SPDX-License-Identifier: MIT */
/* Small questions about code that need no rule. */
#ifndef USPI_QUERIES_H
#define USPI_QUERIES_H

#include "lib/unwind/frame/code.h"

/* Whether the straight code from the registers' pc on returns by the link register with `reg` as it is now. */
bool uspi_code_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg);

/* Whether the straight code from the registers' pc on will store to the slot at this address; *reg becomes the register
 * whose present value that will be, USPI_NO_REGISTER when it is none. Needs about 5 KB of stack. */
bool uspi_code_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot, uint32_t mode,
                          unsigned *reg);

#endif
