/* SPDX-License-Identifier: MIT */
/* System calls that our signal interrupts. The kernel restarts most calls (SA_RESTART); this handles the others.
 * doc/signal-safety.md has the table of all calls. */
#ifndef USPI_OS_LINUX_RESTART_H
#define USPI_OS_LINUX_RESTART_H

#include "lib/os/linux/linux.h"

/* Called at the end of our handler, before it returns to *context, its third argument:
 *
 *   - It restarts calls that the kernel does not restart, where that loses nothing: msgrcv, msgsnd, semop and
 *     sigwaitinfo on x86_64 and i386, whose number is in the instruction before the call. It does so only when no
 *     handler of the program can have run since the call ended: its EINTR would be lost.
 *   - It makes a call that the kernel will restart end with EINTR if another signal arrived meanwhile whose handler is
 *     to interrupt it (such as alarm for read). Otherwise a program could wait forever.
 *
 *   number       our signal
 *   is_shared    the program has a handler for it too: interrupted calls stay interrupted
 * Async-signal-safe. */
void uspi_restart_mend(void *context, int number, bool is_shared);

/* Returns whether a system call takes signals without a handler: sigwait, sigwaitinfo, sigtimedwait. */
bool uspi_linux_is_sigwait(long call);

#endif
