/* SPDX-License-Identifier: MIT */
/* The signal by which threads are asked, and the handler for it: what else uses the signal, and how both go on working.
 *
 * The signal is one that is ignored by default (SIGURG, else SIGWINCH): one that is still pending when a thread becomes
 * another program by exec is then nothing to it. Such a signal is pending once at most; one that the program sends to the
 * same thread at the same moment becomes one with ours. So whatever handler the program has for it is called each time, and
 * may be called more often than the program sent the signal, never less.
 *
 *     the kernel ─> our handler ─> requests are answered (answer.h) ─> the program's handler, if there is one
 *
 * The program's handler may be there first, or be installed later; then ours is put before it again by the next capture.
 * Each time ours takes another one's place it is another function, a layer, that knows for good whom it stands for: a program
 * that puts back the action that it found is understood, and a handler that calls the one before it makes no circle. */
#ifndef USPI_LINUX_SIGNAL_H
#define USPI_LINUX_SIGNAL_H

#include "lib/os/linux/capturing.h"

/* Installs the handler, or puts it back in front. The lock `changes` must be held.
 *   wanted  SIGURG or SIGWINCH; 0: the first of them for which the program has no handler
 * USP_OK, USP_ERROR_BUSY when the program's handler is one that can be called once only (SA_RESETHAND), or was replaced too
 * often, USP_ERROR_SYSTEM when no signal is free. */
int uspi_signal_install(int wanted);

/* Puts back what was there before, if the handler is still ours. The lock must be held. */
void uspi_signal_uninstall(void);

/* Whether our handler is in front. Async-signal-safe. */
bool uspi_signal_is_ours(void);

/* Puts it there, by the deadline (usp_clock), without the lock. Returns as uspi_signal_install. */
int uspi_signal_restore(uint64_t deadline);

/* Whether a program may choose it. */
bool uspi_signal_is_allowed(int number);

#endif
