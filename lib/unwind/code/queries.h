/* SPDX-License-Identifier: MIT */
/* Queries about code that need no rule. */
#ifndef USPI_QUERIES_H
#define USPI_QUERIES_H

#include "lib/unwind/frame/code.h"

/* Returns whether straight-line code from the registers' pc returns through the link register with `reg` unchanged. */
bool uspi_code_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg);

/* Returns whether straight-line code from the registers' pc will store to the slot at this address. *reg becomes the
 * register whose current value it will store, or USPI_NO_REGISTER. Needs about 5 KB of stack. */
bool uspi_code_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot, uint32_t mode,
                          unsigned *reg);

/* Returns whether a callee certainly returns, and removes nothing but its return address from the stack: a few
 * instructions without a branch or a store lead to its return. *written becomes the registers that they write. i386
 * code obtains its own address from such a callee, in any register. */
bool uspi_code_returns_soon(struct uspi_code *code, usp_addr callee, uint32_t mode, uint64_t *written);

/* Returns whether the code after a call removes the call's arguments, or a part of them, from the stack: it raises sp
 * before it branches, by at most `most` bytes. Code after a call that never returns is another part of the function,
 * which has no arguments to remove. */
bool uspi_code_removes_arguments(struct uspi_code *code, usp_addr behind, uint32_t mode, int64_t most);

#endif
