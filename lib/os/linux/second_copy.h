/* SPDX-License-Identifier: MIT */
/* Other copies of this library in the process, also of other versions (doc/embedding.md). Each copy has its own state;
 * they share the process's signals and threads. What they know of each other is agreed here, and no version changes it:
 *
 *   - A copy's handler is recognized by its action: SA_SIGINFO, and a mask of all signals but USPI_LINUX_FAULTS. No
 *     other program has that mask, because libc leaves its own signals out of a mask.
 *   - All copies use one signal, unless their programs chose different ones. Each handler calls the next one.
 *   - A copy whose thread is in a capture calls the next copy with si_errno = USPI_DEFER. That copy answers its
 *     requests, does not call the program's handler, and sets si_errno = USPI_DEFERRED if there is one. The capturing
 *     copy sends the signal again at the end of its capture.
 *   - A copy that stops all threads holds an exclusive flock of /proc/self/maps if it sees another copy. Otherwise each
 *     of two copies could hold a thread that the other one waits for. Of the files that a process can always open for
 *     itself, this is one that other users cannot open, and so cannot lock. */
#ifndef USPI_OS_LINUX_SECOND_COPY_H
#define USPI_OS_LINUX_SECOND_COPY_H

#include "lib/os/linux/capturing.h"

/* The mask of every copy's handler. */
#define USPI_HANDLER_MASK (~USPI_LINUX_FAULTS)

#define USPI_DEFER    0x75737001
#define USPI_DEFERRED 0x75737002

/* Whether an action is the handler of any copy, this one's included. Async-signal-safe. */
bool uspi_is_copys_action(const struct sigaction *action);

/* Whether a thread with these signals blocked (struct uspi_proc_stat) is in a handler or in a capture of any copy, or
 * blocks the same signals by itself. Async-signal-safe. */
bool uspi_blocks_as_copy(uint64_t blocked);

/* Keeps other copies from stopping threads until uspi_copies_unlock(*lock). Returns USP_OK, also where the system has
 * no such lock; USP_ERROR_BUSY: another copy held it until the deadline (usp_clock). Async-signal-safe. */
int uspi_copies_lock(uint64_t deadline, int *lock);
void uspi_copies_unlock(int lock);

#endif
