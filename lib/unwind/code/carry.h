/* SPDX-License-Identifier: MIT */
/* Carries out one instruction's effects on a way's state. Where the way goes from there is explore.c's. */
#ifndef USPI_CARRY_H
#define USPI_CARRY_H

#include "lib/unwind/code/explorer.h"

/* These are false when the way has to end, for want of room. */
bool uspi_carry_effect(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_effect *effect);
bool uspi_carry_out(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *instruction);

/* The registers that hold nothing known behind a call. */
uint64_t uspi_lost_by_call(const struct uspi_backend *backend);

/* Whether a callee can take its arguments off the stack: in 32-bit x86 code (ret $4). */
static inline bool uspi_callees_pop(const struct uspi_backend *backend) { return backend->call_push == 4; }

/* The bytes of arguments that a callee takes off the stack, by the first return in it: compilers give all returns of
 * a function the same. False, and *popped is 0: it is not known (a linkage table's entry, or callee 0). */
bool uspi_code_popped_by(struct uspi_code *code, usp_addr callee, uint32_t mode, int64_t *popped);

/* The same; and where the callee does not tell, what is taken off sp again behind the call. */
int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr behind);

/* What a callee leaves of the state. */
bool uspi_carry_call(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *call);

#endif
