/* SPDX-License-Identifier: MIT */
/* The algorithm of today's tools, for comparison: the pc, then the link register if the processor has one, always, then
 * frame records from the frame pointer on, without a check. */
#ifndef TESTS_EMULATED_CLASSIC_H
#define TESTS_EMULATED_CLASSIC_H

#include "machine.h"

/* Fills pcs with at most `capacity` addresses and returns their number. Removes the Thumb bit from the addresses, which
 * these tools do not do themselves, but not signatures. */
unsigned classic_walk(const struct machine *machine, const struct moment *now, usp_addr *pcs, unsigned capacity);

#endif
