/* SPDX-License-Identifier: MIT */
/* Applies one instruction's effects to a path's state. explore.c decides where the path goes from there. */
#ifndef USPI_UNWIND_CODE_CARRY_H
#define USPI_UNWIND_CODE_CARRY_H

#include "lib/unwind/code/explorer.h"

/* These return false when the path has to end because its log is full. */
bool uspi_carry_effect(struct uspi_explorer *explorer, struct uspi_path *path, const struct uspi_effect *effect);
bool uspi_carry_out(struct uspi_explorer *explorer, struct uspi_path *path, const struct uspi_instruction *instruction);

/* Returns the registers whose values a call destroys. */
uint64_t uspi_lost_by_call(const struct uspi_backend *backend);

/* Applies a call to the state: removes what the callee may change. */
bool uspi_carry_call(struct uspi_explorer *explorer, struct uspi_path *path, const struct uspi_instruction *call);

#endif
