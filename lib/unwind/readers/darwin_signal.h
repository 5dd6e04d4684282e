/* SPDX-License-Identifier: MIT */
/* The Darwin part of the signal frame reader. */
#ifndef USPI_UNWIND_READERS_DARWIN_SIGNAL_H
#define USPI_UNWIND_READERS_DARWIN_SIGNAL_H

#include "lib/unwind/readers/evidence.h"

void uspi_read_darwin_signal(struct uspi_evidence *evidence, struct uspi_candidate *candidate);

#endif
