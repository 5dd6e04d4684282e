/* SPDX-License-Identifier: MIT */
/* The algorithm of today's tools, for comparison: the pc, then the link register where there is one, always, then frame
 * records from the frame pointer on, without a check. */
#ifndef USP_TESTS_CLASSIC_H
#define USP_TESTS_CLASSIC_H

#include "machine.h"

/* Fills pcs with at most `room` addresses and returns how many. It is given what it cannot do itself: the Thumb bit is
 * removed from what it finds. Signatures are not. */
unsigned classic_walk(const struct machine *machine, const struct moment *now, usp_addr *pcs, unsigned room);

#endif
