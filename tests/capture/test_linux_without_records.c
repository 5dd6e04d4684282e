/* SPDX-License-Identifier: MIT */
/* Tests usp_backtrace in code without frame records, as gcc -O2 makes it: after usp_prepare it gives the frames of
 * usp_capture_self; before, with little stack left, and on processors other than x86_64 and i386, it gives those of
 * usp_backtrace_records. Compiled with optimization and -fomit-frame-pointer. */
#define _GNU_SOURCE 1
#include "tests/support/suite.h"

#include <unspool/capture.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 512

static void *fast[FRAMES], *by_records[FRAMES];
static struct usp_frame frames[FRAMES];
static struct usp_stack stack;
static int fast_count, record_count;
static volatile int sink;

static __attribute__((noinline)) void take_all(void) {
    fast_count = usp_backtrace(fast, FRAMES);
    record_count = usp_backtrace_records(by_records, FRAMES);
    usp_stack_init(&stack, frames, FRAMES);
    usp_capture_self(NULL, &stack);
    sink++;
}

static __attribute__((noinline)) void inner(int n) {
    volatile char room[40];
    room[n & 31] = (char)n;
    take_all();
    sink += room[n & 31];
}

static __attribute__((noinline)) void middle(int n) {
    inner(n + 1);
    sink += n;
}

static __attribute__((noinline)) void deep(int n) {
    if (n > 0) {
        deep(n - 1);
    } else {
        middle(n);
    }
    sink += n;
}

/* All but the first address, which lies at another call of take_all. */
static void expect_frames_of_capture(void) {
    ck_assert_int_eq(fast_count, (int)stack.count);
    for (int i = 1; i < fast_count; i++) ck_assert_uint_eq((uintptr_t)fast[i], frames[i].pc);
}

static void expect_records_alone(void) {
    ck_assert_int_eq(fast_count, record_count);
    for (int i = 1; i < fast_count; i++) ck_assert_ptr_eq(fast[i], by_records[i]);
}

START_TEST(before_prepare_by_records_alone) {
    usp_shutdown();
    middle(1);
    expect_records_alone();
    ck_assert_uint_gt(stack.count, 3);
}
END_TEST

START_TEST(after_prepare_all_frames) {
    usp_shutdown();
    middle(1); /* call sites that are seen before usp_prepare are judged again */
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    for (int i = 0; i < 3; i++) {
        middle(i);
        expect_frames_of_capture();
        ck_assert_uint_eq(stack.stop, USP_STOP_ROOT);
    }
    ck_assert_int_lt(record_count, fast_count);
    usp_shutdown();
    middle(1);
    expect_records_alone();
}
END_TEST

START_TEST(after_prepare_by_records_alone) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    for (int i = 0; i < 3; i++) {
        middle(i);
        expect_records_alone();
        ck_assert_int_gt(fast_count, 0);
    }
}
END_TEST

START_TEST(deep_stacks) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    const int depths[] = {0, 1, 27, 28, 29, 30, 60, 61, 62, 300};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        deep(depths[i]);
        expect_frames_of_capture();
        ck_assert_int_gt(fast_count, depths[i]);
    }
    deep(2 * FRAMES);
    ck_assert_int_eq(fast_count, FRAMES);
    expect_frames_of_capture();
}
END_TEST

START_TEST(small_buffers) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    void *all[FRAMES], *some[8];
    const int n = usp_backtrace(all, FRAMES);
    for (int size = 1; size <= 8 && size <= n; size++) {
        some[size - 1] = NULL;
        ck_assert_int_eq(usp_backtrace(some, size), size);
        for (int i = 1; i < size; i++) ck_assert_ptr_eq(some[i], all[i]);
        ck_assert_ptr_nonnull(some[size - 1]);
    }
}
END_TEST

static int compare(const void *a, const void *b) {
    (void)a, (void)b;
    middle(2);
    return 0;
}

/* A function of libc calls one of this program. */
START_TEST(through_libc) {
    int numbers[2] = {1, 2};
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    for (int i = 0; i < 2; i++) {
        qsort(numbers, 2, sizeof *numbers, compare);
        expect_frames_of_capture();
    }
}
END_TEST

static void on_signal(int number) {
    (void)number;
    middle(3);
}

START_TEST(in_a_signal_handler) {
    struct sigaction action = {.sa_handler = on_signal};
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 2; i++) {
        raise(SIGUSR1);
        ck_assert_int_eq(fast_count, (int)stack.count);
        for (int k = 1; k < fast_count; k++) {
            ck_assert_uint_eq((uintptr_t)fast[k], frames[k].pc + (frames[k].kind == USP_FRAME_KIND_SIGNAL));
        }
    }
}
END_TEST

static void *run_thread(void *unused) {
    middle(4);
    return unused;
}

static void run_on(size_t size) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *memory = NULL;
    ck_assert_int_eq(posix_memalign(&memory, 65536, size), 0);
    memset(memory, 0, size);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, memory, size), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run_thread, NULL), 0);
    pthread_join(thread, NULL);
    free(memory);
}

START_TEST(threads) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    run_on(1 << 20);
    expect_frames_of_capture();
    ck_assert_int_lt(record_count, fast_count);
}
END_TEST

static void on_alternate_stack(int number) {
    (void)number;
    fast_count = usp_backtrace(fast, FRAMES);
    record_count = usp_backtrace_records(by_records, FRAMES);
}

START_TEST(on_an_alternate_stack_by_records_alone) {
    static char room[65536];
    const stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK};
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    expect_records_alone();
}
END_TEST

/* Calls itself until less than 24 KB of the stack are left. */
static __attribute__((noinline)) void fill(const char *end) {
    volatile char room[1024];
    room[0] = 1;
    if ((const char *)room - end > 20000) {
        fill(end);
    } else {
        fast_count = usp_backtrace(fast, FRAMES);
        record_count = usp_backtrace_records(by_records, FRAMES);
    }
    sink += room[0];
}

static void *fill_stack(void *end) {
    usp_thread_prepare();
    fill(end);
    return NULL;
}

START_TEST(little_stack_by_records_alone) {
    pthread_attr_t attributes;
    pthread_t thread;
    const size_t size = 1 << 18;
    void *memory = NULL;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(posix_memalign(&memory, 65536, size), 0);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, memory, size), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, fill_stack, memory), 0);
    pthread_join(thread, NULL);
    free(memory);
    expect_records_alone();
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("usp_backtrace");
    const uint32_t arch = usp_arch_host();
    if (arch == USP_ARCH_X86_64 || arch == USP_ARCH_I386) {
        add_tests(tests, before_prepare_by_records_alone, after_prepare_all_frames, deep_stacks, small_buffers,
                  through_libc, in_a_signal_handler, threads, on_an_alternate_stack_by_records_alone,
                  little_stack_by_records_alone);
    } else {
        add_tests(tests, after_prepare_by_records_alone);
    }
    return run_suite("linux_without_records", tests);
}
