/* SPDX-License-Identifier: MIT */
/* Tests threads of this process: listing them, and capturing one or all of them. Covers threads that answer and threads
 * that end, growth of the reserved memory, and fork. test_linux_unable.c tests threads that cannot answer,
 * test_linux_shared_signal.c the signal and other handlers of it. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/support/linux_asleep.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

#define FRAMES 8192u

static struct usp_frame frames[FRAMES];

/* The system's calls; those that send a signal are counted. */
static struct uspi_linux_calls calls;
static _Atomic(unsigned) sent;

static long send_counted(pid_t pid, pid_t tid, int signal) {
    long e = uspi_linux_real.send_signal(pid, tid, signal);
    if (e >= 0) atomic_fetch_add(&sent, 1);
    return e;
}

static void begin_each(void) {
    calls = uspi_linux_real;
    calls.send_signal = send_counted;
    leave_out_emulator(&calls);
    uspi_linux = &calls;
}

static void prepare_with(uint32_t max_threads, uint32_t stack_copy, uint64_t timeout) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.max_threads = max_threads;
    options.stack_copy = stack_copy;
    options.timeout = timeout;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

/* The timeout is long enough for a busy machine. */
static void prepare(void) { prepare_with(64, 65536, patience()); }

BOUNDS(capture);
static BOUNDED(capture) int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    int status = usp_capture_thread(thread, NULL, stack);
    /* Keeps the call above from being a tail call. */
    atomic_fetch_add(&standing_sink, 1);
    return status;
}

BOUNDS(take_snapshot);
static BOUNDED(take_snapshot) struct usp_snapshot *take_snapshot(uint64_t timeout) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.timeout = timeout;
    options.max_frames = FRAMES;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    return snapshot;
}

static const struct usp_snapshot_thread *find_thread(const struct usp_snapshot *snapshot, uint64_t id) {
    for (size_t i = 0;; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        if (t == NULL || t->info.thread.id == id) return t;
    }
}

/* ---- finding threads ---- */

static void name_self(void) { pthread_setname_np(pthread_self(), "standing ) (x"); }

START_TEST(threads_are_listed_with_names) {
    struct parked s[3] = {{.prepare = name_self, .wait = wait_asleep}, {.wait = wait_asleep}, {.wait = NULL}};
    struct usp_thread_info infos[16], one;
    size_t count = 0;
    for (unsigned i = 0; i < 3; i++) stand_begin(&s[i]);
    /* The thread sleeps most of the time, so one of the lists must show it asleep. */
    bool asleep = false;
    for (int round = 0; round < 1000 && !asleep; round++) {
        ck_assert_int_eq(usp_threads(infos, 16, &count), USP_OK);
        for (size_t i = 0; i < count; i++) asleep |= infos[i].thread.id == s[0].thread.id && infos[i].run_state == 'S';
    }
    ck_assert(asleep);
    /* Emulators have threads of their own. */
    ck_assert_uint_ge(count, 4);
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = infos[i].thread.id;
        if (id == s[0].thread.id) {
            found++;
            ck_assert_str_eq(infos[i].name, "standing ) (x");
            ck_assert_uint_eq(infos[i].flags, 0);
        }
        if (id == s[2].thread.id) {
            found++;
            ck_assert_uint_eq(infos[i].run_state, 'R');
        }
        if (id == (uint64_t)getpid()) {
            found++;
            ck_assert_uint_eq(infos[i].flags, USP_THREAD_MAIN | USP_THREAD_REQUESTER);
        }
    }
    ck_assert_uint_eq(found, 3);
    size_t total = 0;
    ck_assert_int_eq(usp_threads(&one, 1, &total), USP_ERROR_FULL);
    ck_assert_uint_eq(total, count);
    ck_assert_int_eq(usp_threads(NULL, 0, &total), USP_ERROR_FULL);
    ck_assert_int_eq(usp_threads(NULL, 1, &total), USP_ERROR_ARGUMENT);
    for (unsigned i = 0; i < 3; i++) stand_end(&s[i]);
}
END_TEST

START_TEST(a_pthread_leads_to_its_thread) {
    struct parked s = {.wait = wait_asleep};
    struct usp_thread thread;
    stand_begin(&s);
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)s.pthread, &thread), USP_OK);
    ck_assert_uint_eq(thread.id, s.thread.id);
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)pthread_self(), &thread), USP_OK);
    ck_assert_uint_eq(thread.id, (uint64_t)getpid());
    ck_assert_int_eq(usp_thread_from_pthread(0, &thread), USP_ERROR_NO_THREAD);
    /* A thread that has ended but was not joined. */
    sem_post(&s.may_leave);
    for (unsigned i = 0; i < PATIENT_LOOKS && usp_thread_from_pthread((uintptr_t)s.pthread, &thread) == USP_OK; i++)
        usleep(1000);
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)s.pthread, &thread), USP_ERROR_NO_THREAD);
    pthread_join(s.pthread, NULL);
}
END_TEST

static struct usp_thread main_of_another;

static void ask_for_main(void) { ck_assert_int_eq(usp_thread_main(&main_of_another), USP_OK); }

START_TEST(the_main_thread_is_the_same_for_everyone) {
    struct parked s = {.prepare = ask_for_main};
    struct usp_thread thread;
    ck_assert_int_eq(usp_thread_main(&thread), USP_OK);
    ck_assert_uint_eq(thread.id, (uint64_t)getpid());
    stand_begin(&s);
    stand_end(&s);
    ck_assert_uint_eq(main_of_another.id, thread.id);
}
END_TEST

/* Runs in a process of its own, whose main thread ends first. The exit status is the number of the check that
 * failed. */
static void *outlive_main(void *context) {
    struct usp_thread main_thread = {(uint64_t)getpid(), (uint64_t)getpid()}, found;
    struct usp_stack stack;
    (void)context;
    for (unsigned i = 0; i < PATIENT_LOOKS && usp_thread_main(&found) == USP_OK; i++) usleep(1000);
    if (usp_thread_main(&found) != USP_ERROR_NO_THREAD) _exit(1);
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    if (usp_prepare(&options) != USP_OK) _exit(2);
    unsigned before_all = atomic_load(&sent);
    for (int i = 0; i < 20; i++) {
        uint64_t before = usp_clock();
        if (capture(&main_thread, &stack) != USP_ERROR_NO_THREAD) _exit(3);
        /* The capture notices that there is no such thread, and does not wait for the timeout. */
        if (usp_clock() - before > patience() / 2) _exit(4);
    }
    struct usp_snapshot *snapshot;
    if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK) _exit(5);
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    if (t->info.thread.id != main_thread.id || t->info.flags != USP_THREAD_MAIN) _exit(6);
    if (t->status != USP_ERROR_NO_THREAD || t->stack.count != 0) _exit(7);
    /* A thread whose answer is not awaited must not get a signal at each capture. */
    if (atomic_load(&sent) - before_all > 1) _exit(8);
    usp_snapshot_free(snapshot);
    _exit(0);
}

START_TEST(a_main_thread_that_has_ended_is_no_thread) {
    int status;
    if (!LIBC_MAIN_MAY_END) return;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, outlive_main, NULL) != 0) _exit(9);
        pthread_exit(NULL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
}
END_TEST

/* ---- one thread ---- */

/* Captures prepare the library themselves, also after it was shut down. A helper process needs no preparation. Options
 * that the program chose stay in force. */
START_TEST(captures_prepare_themselves) {
    struct parked s = {.wait = wait_asleep};
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    stand_begin(&s);
    ck_assert(!usp_is_prepared());
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    ck_assert_int_eq(stack.stop, USP_STOP_ROOT);
    ck_assert(usp_is_prepared());
    usp_shutdown();
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 2);
    usp_snapshot_free(snapshot);
    ck_assert(usp_is_prepared());
    usp_shutdown();
    struct usp_prepare_options options;
    struct usp_capture_usage usage;
    usp_prepare_options_init(&options);
    options.kept_rules = 0;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    ck_assert_int_eq(usp_capture_get_usage(&usage), USP_OK);
    ck_assert_uint_eq(usage.rules, 0);
    usp_shutdown();
    stand_end(&s);
}
END_TEST

START_TEST(all_calls_of_a_thread_are_captured) {
    struct usp_stack stack;
    prepare();
    for (unsigned depth = 0; depth < 60; depth += 19) {
        struct parked spinning = {.depth = depth}, asleep = {.depth = depth, .wait = wait_asleep};
        stand_begin(&spinning);
        ck_assert_int_eq(capture(&spinning.thread, &stack), USP_OK);
        expect_standing(&spinning, &stack);
        ck_assert_uint_gt(stack.stopped_ns, 0);
        stand_end(&spinning);
        stand_begin(&asleep);
        usleep(2000);
        ck_assert_int_eq(capture(&asleep.thread, &stack), USP_OK);
        /* The walk passes libc's sleep as far as its instructions show the way. */
        ck_assert_uint_ge(stack.count, 1);
        stand_end(&asleep);
    }
}
END_TEST

START_TEST(the_caller_captures_itself) {
    struct usp_thread self;
    struct usp_stack stack;
    prepare();
    ck_assert_int_eq(usp_thread_self(&self), USP_OK);
    ck_assert_int_eq(capture(&self, &stack), USP_OK);
    ck_assert_uint_eq(stack.frames[0].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_uint_eq(FRAMES_IN(&stack, capture), 1);
}
END_TEST

START_TEST(there_is_no_such_thread) {
    struct usp_stack stack;
    prepare();
    const uint64_t ids[] = {0, 1, INT32_MAX, UINT64_MAX};
    for (unsigned i = 0; i < 4; i++) {
        struct usp_thread thread = {ids[i], ids[i]};
        ck_assert_int_eq(capture(&thread, &stack), USP_ERROR_NO_THREAD);
        ck_assert_uint_eq(stack.count, 0);
    }
    ck_assert_int_eq(usp_capture_thread(NULL, NULL, &stack), USP_ERROR_ARGUMENT);
}
END_TEST

static void *end_at_once(void *context) {
    usp_thread_self(context);
    return NULL;
}

START_TEST(threads_end_while_they_are_asked) {
    struct usp_stack stack;
    unsigned there = 0, gone = 0;
    prepare();
    for (int i = 0; i < 500; i++) {
        _Atomic(uint64_t) dummy = 0;
        struct usp_thread thread = {0, 0};
        pthread_t p;
        (void)dummy;
        ck_assert_int_eq(pthread_create(&p, NULL, end_at_once, &thread), 0);
        for (int k = 0; k < 10000 && *(volatile uint64_t *)&thread.id == 0; k++) sched_yield();
        if (thread.id != 0) {
            int status = capture(&thread, &stack);
            /* An ending thread blocks all signals. An emulated machine whose host is busy counts the time that it lacks as
             * the thread's own. */
            const bool is_slow = is_on_emulated_kernel() && status == USP_ERROR_TIMEOUT;
            ck_assert_msg(status == USP_OK || status == USP_ERROR_NO_THREAD || is_slow, "%s",
                          usp_status_string(status));
            there += status == USP_OK;
            gone += status != USP_OK;
        }
        pthread_join(p, NULL);
    }
    ck_assert_uint_gt(there + gone, 0);
}
END_TEST

/* ---- what the captured thread must not notice ---- */

static int pipe_ends[2];
static _Atomic(int) errno_lost, call_interrupted, errno_rounds;

static void keep_errno(struct parked *s) {
    while (atomic_load(&s->leave) == 0) {
        errno = 1234;
        for (int i = 0; i < 1000; i++) atomic_fetch_add(&standing_sink, 1);
        if (errno != 1234) atomic_store(&errno_lost, 1);
        atomic_fetch_add(&errno_rounds, 1);
    }
}

static void read_from_pipe(struct parked *s) {
    char c;
    if (read(pipe_ends[0], &c, 1) != 1) atomic_store(&call_interrupted, 1);
    while (atomic_load(&s->leave) == 0) usleep(1000);
}

START_TEST(errno_and_system_calls_of_the_target_are_left_alone) {
    struct parked busy = {.wait = keep_errno}, reading = {.wait = read_from_pipe};
    struct usp_stack stack;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    prepare();
    stand_begin(&busy);
    stand_begin(&reading);
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(capture(&busy.thread, &stack), USP_OK);
        ck_assert_int_eq(capture(&reading.thread, &stack), USP_OK);
    }
    for (int i = 0; i < 5; i++) usp_snapshot_free(take_snapshot(patience()));
    ck_assert_int_gt(atomic_load(&errno_rounds), 0);
    ck_assert_int_eq(atomic_load(&errno_lost), 0);
    ck_assert_int_eq(write(pipe_ends[1], "x", 1), 1);
    stand_end(&reading);
    stand_end(&busy);
    ck_assert_int_eq(atomic_load(&call_interrupted), 0);
}
END_TEST

/* ---- all threads ---- */

/* An emulator's threads wait uninterruptibly for the lock of its address space when the machine is busy. Such threads are
 * not waited for. */
static bool is_asleep_in_emulator(const struct usp_snapshot_thread *t) { return is_slowed() && was_asleep(t); }

static uint32_t count_missed(const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    uint32_t missed = info->missed;
    for (uint32_t i = 0; i < info->thread_count; i++) {
        missed -= is_asleep_in_emulator(usp_snapshot_get_thread(snapshot, i));
    }
    return missed;
}

static void capture_many(unsigned n) {
    struct parked *s = calloc(n, sizeof *s);
    ck_assert_ptr_nonnull(s);
    prepare_with(4, 4096, patience());
    for (unsigned i = 0; i < n; i++) {
        s[i].depth = i % 5;
        s[i].wait = i % 1000 == 0 ? NULL : wait_asleep;
        s[i].stack_size = 131072;
        stand_begin(&s[i]);
    }
    struct usp_snapshot *snapshot = take_snapshot(patience());
    /* A user-mode emulator blocks all signals from when it receives one until it runs the handler, and may sleep
     * meanwhile. On a busy machine such threads are given up, as real ones that sleep with the signal blocked. */
    for (unsigned again = 0; is_user_emulated() && again < 20 && count_missed(snapshot) != 0; again++) {
        usp_snapshot_free(snapshot);
        snapshot = take_snapshot(patience());
    }
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_ge(info->thread_count, n + 1);
    ck_assert_uint_eq(count_missed(snapshot), 0);
    ck_assert_uint_gt(info->stopped_ns, 0);
    ck_assert_uint_eq(usp_snapshot_get_thread(snapshot, 0)->info.flags, USP_THREAD_MAIN | USP_THREAD_REQUESTER);
    for (uint32_t i = 2; i < info->thread_count; i++) {
        ck_assert_uint_lt(usp_snapshot_get_thread(snapshot, i - 1)->info.thread.id,
                          usp_snapshot_get_thread(snapshot, i)->info.thread.id);
    }
    for (unsigned i = 0; i < n; i++) {
        const struct usp_snapshot_thread *t = find_thread(snapshot, s[i].thread.id);
        ck_assert_ptr_nonnull(t);
        if (is_asleep_in_emulator(t)) continue;
        ck_assert_int_eq(t->status, USP_OK);
        if (s[i].wait == NULL) expect_standing(&s[i], &t->stack);
        ck_assert_uint_ge(t->stack.count, 1);
    }
    usp_snapshot_free(snapshot);
    for (unsigned i = 0; i < n; i++) atomic_store(&s[i].leave, 1);
    for (unsigned i = 0; i < n; i++) stand_end(&s[i]);
    free(s);
}

START_TEST(seventy_threads) { capture_many(70); }
END_TEST
START_TEST(two_hundred_threads) { capture_many(200); }
END_TEST
START_TEST(two_thousand_threads) { capture_many(is_slowed() ? 500 : 2000); }
END_TEST

START_TEST(one_thread_of_a_snapshot) {
    struct parked s[2] = {{.depth = 4}, {.depth = 1}};
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    prepare();
    stand_begin(&s[0]);
    stand_begin(&s[1]);
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    options.only_thread = s[0].thread.id;
    options.sp_bytes = 64;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 1);
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    expect_standing(&s[0], &t->stack);
    usp_addr sp = usp_registers_sp(&t->registers);
    ck_assert_uint_le(t->sp_bytes_address, sp);
    ck_assert_uint_gt(t->sp_bytes_address + t->sp_bytes_size, sp);
    ck_assert_ptr_nonnull(t->sp_bytes);
    usp_snapshot_free(snapshot);
    options.only_thread = 1;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_ERROR_NO_THREAD);
    ck_assert_ptr_null(snapshot);
    options.only_thread = (uint64_t)getpid();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 1);
    usp_snapshot_free(snapshot);
    stand_end(&s[0]);
    stand_end(&s[1]);
}
END_TEST

BOUNDS(snapshot_here);
static BOUNDED(snapshot_here) struct usp_snapshot *snapshot_here(void) {
    struct usp_snapshot *snapshot = take_snapshot(patience());
    atomic_fetch_add(&standing_sink, 1);
    return snapshot;
}

START_TEST(the_requester_has_its_own_stack_in_the_snapshot) {
    prepare();
    struct usp_snapshot *snapshot = snapshot_here();
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    char program[4096];
    ck_assert_uint_ge(t->stack.count, 2);
    ck_assert_uint_lt(t->stack.frames[0].pc - LOW(take_snapshot), HIGH(take_snapshot) - LOW(take_snapshot));
    ck_assert_uint_lt(t->stack.frames[1].pc - LOW(snapshot_here), HIGH(snapshot_here) - LOW(snapshot_here));
    ck_assert_uint_eq(usp_registers_pc(&t->registers), t->stack.frames[0].pc);
    ck_assert_ptr_nonnull(realpath("/proc/self/exe", program));
    ck_assert_str_eq(usp_snapshot_get_info(snapshot)->program, program);
    usp_snapshot_free(snapshot);
}
END_TEST

/* ---- growth ---- */

START_TEST(a_deep_stack_makes_the_reservation_grow) {
    struct parked s = {.depth = 6000, .stack_size = 4u << 20};
    struct usp_stack stack;
    prepare_with(1, 4096, patience());
    stand_begin(&s);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    expect_standing(&s, &stack);
    usp_shutdown();
    prepare_with(1, 4096, patience());
    struct usp_snapshot *snapshot = take_snapshot(patience());
    expect_standing(&s, &find_thread(snapshot, s.thread.id)->stack);
    usp_snapshot_free(snapshot);
    stand_end(&s);
}
END_TEST

/* The depth of a stack above 2 MB in a thread whose bounds are not known. Every frame must be counted, and both ends
 * must be right. */
#define DEEP_DEPTH 30000u

BOUNDS(outermost_here);
static BOUNDED(outermost_here) void outermost_here(struct parked *s) {
    stand_deep(s, s->depth);
    atomic_fetch_add(&standing_sink, 1);
}

static struct parked deepest = {.depth = DEEP_DEPTH};

static void stand_deepest(struct parked *s) {
    (void)s;
    outermost_here(&deepest);
}

static void expect_both_ends(const struct usp_stack *stack) {
    if (stack->stop != USP_STOP_ROOT) show_stack(stack);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
    ck_assert_uint_gt(stack->count + stack->omitted, DEEP_DEPTH + 3);
    ck_assert_uint_lt(stack->count + stack->omitted, DEEP_DEPTH + 12);
    ck_assert_uint_eq(stack->omitted_at, 40);
    ck_assert_uint_gt(FRAMES_IN(stack, stand_deep), 40);
    ck_assert_uint_eq(FRAMES_IN(stack, outermost_here), 1);
}

START_TEST(a_stack_above_two_megabytes_keeps_both_ends) {
    struct parked s = {.wait = stand_deepest, .stack_size = 32u << 20};
    struct usp_unwind_options options;
    struct usp_snapshot_options all;
    struct usp_snapshot *snapshot;
    struct usp_stack stack;
    memset(&deepest, 0, sizeof deepest);
    deepest.depth = DEEP_DEPTH;
    prepare();
    stand_begin(&s);
    while (atomic_load(&deepest.there) == 0) usleep(100);
    usp_unwind_options_init(&options);
    options.tail = 24;
    usp_stack_init(&stack, frames, 64);
    ck_assert_int_eq(usp_capture_thread(&s.thread, &options, &stack), USP_OK);
    expect_both_ends(&stack);
    usp_snapshot_options_init(&all);
    all.max_frames = 64;
    all.unwind.tail = 24;
    all.timeout = patience();
    for (uint32_t means = USP_SNAPSHOT_BY_SIGNALS; means <= USP_SNAPSHOT_BY_HELPER; means++) {
        all.means = means;
        int status = usp_snapshot_create_self(&all, &snapshot);
        /* Not every system permits tracing. */
        if (status != USP_OK && means == USP_SNAPSHOT_BY_HELPER) break;
        ck_assert_int_eq(status, USP_OK);
        expect_both_ends(&find_thread(snapshot, s.thread.id)->stack);
        usp_snapshot_free(snapshot);
    }
    atomic_store(&deepest.leave, 1);
    atomic_store(&s.leave, 1);
    stand_end(&s);
}
END_TEST

/* Learns the bounds of the whole stack when little of it is in use. */
static void learn_early(void) { ck_assert_int_eq(usp_thread_prepare(), USP_OK); }

START_TEST(a_prepared_thread_knows_its_whole_stack) {
    struct parked s = {.depth = 6000, .prepare = learn_early, .stack_size = 4u << 20};
    struct usp_snapshot *snapshot;
    prepare();
    stand_begin(&s);
    snapshot = take_snapshot(patience());
    const struct usp_snapshot_thread *t = find_thread(snapshot, s.thread.id);
    expect_standing(&s, &t->stack);
    ck_assert_uint_ge(t->stack_high - t->stack_low, 4u << 20);
    usp_snapshot_free(snapshot);
    stand_end(&s);
}
END_TEST

/* ---- fork ---- */

START_TEST(a_forked_child_captures_its_own_threads) {
    struct parked s = {.depth = 2};
    struct usp_stack stack;
    int status;
    prepare();
    stand_begin(&s);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    pid_t child = fork();
    if (child == 0) {
        struct parked own = {.depth = 5};
        alarm(240);
        /* The parent's thread does not exist in the child. */
        if (capture(&s.thread, &stack) != USP_ERROR_NO_THREAD) _exit(1);
        if (pthread_create(&own.pthread, NULL, stand, &own) != 0) _exit(2);
        while (atomic_load(&own.there) == 0) usleep(100);
        if (capture(&own.thread, &stack) != USP_OK || stack.stop != USP_STOP_ROOT) _exit(3);
        if (FRAMES_IN(&stack, stand_deep) != 6) _exit(4);
        struct usp_snapshot *snapshot;
        if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK) _exit(5);
        if (find_thread(snapshot, own.thread.id) == NULL || find_thread(snapshot, s.thread.id) != NULL) _exit(6);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    expect_standing(&s, &stack);
    stand_end(&s);
}
END_TEST

/* ---- several requesters ---- */

static struct parked *crowd;
static _Atomic(unsigned) crowd_captures;

static void capture_each_other(struct parked *s) {
    static _Thread_local struct usp_frame own_frames[64];
    for (unsigned i = 0; i < 100; i++) {
        const struct parked *other = &crowd[(size_t)(s - crowd + 1 + (ptrdiff_t)i) % 8];
        struct usp_stack stack;
        if (atomic_load(&other->there) == 0 || atomic_load(&other->leave) != 0) continue;
        usp_stack_init(&stack, own_frames, 64);
        int status = usp_capture_thread(&other->thread, NULL, &stack);
        if (status == USP_OK) atomic_fetch_add(&crowd_captures, 1);
        if (status != USP_OK && status != USP_ERROR_NO_THREAD) abort();
    }
    while (atomic_load(&s->leave) == 0) usleep(1000);
}

START_TEST(requesters_take_turns) {
    struct parked s[8];
    if (is_on_emulated_kernel()) return; /* two processors for eight requesters: they are late, and give up */
    /* QEMU 7.2's user-mode emulator of arm stops or ends by SIGABRT when threads send each other signals all the time. */
    if (strncmp(test_under(), "qemu-arm ", 9) == 0) return;
    memset(s, 0, sizeof s);
    crowd = s;
    prepare_with(8, 65536, patience());
    for (unsigned i = 0; i < 8; i++) {
        s[i].wait = capture_each_other;
        stand_begin(&s[i]);
    }
    for (unsigned i = 0; i < 20; i++) usp_snapshot_free(take_snapshot(patience()));
    for (unsigned i = 0; i < 8; i++) stand_end(&s[i]);
    ck_assert_uint_gt(atomic_load(&crowd_captures), 100);
}
END_TEST

/* ---- other stacks ---- */

static _Atomic(struct parked *) in_handler;

static void stand_in_handler(int number) {
    (void)number;
    stand_deep(atomic_load(&in_handler), atomic_load(&in_handler)->depth);
}

static void raise_on_alternate_stack(struct parked *s) {
    struct sigaction action;
    stack_t alternate = {.ss_size = 65536};
    struct parked inner = {.depth = 3};
    alternate.ss_sp = malloc(alternate.ss_size);
    memset(&action, 0, sizeof action);
    action.sa_handler = stand_in_handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&alternate, NULL);
    atomic_store(&in_handler, &inner);
    raise(SIGUSR1);
    while (atomic_load(&s->leave) == 0) usleep(1000);
    alternate.ss_flags = SS_DISABLE;
    void *memory = alternate.ss_sp;
    sigaltstack(&alternate, NULL);
    free(memory);
}

START_TEST(a_handler_on_an_alternate_stack_leads_to_what_it_interrupted) {
    struct parked s = {.depth = 2, .wait = raise_on_alternate_stack};
    struct usp_stack stack;
    prepare();
    stand_begin(&s);
    while (atomic_load(&in_handler) == NULL || atomic_load(&atomic_load(&in_handler)->there) == 0) usleep(100);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    unsigned signals = 0;
    for (uint32_t i = 0; i < stack.count; i++) signals += stack.frames[i].kind == USP_FRAME_KIND_SIGNAL;
    if (signals != 1) show_stack(&stack);
    ck_assert_uint_eq(signals, 1);
    /* The code under the handler is in libc's raise: with frame records alone its caller is not always found. */
    unsigned deep = FRAMES_IN(&stack, stand_deep);
    ck_assert_uint_ge(deep, 4);
    if (stack.stop == USP_STOP_ROOT) ck_assert_uint_eq(deep, 7);
    atomic_store(&atomic_load(&in_handler)->leave, 1);
    stand_end(&s);
}
END_TEST

/* A thread with an alternate stack answers on it, because its own stack may have no room. */
static struct uspi_linux_calls watched;
static _Atomic(pid_t) asked_thread;
static _Atomic(uintptr_t) asked_at;

static pid_t watch_own_thread(void) {
    pid_t tid = uspi_linux_real.own_thread();
    if (tid == atomic_load(&asked_thread)) atomic_store(&asked_at, (uintptr_t)__builtin_frame_address(0));
    return tid;
}

#define ALTERNATE_SIZE 65536u

static void *alternate_memory;

static void have_alternate_stack(void) {
    stack_t alternate = {.ss_sp = alternate_memory, .ss_size = ALTERNATE_SIZE};
    sigaltstack(&alternate, NULL);
}

static void have_none(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}

START_TEST(a_thread_with_an_alternate_stack_is_asked_there) {
    struct parked s = {.depth = 3, .prepare = have_alternate_stack, .after = have_none};
    struct usp_stack stack;
    alternate_memory = malloc(ALTERNATE_SIZE);
    prepare();
    watched = uspi_linux_real;
    watched.own_thread = watch_own_thread;
    stand_begin(&s);
    atomic_store(&asked_thread, (pid_t)s.thread.id);
    uspi_linux = &watched;
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    uspi_linux = &uspi_linux_real;
    expect_standing(&s, &stack);
    ck_assert_uint_lt(atomic_load(&asked_at) - (uintptr_t)alternate_memory, ALTERNATE_SIZE);
    stand_end(&s);
    free(alternate_memory);
}
END_TEST

static ucontext_t outside, inside;
static struct parked coroutine = {.depth = 4};

BOUNDS(stand_in_coroutine);
static BOUNDED(stand_in_coroutine) void stand_in_coroutine(void) {
    stand_deep(&coroutine, coroutine.depth);
    atomic_fetch_add(&standing_sink, 1);
}

static void switch_to(void (*function)(void), size_t stack_size, struct parked *s) {
    void *memory = malloc(stack_size);
    getcontext(&inside);
    inside.uc_stack.ss_sp = memory;
    inside.uc_stack.ss_size = stack_size;
    inside.uc_link = &outside;
    makecontext(&inside, function, 0);
    swapcontext(&outside, &inside);
    while (atomic_load(&s->leave) == 0) usleep(1000);
    free(memory);
}

static void switch_to_coroutine(struct parked *s) { switch_to(stand_in_coroutine, 65536, s); }

START_TEST(a_coroutine_has_its_own_stack) {
    struct parked s = {.depth = 2, .wait = switch_to_coroutine};
    struct usp_stack stack;
    if (!LIBC_HAS_COROUTINES) return;
    prepare();
    stand_begin(&s);
    while (atomic_load(&coroutine.there) == 0) usleep(100);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_deep), 5);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_in_coroutine), 1);
    struct usp_snapshot *snapshot = take_snapshot(patience());
    const struct usp_snapshot_thread *t = find_thread(snapshot, s.thread.id);
    ck_assert_uint_eq(FRAMES_IN(&t->stack, stand_deep), 5);
    usp_snapshot_free(snapshot);
    atomic_store(&coroutine.leave, 1);
    stand_end(&s);
}
END_TEST

/* The size of a coroutine's stack, whose end is not known. Captures copy only a part of it. They must not read the rest
 * later, because the coroutine already runs again. */
#define LONG_STACK ((size_t)2 << 20)

static struct parked long_coroutine;

static KEPT void use_stack(void) {
    char space[LONG_STACK / 2];
    /* Keeps compilers from removing the array, which has no visible effect. */
    __asm__ volatile("" : : "r"(space) : "memory");
    stand_deep(&long_coroutine, long_coroutine.depth);
    __asm__ volatile("" : : "r"(space) : "memory");
}

/* Calls use_stack, so that its own frame record lies beyond the room on every processor. */
static KEPT void have_room_taken(void) {
    use_stack();
    atomic_fetch_add(&standing_sink, 1);
}

static void switch_to_long_coroutine(struct parked *s) { switch_to(have_room_taken, LONG_STACK, s); }

static void expect_cut(const struct usp_stack *stack) {
    if (stack->stop != USP_STOP_NOT_COPIED) show_stack(stack);
    ck_assert_uint_eq(FRAMES_IN(stack, stand_deep), 5);
    ck_assert_uint_eq(stack->stop, USP_STOP_NOT_COPIED);
}

START_TEST(what_was_not_copied_of_a_coroutine_is_not_read_later) {
    struct parked s = {.depth = 2, .wait = switch_to_long_coroutine};
    if (!LIBC_HAS_COROUTINES) return;
    struct usp_stack stack;
    memset(&long_coroutine, 0, sizeof long_coroutine);
    long_coroutine.depth = 4;
    prepare();
    stand_begin(&s);
    while (atomic_load(&long_coroutine.there) == 0) usleep(100);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    expect_cut(&stack);
    struct usp_snapshot *snapshot = take_snapshot(patience());
    expect_cut(&find_thread(snapshot, s.thread.id)->stack);
    usp_snapshot_free(snapshot);
    atomic_store(&long_coroutine.leave, 1);
    stand_end(&s);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("threads");
    tcase_add_checked_fixture(c, begin_each, NULL);
    add_tests(
        c, threads_are_listed_with_names, a_pthread_leads_to_its_thread, the_main_thread_is_the_same_for_everyone,
        captures_prepare_themselves, all_calls_of_a_thread_are_captured, the_caller_captures_itself,
        there_is_no_such_thread, threads_end_while_they_are_asked, errno_and_system_calls_of_the_target_are_left_alone,
        seventy_threads, two_hundred_threads, two_thousand_threads, one_thread_of_a_snapshot,
        the_requester_has_its_own_stack_in_the_snapshot, a_deep_stack_makes_the_reservation_grow,
        a_stack_above_two_megabytes_keeps_both_ends, a_prepared_thread_knows_its_whole_stack, requesters_take_turns,
        a_handler_on_an_alternate_stack_leads_to_what_it_interrupted, a_thread_with_an_alternate_stack_is_asked_there,
        a_coroutine_has_its_own_stack, what_was_not_copied_of_a_coroutine_is_not_read_later);
    /* A user-mode emulator ends when its main thread ends or when a process with threads forks. It makes a fork of
     * vfork and queues signals by itself. */
    if (!is_user_emulated()) {
        add_tests(c, a_main_thread_that_has_ended_is_no_thread, a_forked_child_captures_its_own_threads);
    }
    return run_suite("linux_threads", c);
}
