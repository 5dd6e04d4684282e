/* SPDX-License-Identifier: MIT */
/* Computes the path from a function's start to a frame's pc from the instructions. */
#ifndef USPI_UNWIND_READERS_START_H
#define USPI_UNWIND_READERS_START_H

#include "lib/unwind/readers/evidence.h"

/* Makes the candidate of the path from `start`, in a function that ends at `end` (0: not known). */
bool uspi_from_start(struct uspi_evidence *evidence, usp_addr start, usp_addr end, struct uspi_candidate *candidate);

#endif
