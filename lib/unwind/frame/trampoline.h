/* SPDX-License-Identifier: MIT */
/* Recognizes the code to which a signal handler returns on Linux by its bytes. lib/unwind/readers/signal.c reads what
 * it finds on the stack. */
#ifndef USPI_UNWIND_FRAME_TRAMPOLINE_H
#define USPI_UNWIND_FRAME_TRAMPOLINE_H

#include "lib/unwind/frame/code.h"
#include "lib/unwind/frame/walk.h"

/* Returns the signal trampoline at pc, to which a handler returns, or NULL. */
const struct uspi_signal_stub *uspi_trampoline_at(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                  bool thumb);

/* Like uspi_trampoline_at, but also recognizes a pc inside the trampoline, which only another interruption can cause.
 * *popped becomes the number of bytes that the instructions before pc removed from the stack. */
const struct uspi_signal_stub *uspi_trampoline_around(const struct uspi_walk *walk, struct uspi_code *code, usp_addr pc,
                                                      bool thumb, int64_t *popped);

#endif
