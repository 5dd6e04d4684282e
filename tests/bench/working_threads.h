/* SPDX-License-Identifier: MIT */
/* Many threads, each deep in calls of its own, of which some run and the others wait. */
#ifndef TESTS_BENCH_WORKING_THREADS_H
#define TESTS_BENCH_WORKING_THREADS_H

#include "tests/bench/measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic(unsigned) standing;
static _Atomic(bool) may_leave;
static volatile unsigned sink;

/* Returns when may_leave is set, which one that waits does not notice. */
APART static void stand_in_calls(unsigned depth, bool runs) {
    if (depth > 1) {
        stand_in_calls(depth - 1, runs);
    } else {
        atomic_fetch_add(&standing, 1);
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

/* Returns when all stand where they are to stand; they must live as long as their threads. */
static inline bool start_working_threads(struct working_thread *threads, unsigned count, unsigned depth,
                                         unsigned running) {
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct working_thread){.depth = depth, .runs = i < running};
        if (pthread_create(&threads[i].pthread, NULL, run_working_thread, &threads[i]) != 0) return false;
    }
    while (atomic_load(&standing) < count) usleep(1000);
    return true;
}

#endif
