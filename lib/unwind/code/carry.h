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

/* The bytes of arguments that a callee (0: it is not known) takes off the stack, by its return or by what is taken off again behind
 * the call; 0: none are known of. x86. */
int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, usp_addr behind);

/* What a callee leaves of the state. */
bool uspi_carry_call(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *call);

#endif
