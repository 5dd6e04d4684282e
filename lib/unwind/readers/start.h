/* SPDX-License-Identifier: MIT */
/* The way from a function's start to the pc of a frame, by the instructions. */
#ifndef USPI_START_H
#define USPI_START_H

#include "lib/unwind/readers/evidence.h"

/* Instructions to look at. A function's way to its return is rarely longer than some hundred. */
#define USPI_BUDGET_EXACT 4096u

/* What the way from a start says, of a function that ends at `end` (0: not known). */
bool uspi_from_start(struct uspi_evidence *evidence, usp_addr start, usp_addr end, struct uspi_candidate *candidate);

#endif
