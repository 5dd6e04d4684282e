/* SPDX-License-Identifier: MIT */
/* The crash kit's state in lib/os/darwin: crash.c has the signals, crash_threads.c the other threads. */
#ifndef USPI_OS_DARWIN_CRASH_H
#define USPI_OS_DARWIN_CRASH_H

#include "lib/os/darwin/capturing.h"
#include "lib/os/posix/crash.h"

struct uspi_darwin_crash {
    struct uspi_posix_crash common;
    semaphore_t nap; /* never signalled: threads sleep on it */

    /* The thread that records a crash. */
    pthread_t first_thread;
    thread_act_t first_port;

    /* The other threads, max_threads of each. */
    struct uspi_held *held;
    struct usp_thread_info *infos;
    size_t max_threads;
};

#endif
