/* SPDX-License-Identifier: MIT */
/* The signal that requests are sent with, and its handler, which coexists with other users of the signal.
 *
 * The signal is ignored by default (SIGURG, else SIGWINCH). So a signal that is still pending when a thread calls exec
 * does no harm to the new program. At most one such signal is pending: if the program sends one to the same thread at
 * the same moment, it is merged with ours. Therefore the program's handler is called each time. It may be called more
 * often than the program sent the signal, but never less often.
 *
 *     the kernel ─> our handler ─> requests are answered (answer.h) ─> the program's handler, if there is one
 *
 * The program may install its handler before ours or later; in the latter case the next capture puts ours in front
 * again. Each time our handler replaces another one, it is a different function, a layer, which always stands for the
 * same replaced action. So a program may restore the action that it found, and a handler that calls the previous one
 * does not create a cycle. Other copies of the library in the same program: second_copy.h. */
#ifndef USPI_OS_LINUX_SIGNAL_H
#define USPI_OS_LINUX_SIGNAL_H

#include "lib/os/linux/capturing.h"

#include <signal.h>

/* Whether an action calls a function. SIG_DFL and SIG_IGN mean the same with SA_SIGINFO (Linux kernel/signal.c), and
 * both members of the union have them. */
static inline bool uspi_is_handler(const struct sigaction *action) {
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Installs the handler, or puts it back in front. The caller holds the lock `changes`.
 *   wanted  SIGURG or SIGWINCH; 0: the one that another copy of the library uses, else the first for which the program
 *           has no handler
 * Returns USP_OK, USP_ERROR_BUSY when the program's handler can be called only once (SA_RESETHAND) or was replaced too
 * often, USP_ERROR_SYSTEM when no signal is free. */
int uspi_signal_install(int wanted);

/* Restores the previous action if the handler is still ours. The caller holds the lock. */
void uspi_signal_uninstall(void);

/* Returns whether another copy of the library has a handler. Async-signal-safe. */
bool uspi_signal_has_second_copy(void);

/* Returns whether our handler is in front, or behind another copy's that calls it. Async-signal-safe. */
bool uspi_signal_is_ours(void);

/* Puts our handler in front, before the deadline (usp_clock). The caller does not hold the lock. Returns as
 * uspi_signal_install does. */
int uspi_signal_restore(uint64_t deadline);

/* Returns whether a program may choose this signal. */
bool uspi_signal_is_allowed(int number);

#endif
