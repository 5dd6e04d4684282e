/* SPDX-License-Identifier: MIT */
/* Threads that wait at a known place until they are released, for tests that capture them. */
#ifndef TESTS_SUPPORT_LINUX_THREADS_H
#define TESTS_SUPPORT_LINUX_THREADS_H

#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "tests/support/kept.h"
#include "tests/support/under.h"

#define MS UINT64_C(1000000)

/* A function in a section of its own, so that its bounds are known (linker symbols). */
#define BOUNDED(name) KEPT __attribute__((section("bounded_" #name)))
#define BOUNDS(name)  extern const char __start_bounded_##name[], __stop_bounded_##name[]
#define LOW(name)     ((uintptr_t)__start_bounded_##name)
#define HIGH(name)    ((uintptr_t)__stop_bounded_##name)
/* How many frames of a stack are in that function. */
#define FRAMES_IN(stack, name) count_frames((stack), LOW(name), HIGH(name))

static inline unsigned count_frames(const struct usp_stack *stack, usp_addr low, usp_addr high) {
    unsigned n = 0;
    for (uint32_t i = 0; i < stack->count; i++) n += stack->frames[i].pc >= low && stack->frames[i].pc < high;
    return n;
}

struct parked {
    pthread_t pthread;
    struct usp_thread thread;
    unsigned depth;                /* calls of stand_deep above stand_here */
    void (*prepare)(void);         /* runs on the thread first; may be NULL */
    void (*wait)(struct parked *); /* how it waits; NULL: it spins */
    void (*after)(void);           /* runs on the thread when it is released; may be NULL */
    size_t stack_size;             /* 0: the default */
    _Atomic(int) there, leave, finished;
    sem_t may_leave;
};

static _Atomic(unsigned) standing_sink;

BOUNDS(stand_here);
BOUNDS(stand_deep);

static BOUNDED(stand_here) void stand_here(struct parked *s) {
    atomic_store(&s->there, 1);
    if (s->wait != NULL) {
        s->wait(s);
    } else {
        while (atomic_load(&s->leave) == 0) atomic_fetch_add(&standing_sink, 1);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static BOUNDED(stand_deep) void stand_deep(struct parked *s, unsigned depth) {
    if (depth == 0) {
        stand_here(s);
    } else {
        stand_deep(s, depth - 1);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static inline void wait_asleep(struct parked *s) {
    while (sem_wait(&s->may_leave) != 0) continue;
}

static void *stand(void *context) {
    struct parked *s = context;
    s->thread.id = s->thread.native = (uint64_t)syscall(SYS_gettid);
    if (s->prepare != NULL) s->prepare();
    stand_deep(s, s->depth);
    if (s->after != NULL) s->after();
    atomic_store(&s->finished, 1);
    return NULL;
}

static inline void stand_begin(struct parked *s) {
    pthread_attr_t attributes;
    atomic_store(&s->there, 0);
    atomic_store(&s->leave, 0);
    atomic_store(&s->finished, 0);
    sem_init(&s->may_leave, 0, 0);
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    if (s->stack_size != 0) ck_assert_int_eq(pthread_attr_setstacksize(&attributes, s->stack_size), 0);
    ck_assert_int_eq(pthread_create(&s->pthread, &attributes, stand, s), 0);
    pthread_attr_destroy(&attributes);
    while (atomic_load(&s->there) == 0) usleep(100);
}

/* Waits until the kernel shows the thread in a state: 'S' asleep, 'D' in an uninterruptible wait. Between its start and
 * its wait a thread may have to wait long for a processor. Returns also after a time that is long enough. */
static inline void wait_for_state(const struct parked *s, char state) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)s->thread.id);
    for (unsigned i = 0; i < PATIENT_LOOKS; i++) {
        FILE *file = fopen(path, "r");
        const size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file != NULL) fclose(file);
        text[n] = '\0';
        const char *after_name = strrchr(text, ')');
        if (after_name != NULL && after_name[1] == ' ' && after_name[2] == state) return;
        usleep(1000);
    }
}

static inline void stand_end(struct parked *s) {
    atomic_store(&s->leave, 1);
    sem_post(&s->may_leave);
    ck_assert_int_eq(pthread_join(s->pthread, NULL), 0);
}

static inline void show_stack(const struct usp_stack *stack) {
    for (uint32_t i = 0; i < stack->count; i++) {
        if (i == 20) i = stack->count > 40 ? stack->count - 20 : i;
        fprintf(stderr, "  %2u %#llx kind %u method %u\n", i, (unsigned long long)stack->frames[i].pc,
                stack->frames[i].kind, stack->frames[i].method);
    }
    fprintf(stderr, "  stopped for reason %u\n", stack->stop);
}

/* Checks that all calls of a waiting thread are on the stack, and that the stack ends at the thread's start. */
static inline void expect_standing(const struct parked *s, const struct usp_stack *stack) {
    unsigned deep = FRAMES_IN(stack, stand_deep);
    if (deep != s->depth + 1 || stack->stop != USP_STOP_ROOT) show_stack(stack);
    ck_assert_uint_eq(deep, s->depth + 1);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
}

#endif
