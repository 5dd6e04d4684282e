/* SPDX-License-Identifier: MIT */
/* Applies one instruction's effects to a path's state. explore.c decides where the path goes from there. */
#ifndef USPI_CARRY_H
#define USPI_CARRY_H

#include "lib/unwind/code/explorer.h"

/* These return false when the path has to end because its log is full. */
bool uspi_carry_effect(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_effect *effect);
bool uspi_carry_out(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *instruction);

/* Returns the registers whose values a call destroys. */
uint64_t uspi_lost_by_call(const struct uspi_backend *backend);

/* Returns whether callees can remove their arguments from the stack, as in 32-bit x86 code (ret $4). */
static inline bool uspi_callees_pop(const struct uspi_backend *backend) { return backend->call_push == 4; }

/* Finds how many bytes of arguments a callee removes from the stack, from its first return instruction: compilers give
 * all returns of a function the same operand. Returns false, with *popped 0, when it is not known (the callee is a
 * linkage table's entry, or 0). */
bool uspi_code_popped_by(struct uspi_code *code, usp_addr callee, uint32_t mode, int64_t *popped);

/* Returns the same. If the callee does not show it, returns the number of bytes that the code after the call subtracts
 * from sp again. */
int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr behind);

/* Applies a call to the state: removes what the callee may change. */
bool uspi_carry_call(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *call);

#endif
