/* SPDX-License-Identifier: MIT */
/* Threads that do all the time what programs do: they allocate, take locks, sort, load and unload libraries, send each
 * other signals, end and are replaced. Each keeps its true stack in a shadow stack (linux_shadow.h). The tests that
 * include this capture the threads and check the stacks. */
#ifndef TESTS_CAPTURE_LINUX_STORM_H
#define TESTS_CAPTURE_LINUX_STORM_H

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

/* Starts `count` workers, and a thread that replaces workers that end. plugins: two libraries to load; NULL: load no
 * library. */
void storm_begin(unsigned count, const char *const plugins[2]);
void storm_end(void);

/* How often the workers did each of their tasks. A test checks with it that every task was done. */
struct storm_deeds {
    _Atomic(unsigned long) allocations, locks, sorts, loads, signals, births;
};
extern struct storm_deeds storm_deeds;

#endif
