/* SPDX-License-Identifier: MIT */
/* What callees do to the stack pointer: whether they return, and which of their arguments they remove. Compilers make
 * callees of 32-bit x86 code remove arguments; the first one, the address of a struct that is returned, by the ABI. */
#ifndef USPI_UNWIND_CODE_CALLEE_H
#define USPI_UNWIND_CODE_CALLEE_H

#include "lib/unwind/frame/code.h"

/* Maximum number of instructions of one callee that are decoded to find its return. */
#define USPI_CALLEE_MAX 1024u

/* Returns whether callees can remove their arguments from the stack, as in 32-bit x86 code (ret $4). */
static inline bool uspi_callees_pop(const struct uspi_backend *backend) { return backend->call_push == 4; }

/* Returns whether a callee certainly returns, and removes nothing but its return address from the stack: a few
 * instructions without a branch or a store lead to its return. *written becomes the registers that they write. i386
 * code obtains its own address from such a callee, in any register. */
bool uspi_code_returns_soon(struct uspi_code *code, usp_addr callee, uint32_t mode, uint64_t *written);

/* Returns how many bytes of arguments a callee has removed before `next`, the address after the call: those that the
 * callee's first return removes, or else those that the caller reserves again at once. callee 0: it is not known.
 * *budget is the maximum number of instructions of callees, and becomes the number left. */
int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr next, unsigned *budget);

#endif
