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

/* What a callee leaves of the state. */
bool uspi_carry_call(struct uspi_explorer *explorer, struct uspi_way *way, const struct uspi_instruction *call);

#endif
