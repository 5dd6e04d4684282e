/* SPDX-License-Identifier: MIT */
/* Threads that do what programs do, all the time: allocate, take locks, sort, load and unload libraries, send each other
 * signals, end and are born again. Each keeps the truth about its stack (linux_shadow.h). Who captures them, and what is
 * expected, is the tests' business. */
#ifndef TESTS_LINUX_STORM_H
#define TESTS_LINUX_STORM_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/linux_shadow.h"

#define STORM_MAX 64

struct storm_worker {
    _Atomic(uint64_t) tid;                 /* 0: not alive */
    _Atomic(const struct shadow *) shadow; /* on its stack */
    _Atomic(unsigned) generation;          /* even: not alive or about to end; odd: alive */
    pthread_t thread;
    _Atomic(int) ended; /* may be joined */
    unsigned number;
};

extern struct storm_worker storm_workers[STORM_MAX];

/* Starts `count` workers, and a thread that replaces those that end. plugins: two libraries to load, NULL: none. */
void storm_begin(unsigned count, const char *const plugins[2]);
void storm_end(void);

/* How often they did what, so that a test can see that they did. */
struct storm_deeds {
    _Atomic(unsigned long) allocations, locks, sorts, loads, signals, births;
};
extern struct storm_deeds storm_deeds;

#endif
