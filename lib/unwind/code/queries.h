/* SPDX-License-Identifier: MIT */
/* Queries about code that need no rule. */
#ifndef USPI_UNWIND_CODE_QUERIES_H
#define USPI_UNWIND_CODE_QUERIES_H

#include "lib/unwind/frame/code.h"

/* Returns whether straight-line code from the registers' pc returns through the link register with `reg` unchanged. */
bool uspi_code_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg);

/* Returns whether straight-line code from the registers' pc will store to the slot at this address. *reg becomes the
 * register whose current value it will store, or USPI_NO_REGISTER. Needs about 5 KB of stack. */
bool uspi_code_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot, uint32_t mode,
                          unsigned *reg);

#endif
