/* SPDX-License-Identifier: MIT */
/* The crash kit's state in lib/os/darwin: crash.c has the signals, crash_exceptions.c the exceptions, crash_threads.c
 * the other threads. */
#ifndef USPI_OS_DARWIN_CRASH_H
#define USPI_OS_DARWIN_CRASH_H

#include "lib/os/darwin/capturing.h"
#include "lib/os/posix/crash.h"

struct uspi_darwin_crash {
    struct uspi_posix_crash common;
    semaphore_t nap; /* never signalled: threads sleep on it */

    /* The thread that records a crash; end_late sends the signal to it. */
    pthread_t first_thread;
    /* The thread that crashed: the same one, or one that waits in the kernel for our reply. */
    uint64_t first_id;
    thread_act_t first_port;

    _Atomic(uint64_t) receiver; /* our thread that receives exceptions; it is not recorded */
    mach_port_t exceptions;     /* the port to which exceptions are sent; MACH_PORT_NULL: signals alone */
    unsigned int masks;         /* the exceptions that were sent to it at first (exception_mask_t) */
    mach_port_t kept;           /* a port of an earlier installation, which another reporter may still know */
    int64_t kept_by;            /* the process that has it */
    int behavior;               /* how they are sent (exception_behavior_t) */
    int exceptions_status;      /* what uspi_darwin_exceptions_begin returned */

    /* The other threads, max_threads of each. */
    struct uspi_held *held;
    struct usp_thread_info *infos;
    size_t max_threads;
};

/* Describes the live memory of a held thread as if it was a copy (crash_threads.c). */
void uspi_darwin_crash_describe_memory(const struct uspi_held *held, struct uspi_thread_copy *copy);

/* Begin and end receiving exceptions, while the kit is installed (crash_exceptions.c). Returns USP_OK, also on tvOS,
 * which has none; USP_ERROR_PERMISSION: the system forbids it; USP_ERROR_BUSY: a debugger or another reporter receives
 * some exceptions, or all; USP_ERROR_SYSTEM. */
int uspi_darwin_exceptions_begin(struct uspi_darwin_crash *c);
void uspi_darwin_exceptions_end(struct uspi_darwin_crash *c);

#endif
