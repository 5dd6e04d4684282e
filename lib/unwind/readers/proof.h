/* SPDX-License-Identifier: MIT */
/* Return addresses that prove themselves. */
#ifndef USPI_UNWIND_READERS_PROOF_H
#define USPI_UNWIND_READERS_PROOF_H

#include "lib/unwind/readers/evidence.h"

/* Returns whether a return address proves itself: the call before it calls a function, and from that function's start
 * the same return address results at our pc. A path through a jump table may lead anywhere with the link register
 * unchanged, and proves nothing. */
bool uspi_proves_itself(struct uspi_evidence *evidence, const struct uspi_return_address *ra,
                        struct uspi_candidate *candidate);

#endif
