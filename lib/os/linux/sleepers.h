/* SPDX-License-Identifier: MIT */
/* Threads that sleep uninterruptibly (state D: the parent of a vfork child, a frozen control group, a disk or a server
 * that does not answer). They cannot be stopped until they wake up, so they are not: waiting for them would hold all
 * others. They run nothing meanwhile, and the kernel says where they left the program (/proc/PID/task/TID/syscall): pc,
 * sp, the system call's number and arguments. The other registers are not known. */
#ifndef USPI_OS_LINUX_SLEEPERS_H
#define USPI_OS_LINUX_SLEEPERS_H

#include "lib/os/linux/tracer.h"

/* How long a thread has to sleep, in ns, until it is not waited for any more: 2 ms with the checks around it. */
#define USPI_LONG_SLEEP 1800000u

/* Before any thread is stopped: marks the threads that slept when they were listed, and still do after 2 ms without
 * having run. Of given threads, marks those that are known to sleep and have not run since. */
void uspi_sleepers_find(struct uspi_tracing *tracing);

/* Looks at a thread that has not stopped yet. Returns whether it slept for about 2 ms; it is marked then. */
bool uspi_sleepers_look(struct uspi_tracing *tracing, size_t i, uint64_t now);

/* Takes the registers of all marked threads. Those that have woken up are not marked any more; those for which the time
 * does not suffice get the status USP_ERROR_TIMEOUT. Returns whether there are threads that have woken up. */
bool uspi_sleepers_take(struct uspi_tracing *tracing);

/* After the copies: marked threads that ran meanwhile get the status USP_ERROR_TIMEOUT, because their copies can be
 * torn; also those for which the time does not suffice. */
void uspi_sleepers_confirm(struct uspi_tracing *tracing);

#endif
