/* SPDX-License-Identifier: MIT */
/* Recognising the code to which a signal handler returns. The reader itself is in signal.c. */
#ifndef USPI_SIGNAL_H
#define USPI_SIGNAL_H

#include "lib/unwind/reader.h"

/* The signal trampoline that begins at pc for a returning handler, NULL if the code there is none. */
const struct uspi_signal_stub *uspi_signal_stub_at(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                   bool thumb);

#endif
