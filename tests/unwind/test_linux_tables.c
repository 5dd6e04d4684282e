/* SPDX-License-Identifier: MIT */
/* Stacks of this process through code without frame pointers, by call frame information alone. This file is compiled
 * without frame pointers, and so is qsort of Debian's libc. Every function notes its return address; the stacks must
 * contain these notes. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"
#include "tests/support/suite.h"

#include <signal.h>

#define FRAMES 256u
#define NOTES  64u

static struct usp_frame frames[FRAMES];
static struct usp_stack stack;
static uintptr_t notes[NOTES]; /* outermost first */
static unsigned note_count;
static void (*at_the_bottom)(void);

/* Notes the return address of the function that uses it. A sort may continue to compare after the deepest call, so
 * notes already taken are never overwritten. */
#define NOTE()                                                                                                         \
    do {                                                                                                               \
        uintptr_t back = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));                        \
        if (note_count < NOTES) notes[note_count++] = back;                                                            \
    } while (0)

static void go_down(unsigned depth);

KEPT static int compare(const void *a, const void *b) {
    NOTE();
    if (note_count < NOTES / 2) go_down(*(const unsigned *)a);
    atomic_fetch_add(&standing_sink, 1);
    return a < b ? -1 : a > b;
}

/* Recurses; half of the levels lead through libc. The array makes frames of different sizes. */
KEPT static void go_down(unsigned depth) {
    NOTE();
    unsigned pair[2] = {depth - 1, depth - 1};
    if (depth == 0) {
        at_the_bottom();
        note_count = NOTES; /* no further sorting */
    } else if (depth % 2 == 0) {
        qsort(pair, 2, sizeof pair[0], compare);
    } else {
        volatile char space[200];
        space[depth] = 1;
        go_down(depth - 1);
        atomic_fetch_add(&standing_sink, (unsigned)space[depth]);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static struct usp_unwind_options by_tables(uint32_t others) {
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.readers = USP_READER_CFI | others;
    return options;
}

static unsigned noted_at_capture;

KEPT static void capture_here(void) {
    struct usp_unwind_options options = by_tables(0);
    noted_at_capture = note_count;
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_self(&options, &stack), USP_OK);
    atomic_fetch_add(&standing_sink, 1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    struct usp_unwind_options options = by_tables(0);
    (void)number, (void)info;
    noted_at_capture = note_count;
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_context(context, &options, &stack), USP_OK);
}

static void on_signal_self(int number) {
    struct usp_unwind_options options = by_tables(USP_READER_SIGNAL);
    (void)number;
    noted_at_capture = note_count;
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_self(&options, &stack), USP_OK);
}

KEPT static void raise_here(void) {
    raise(SIGUSR1);
    atomic_fetch_add(&standing_sink, 1);
}

/* Expects every note as a frame, in order, by the tables, and the stack to end at the program's first function. */
static void expect_notes(uint32_t stop) {
    uint32_t next = 1;
    ck_assert_uint_ge(noted_at_capture, 9);
    for (unsigned i = noted_at_capture; i-- > 0;) {
        while (next < stack.count && stack.frames[next].pc != notes[i]) next++;
        ck_assert_msg(next < stack.count, "no frame returns to %#jx", (uintmax_t)notes[i]);
        ck_assert_uint_eq(stack.frames[next].method, USP_FRAME_METHOD_CFI);
        ck_assert_uint_ne(stack.frames[next].cfa, 0);
    }
    ck_assert_msg(stack.stop == stop, "stopped because %s", usp_stop_reason_string(stack.stop));
    ck_assert_uint_eq(stack.omitted, 0);
}

static void descend(void (*bottom)(void)) {
    note_count = 0;
    at_the_bottom = bottom;
    go_down(6);
}

START_TEST(calling_thread) {
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    descend(capture_here);
    expect_notes(USP_STOP_ROOT);
    for (uint32_t i = 1; i < stack.count; i++) ck_assert_uint_eq(stack.frames[i].method, USP_FRAME_METHOD_CFI);
}
END_TEST

/* A capture must not look images up: without a registered list it has no tables. */
START_TEST(not_registered) {
    descend(capture_here);
    ck_assert_uint_eq(stack.count, 1);
    ck_assert_uint_eq(stack.stop, USP_STOP_NO_RECORD);
}
END_TEST

/* raise and its callees keep no frame records; the context's pc is inside them. */
START_TEST(signal_context) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    descend(raise_here);
    expect_notes(USP_STOP_ROOT);
}
END_TEST

START_TEST(signal_handler) {
    struct sigaction action = {.sa_handler = on_signal_self};
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    descend(raise_here);
    expect_notes(USP_STOP_ROOT);
    unsigned signals = 0;
    for (uint32_t i = 0; i < stack.count; i++) signals += stack.frames[i].kind == USP_FRAME_KIND_SIGNAL;
    ck_assert_uint_eq(signals, 1);
}
END_TEST

static sem_t there, may_leave;

KEPT static void wait_here(void) {
    noted_at_capture = note_count;
    sem_post(&there);
    while (sem_wait(&may_leave) != 0) continue;
    atomic_fetch_add(&standing_sink, 1);
}

static void *descend_and_wait(void *context) {
    descend(wait_here);
    return context;
}

/* A thread that waits in libc, captured alone and with all others. */
START_TEST(other_thread) {
    pthread_t pthread;
    struct usp_thread thread;
    struct usp_unwind_options options = by_tables(0);
    struct usp_prepare_options prepare;
    usp_prepare_options_init(&prepare);
    prepare.timeout = patience();
    ck_assert_int_eq(usp_prepare(&prepare), USP_OK);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert(sem_init(&there, 0, 0) == 0 && sem_init(&may_leave, 0, 0) == 0);
    ck_assert_int_eq(pthread_create(&pthread, NULL, descend_and_wait, NULL), 0);
    while (sem_wait(&there) != 0) continue;
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)pthread, &thread), USP_OK);
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_thread(&thread, &options, &stack), USP_OK);
    expect_notes(USP_STOP_ROOT);

    struct usp_snapshot_options snapshot_options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&snapshot_options);
    snapshot_options.timeout = prepare.timeout;
    snapshot_options.only_thread = thread.id;
    snapshot_options.unwind.readers = USP_READER_CFI;
    ck_assert_int_eq(usp_snapshot_create_self(&snapshot_options, &snapshot), USP_OK);
    const struct usp_snapshot_thread *other = NULL;
    for (uint32_t i = 0; i < usp_snapshot_get_info(snapshot)->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        if (t->info.thread.id == thread.id) other = t;
    }
    ck_assert_ptr_nonnull(other);
    stack = other->stack;
    expect_notes(USP_STOP_ROOT);
    usp_snapshot_free(snapshot);

    sem_post(&may_leave);
    pthread_join(pthread, NULL);
    usp_thread_release(&thread);
    usp_shutdown();
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("this process");
    /* 32-bit ARM has other unwind tables. */
    if (usp_arch_host() != USP_ARCH_ARMV7 && LIBC_HAS_TABLES) {
        add_tests(tests, calling_thread, not_registered, signal_context, signal_handler, other_thread);
    }
    return run_suite("linux_tables", tests);
}
