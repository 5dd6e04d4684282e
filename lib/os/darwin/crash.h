/* SPDX-License-Identifier: MIT */
/* The crash kit's state in lib/os/darwin: crash.c has the signals, crash_threads.c the other threads. */
#ifndef USPI_OS_DARWIN_CRASH_H
#define USPI_OS_DARWIN_CRASH_H

#include "lib/os/darwin/capturing.h"

#include <signal.h>
#include <sys/time.h>

#define USPI_CRASH_SIGNALS 8u

/* Where a thread faulted. */
struct uspi_darwin_position {
    uint64_t thread, pc, sp;
    uintptr_t address;
};

/* A signal's action before the kit was installed. */
struct uspi_darwin_earlier {
    bool is_ours;          /* our handler was installed */
    _Atomic(bool) is_gone; /* it ran, and may run only once (SA_RESETHAND) */
    struct sigaction action;
};

struct uspi_darwin_crash {
    struct uspi_os_crash_hooks hooks;
    _Atomic(int64_t) process; /* the process that records; 0: none */
    struct uspi_darwin_earlier earlier[USPI_CRASH_SIGNALS];
    semaphore_t nap; /* never signalled: threads sleep on it */

    _Atomic(uint64_t) recorder; /* the thread that records a crash, or ENDING; 0: none */
    /* Written by that thread. */
    _Atomic(int) stage;   /* enum stage */
    uintptr_t handler_at; /* an address in its handler's frame */
    uintptr_t stack_low;  /* the alternate stack on which it runs; 0, 0: it runs on the interrupted one */
    uintptr_t stack_high;
    int first; /* the signal, its siginfo, and the thread */
    siginfo_t first_info;
    pthread_t first_thread;
    struct uspi_darwin_position retracted; /* an earlier handler returned here, and the report was removed */
    uint64_t alarm_from;                   /* the earliest time of our alarm; UINT64_MAX: no timer of ours runs */
    bool is_alarm_missed;                  /* the program's own alarm came meanwhile */
    struct itimerval timer;                /* the program's timer and its handler of alarms */
    struct sigaction alarm;
    sigset_t mask; /* the crashed thread's, if it is known */
    bool has_mask;

    /* The other threads, max_threads of each. */
    struct uspi_held *held;
    struct usp_thread_info *infos;
    size_t max_threads;
};

#endif
