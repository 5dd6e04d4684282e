/* SPDX-License-Identifier: MIT */
/* The system call that our signal interrupted. The kernel starts most calls again (SA_RESTART); this mends what it leaves.
 * doc/signal-safety.md has the table of all calls. */
#ifndef USPI_LINUX_RESTART_H
#define USPI_LINUX_RESTART_H

#include "lib/os/linux/linux.h"

/* At the end of our handler, before it returns into *context, its third argument:
 *
 * - A call that the kernel does not start again is started again where that loses nothing: msgrcv, msgsnd, semop and
 *   sigwaitinfo on x86_64 and i386, whose number stands in the instruction before the call. Only when the program has no
 *   handler that can have run since the call ended: its EINTR would be lost.
 * - A call that will be started again ends with EINTR instead when a signal came meanwhile whose handler is to interrupt it
 *   (alarm and read). Without this, a program could wait for ever.
 *
 *   number       our signal
 *   is_shared    the program has a handler for it as well: what it interrupts stays interrupted
 * Async-signal-safe. */
void uspi_restart_mend(void *context, int number, bool is_shared);

/* Whether a system call takes signals without a handler: sigwait, sigwaitinfo, sigtimedwait. */
bool uspi_linux_is_sigwait(long call);

#endif
