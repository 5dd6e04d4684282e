/* SPDX-License-Identifier: MIT */
/* The time limit of a stop by a tracer. The stop has steps, and every loop over threads asks whether its step is over:
 *
 *     began                                                     began + length
 *       │ ask all to stop │ wait, registers │ copy, locks │ resume │
 *
 * The steps after asking take time for each thread, as asking does: waiting and resuming as long as asking, copying half
 * as long (10,000 threads at a real-time priority). The kernel resumes all threads at once and cannot be limited, so the
 * steps before end early by what it will take. Functions are async-signal-safe. */
#ifndef USPI_OS_LINUX_LIMIT_H
#define USPI_OS_LINUX_LIMIT_H

#include "lib/os/os.h"

/* Number of threads that a step handles even if its time is over, so that small processes are captured as a whole when
 * the tracer had to wait for a processor. */
#define USPI_ALWAYS_DONE 32u
/* Each step has at least 1 / STEP_SHARE of the limit, for the same reason. */
#define USPI_STEP_SHARE 16u

struct uspi_limit {
    uint64_t began;  /* when the first thread was asked to stop; usp_clock */
    uint64_t length; /* of the whole stop, in ns */
    uint64_t asking; /* how long it took to ask the threads to stop, in ns */
    uint64_t until;  /* end of the current step; usp_clock */
};

/* Whether the current step is over. */
static inline bool uspi_limit_is_past(const struct uspi_limit *limit) { return uspi_os_clock() >= limit->until; }

/* Whether the current step is over for a loop that has handled `done` threads. */
static inline bool uspi_limit_is_over(const struct uspi_limit *limit, size_t done) {
    return done >= USPI_ALWAYS_DONE && uspi_limit_is_past(limit);
}

/* Begins a step that ends when all but `rest` ns of the limit has passed. */
static inline void uspi_limit_begin_step(struct uspi_limit *limit, uint64_t rest) {
    const uint64_t least = uspi_os_clock() + limit->length / USPI_STEP_SHARE;
    limit->until = limit->began + (rest < limit->length ? limit->length - rest : 0);
    if (limit->until < least) limit->until = least;
}

/* Begins the step in which threads are asked to stop. */
static inline void uspi_limit_begin_asking(struct uspi_limit *limit) {
    uspi_limit_begin_step(limit, limit->length / 4 * 3);
}

/* Begins the step in which threads stop. A quarter of the limit is kept for copies: threads that do not stop take only
 * the rest. */
static inline void uspi_limit_begin_waiting(struct uspi_limit *limit) {
    const uint64_t least = limit->length / 4, rest = limit->asking + limit->asking / 2;
    uspi_limit_begin_step(limit, rest > least ? rest : least);
}

/* Begins a step in which stopped threads are copied. */
static inline void uspi_limit_begin_copying(struct uspi_limit *limit) { uspi_limit_begin_step(limit, limit->asking); }

#endif
