/* SPDX-License-Identifier: MIT */
/* Recognising the code to which a signal handler returns on Linux, by its bytes. What it finds on the stack is read in
 * lib/unwind/readers/signal.c. */
#ifndef USPI_TRAMPOLINE_H
#define USPI_TRAMPOLINE_H

#include "lib/unwind/frame/code.h"
#include "lib/unwind/frame/walk.h"

/* The signal trampoline that begins at pc for a returning handler, NULL if the code there is none. */
const struct uspi_signal_stub *uspi_trampoline_at(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                  bool thumb);

/* The same, also where a thread stands in it behind its entry, which only another interruption can have left. *popped
 * becomes what the instructions before pc took off the stack. */
const struct uspi_signal_stub *uspi_trampoline_around(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                      bool thumb, int64_t *popped);

#endif
