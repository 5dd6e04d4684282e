/* SPDX-License-Identifier: MIT */
/* Darwin's part of the reader of signal frames. */
#ifndef USPI_DARWIN_SIGNAL_H
#define USPI_DARWIN_SIGNAL_H

#include "lib/unwind/readers/evidence.h"

void uspi_read_darwin_signal(struct uspi_evidence *evidence, struct uspi_candidate *candidate);

#endif
