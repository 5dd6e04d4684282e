/* SPDX-License-Identifier: MIT */
/* Tests the fast walk on stacks that differ each time, in many threads and in signal handlers: it finds the same frames
 * as a plain loop over the frame records. */
#define _GNU_SOURCE 1
#include "arch/host.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#define FRAMES  512
#define THREADS 100u
#define WALKS   (USP_SANITIZED || is_slowed() ? 300u : 3000u)

struct wanderer {
    uint32_t path;
    uintptr_t top; /* the record of the function that calls the first `wander` */
    unsigned walks;
};

static _Thread_local struct wanderer *volatile me;
static _Atomic(unsigned) walks_in_handlers;

/* Walks the frame chain by a plain loop, up to the record at `top`, which every walk has. */
static int walk_by_hand(uintptr_t at, uintptr_t top, void **to) {
    int n = 0;
    for (; at <= top; at = *(const uintptr_t *)at) {
        to[n++] = (void *)uspi_host_strip(((const uintptr_t *)at)[1]);
        if (at == top) return n;
    }
    ck_abort_msg("the test's own chain is broken");
}

KEPT static void expect_the_chain(uintptr_t top) {
    void *fast[FRAMES], *slow[FRAMES];
    int n = usp_backtrace(fast, FRAMES);
    int m = walk_by_hand((uintptr_t)__builtin_frame_address(0), top, slow);
    ck_assert_int_gt(n, m);
    ck_assert_int_eq(memcmp(fast + 1, slow, (size_t)m * sizeof slow[0]), 0);
    /* Walks once more into a buffer that is smaller than the stack. */
    int capacity = 1 + (int)(me->path >> 8) % n;
    void *last = fast[capacity - 1];
    ck_assert_int_eq(usp_backtrace(fast, capacity), capacity);
    if (capacity > 1) ck_assert_ptr_eq(fast[capacity - 1], last);
}

static unsigned next(struct wanderer *w, unsigned below) {
    w->path = w->path * 1664525u + 1013904223u;
    return (w->path >> 16) % below;
}

/* Recurses with frames of three sizes and several call sites. Consecutive stacks mostly agree in their outer frames and
 * differ further in. */
KEPT static void wander(unsigned depth) {
    volatile char wide[48];
    wide[0] = 0;
    if (depth == 0) {
        expect_the_chain(me->top);
    } else if (next(me, 3) == 0) {
        volatile char wider[96];
        wider[next(me, 96)] = 1;
        wander(depth - 1);
        wide[0] = wider[0];
    } else if (next(me, 2) == 0) {
        wander(depth - 1);
    } else {
        wander(depth - 1);
        wide[1] = 1;
    }
    atomic_fetch_add(&standing_sink, (unsigned char)wide[0]);
}

KEPT static void wander_far_out(unsigned depth, unsigned further) {
    if (depth > 0) {
        wander_far_out(depth - 1, further);
    } else {
        wander(further);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static void *walk_often(void *context) {
    struct wanderer *w = context;
    w->top = (uintptr_t)__builtin_frame_address(0);
    me = w;
    ck_assert_int_eq(usp_thread_prepare(), USP_OK);
    for (unsigned i = 0; i < w->walks; i++) {
        /* Sometimes the same stack is walked many times. */
        uint32_t path = w->path;
        unsigned far_out = next(w, 60), further = next(w, 60), times = next(w, 4) == 0 ? 80 : 1;
        for (unsigned k = 0; k < times; k++) {
            if (times > 1) w->path = path;
            wander_far_out(far_out, further);
        }
        if (times > 1) w->path = path + 12345;
    }
    me = NULL;
    return NULL;
}

static void walk_in_handler(int signal) {
    void *fast[FRAMES];
    (void)signal;
    int error = errno;
    /* The handler may have interrupted anything, even a walk of this thread. */
    if (me != NULL && usp_backtrace(fast, FRAMES) > 2) atomic_fetch_add(&walks_in_handlers, 1);
    errno = error;
}

/* A walk would show frames of an earlier stack of the same thread. _i: 1 if handlers walk meanwhile. */
START_TEST(stacks_that_differ_each_time) {
    pthread_t threads[THREADS];
    static struct wanderer wanderers[THREADS];
    unsigned count = _i == 2 ? THREADS : 1, walks = WALKS / (_i == 2 ? 10 : 1);
    struct sigaction action = {.sa_handler = walk_in_handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    if (_i > 0) {
        ck_assert_int_eq(sigaction(SIGPROF, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_PROF, &often, NULL), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        wanderers[i] = (struct wanderer){.path = i * 7919 + (unsigned)_i, .walks = walks};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, walk_often, &wanderers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    setitimer(ITIMER_PROF, &never, NULL);
    /* ThreadSanitizer delays signals until a system call. */
    if (_i > 0 && !USP_SANITIZED) ck_assert_uint_gt(atomic_load(&walks_in_handlers), 0);
}
END_TEST

int main(void) {
    TCase *real = tcase_create("real stacks");
    if (USPI_HOST_RECORDS) add_loop_tests(real, 0, 3, stacks_that_differ_each_time);
    return run_suite("linux_walks", real);
}
