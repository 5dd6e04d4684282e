/* SPDX-License-Identifier: MIT */
/* Return addresses that prove themselves. */
#ifndef USPI_PROOF_H
#define USPI_PROOF_H

#include "lib/unwind/readers/evidence.h"

/* A return address proves itself when the call before it calls a function from whose start the same return address follows
 * for our pc. A way through a jump table can lead anywhere with the link register untouched: that shows nothing. */
bool uspi_proves_itself(struct uspi_evidence *evidence, const struct uspi_return_address *ra,
                        struct uspi_candidate *candidate);

#endif
