/* SPDX-License-Identifier: MIT */
/* Many threads, each in a deep stack of its own. Some run, the others wait. */
#ifndef TESTS_BENCH_WORKING_THREADS_H
#define TESTS_BENCH_WORKING_THREADS_H

#include "tests/bench/measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic(unsigned) parked;
static _Atomic(bool) may_leave;
static volatile unsigned sink;

/* Calls itself until `depth` is 1. A running thread returns when may_leave is set; a waiting one does not notice it. */
APART static void stand_in_calls(unsigned depth, bool runs) {
    if (depth > 1) {
        stand_in_calls(depth - 1, runs);
    } else {
        atomic_fetch_add(&parked, 1);
        while (!atomic_load(&may_leave)) {
            if (!runs) pause();
        }
    }
    sink++;
}

struct working_thread {
    unsigned depth;
    bool runs;
    pthread_t pthread;
};

static inline void *run_working_thread(void *context) {
    const struct working_thread *thread = context;
    stand_in_calls(thread->depth, thread->runs);
    return NULL;
}

/* Starts the threads. Returns when all have reached their depth. `threads` must live as long as the threads. */
static inline bool start_working_threads(struct working_thread *threads, unsigned count, unsigned depth,
                                         unsigned running) {
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct working_thread){.depth = depth, .runs = i < running};
        if (pthread_create(&threads[i].pthread, NULL, run_working_thread, &threads[i]) != 0) return false;
    }
    while (atomic_load(&parked) < count) usleep(1000);
    return true;
}

#endif
