/* SPDX-License-Identifier: MIT */
/* The order of candidates, by one set of conditions. decide.c chooses between readers by it, forward.c between its
 * paths. */
#ifndef USPI_UNWIND_READERS_RANK_H
#define USPI_UNWIND_READERS_RANK_H

#include "lib/unwind/readers/evidence.h"

/* Returns the reader whose candidate comes first, for what the table says about the frame; USPI_READERS: none. Calls
 * readers as their candidates are needed. */
enum uspi_reader uspi_rank_readers(struct uspi_evidence *evidence);

/* Returns the rank of a path's candidate among those of the forward reader; 0 is the best. */
unsigned uspi_rank_path(struct uspi_evidence *evidence, const struct uspi_candidate *candidate);

#endif
