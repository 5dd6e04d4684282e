/* SPDX-License-Identifier: MIT */
/* Tests many threads that capture each other, and threads that leave in the middle of a capture: cancelled, ended, or
 * by a jump out of a handler. No thread waits for another one's capture, and the library's memory does not grow. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "lib/os/linux/request.h"
#include "tests/support/linux_asleep.h"
#include "tests/support/linux_each_call.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

static struct uspi_linux_calls calls;

static void begin_each(void) {
    calls = uspi_linux_real;
    leave_out_emulator(&calls);
    uspi_linux = &calls;
}

/* ---- threads that capture each other ---- */

#define CROWD_MAX 500u
#define DEPTH     1000u

static struct parked *crowd;
static unsigned crowd_size;
static _Atomic(int) crowd_may_begin, crowd_may_leave;
static _Atomic(unsigned long) statuses[32], shortened;
static _Atomic(uint64_t) longest;

/* Longer than a busy machine needs: a request that ends with USP_ERROR_TIMEOUT was lost. */
#define CROWD_TIMEOUT patience()

static void note_longest(uint64_t took) {
    uint64_t seen = atomic_load(&longest);
    while (took > seen && !atomic_compare_exchange_weak(&longest, &seen, took)) continue;
}

static void capture_others(struct parked *s) {
    struct usp_frame own[64];
    struct usp_unwind_options options;
    unsigned at = (unsigned)(s - crowd);
    usp_unwind_options_init(&options);
    options.tail = 8;
    while (atomic_load(&crowd_may_begin) == 0) usleep(1000);
    while (atomic_load(&s->leave) == 0) {
        struct usp_stack stack;
        at = (at * 1103515245u + 12345u) % crowd_size;
        if (&crowd[at] == s) continue;
        usp_stack_init(&stack, own, 64);
        uint64_t began = usp_clock();
        int status = usp_capture_thread(&crowd[at].thread, &options, &stack);
        note_longest(usp_clock() - began);
        /* At the end threads return from their recursion, and some end before others, so these results do not count. */
        if (atomic_load(&crowd_may_leave) != 0) continue;
        atomic_fetch_add(&statuses[-status], 1);
        if (status == USP_OK && stack.count + stack.omitted <= DEPTH) atomic_fetch_add(&shortened, 1);
    }
}

/* Returns how many threads have no stack, without those that slept uninterruptibly. */
static unsigned long count_missed(const struct usp_snapshot *snapshot) {
    unsigned long missed = 0;
    for (size_t i = 0; i < usp_snapshot_get_info(snapshot)->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        missed += t->status != USP_OK && !was_asleep(t);
    }
    return missed;
}

static void take_snapshots(struct parked *s) {
    while (atomic_load(&crowd_may_begin) == 0) usleep(1000);
    while (atomic_load(&s->leave) == 0) {
        struct usp_snapshot_options options;
        struct usp_snapshot *snapshot;
        usp_snapshot_options_init(&options);
        options.timeout = CROWD_TIMEOUT;
        const uint64_t began = usp_clock();
        const int status = usp_snapshot_create_self(&options, &snapshot);
        note_longest(usp_clock() - began);
        const bool counts = atomic_load(&crowd_may_leave) == 0;
        if (counts) atomic_fetch_add(&statuses[-status], 1);
        if (status != USP_OK) continue;
        if (counts) atomic_fetch_add(&shortened, count_missed(snapshot));
        usp_snapshot_free(snapshot);
    }
}

static bool has_counted(void) {
    for (unsigned i = 0; i < 32; i++) {
        if (atomic_load(&statuses[i]) != 0) return true;
    }
    return false;
}

/* Returns how many captures there were. `statuses` then has their results. */
static unsigned long work_in_crowd(unsigned size, unsigned depth, void (*work)(struct parked *),
                                   unsigned milliseconds) {
    crowd = calloc(size, sizeof *crowd);
    ck_assert_ptr_nonnull(crowd);
    crowd_size = size;
    for (unsigned i = 0; i < size; i++) {
        crowd[i].depth = depth;
        crowd[i].wait = work;
        crowd[i].stack_size = 1u << 20;
        stand_begin(&crowd[i]);
    }
    atomic_store(&crowd_may_begin, 1);
    /* A loop of short sleeps, because captures interrupt a sleep. */
    const uint64_t end = usp_clock() + milliseconds * MS;
    while (usp_clock() < end) usleep(10000);
    /* A slow machine may need longer for the first capture. */
    while (!has_counted() && usp_clock() < end + patience()) usleep(10000);
    atomic_store(&crowd_may_leave, 1);
    for (unsigned i = 0; i < size; i++) atomic_store(&crowd[i].leave, 1);
    for (unsigned i = 0; i < size; i++) stand_end(&crowd[i]);
    unsigned long all = 0;
    for (unsigned i = 0; i < 32; i++) {
        all += atomic_load(&statuses[i]);
        if (i != 0 && statuses[i] != 0) printf("%s: %lu\n", usp_status_string(-(int)i), statuses[i]);
    }
    printf("%u threads: %lu captures, the longest took %.1f ms\n", size, all, (double)longest / 1e6);
    fflush(stdout);
    ck_assert_uint_gt(all, 0);
    ck_assert_uint_eq(atomic_load(&shortened), 0);
    free(crowd);
    return all;
}

static void run_crowd(unsigned size, unsigned depth, void (*work)(struct parked *), unsigned milliseconds) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = CROWD_TIMEOUT;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    const unsigned long all = work_in_crowd(size, depth, work, milliseconds);
    ck_assert_uint_eq(all, atomic_load(&statuses[0]));
}

START_TEST(a_hundred_threads_capture_each_other) {
    run_crowd(is_slowed() || USP_SANITIZED ? 20 : 100, DEPTH, capture_others, sampled(300, 2000) * test_scale());
}
END_TEST

/* At the default timeout, a thread that waits long for a processor may be too late. But no capture may be refused
 * because other threads capture. */
START_TEST(a_hundred_threads_capture_each_other_with_defaults) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    const unsigned long all =
        work_in_crowd(is_slowed() || USP_SANITIZED ? 20 : 100, DEPTH, capture_others, sampled(200, 500));
    ck_assert_uint_eq(all, atomic_load(&statuses[0]) + atomic_load(&statuses[-USP_ERROR_TIMEOUT]));
}
END_TEST

START_TEST(five_hundred_threads_capture_each_other) {
    run_crowd(CROWD_MAX, DEPTH, capture_others, sampled(300, 2000) * test_scale());
}
END_TEST

/* While twenty threads take snapshots at the same time, none of them may be kept from its turn. */
START_TEST(twenty_threads_take_snapshots) {
    run_crowd(is_slowed() || USP_SANITIZED ? 5 : 20, 10, take_snapshots, sampled(300, 2000) * test_scale());
}
END_TEST

/* ---- a thread that answers others first ---- */

static struct parked target = {.depth = 40};
static _Atomic(int) is_answering;

static uint64_t own_cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

/* Makes the first answer take as long as hundreds of answers. */
static long wake_slowly(_Atomic(uint32_t) *word, int n) {
    if (syscall(SYS_gettid) == (long)target.thread.id && atomic_exchange(&is_answering, 1) == 0) {
        for (const uint64_t end = own_cpu_time() + 50 * MS; own_cpu_time() < end;) continue;
    }
    return uspi_linux_real.wake(word, n);
}

static void *capture_once(void *context) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 64);
    *(int *)context = usp_capture_thread(&target.thread, NULL, &stack);
    return NULL;
}

/* A capture would fail though its target is only busy: it answers another capture in its handler, with the signal
 * blocked. The requester must wait for it. */
START_TEST(a_thread_that_answers_others_first) {
    struct usp_prepare_options options;
    pthread_t other;
    int first, second;
    usp_prepare_options_init(&options);
    options.timeout = CROWD_TIMEOUT;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    stand_begin(&target);
    calls.wake = wake_slowly;
    ck_assert_int_eq(pthread_create(&other, NULL, capture_once, &first), 0);
    while (atomic_load(&is_answering) == 0) usleep(100);
    capture_once(&second);
    pthread_join(other, NULL);
    ck_assert_int_eq(first, USP_OK);
    ck_assert_int_eq(second, USP_OK);
    stand_end(&target);
}
END_TEST

/* ---- the timeout bounds the whole call ---- */

static _Atomic(int) stuck_may_go;

static long never_answered(pid_t pid, pid_t tid, int signal) {
    return atomic_load(&stuck_may_go) != 0 ? uspi_linux_real.send_signal(pid, tid, signal) : 0;
}

START_TEST(the_timeout_bounds_the_whole_call) {
    struct parked s = {.depth = 1};
    struct usp_frame frames[16];
    struct usp_stack stack;
    struct usp_snapshot_options all;
    struct usp_snapshot *snapshot;
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = 50 * MS;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    stand_begin(&s);
    calls.send_signal = never_answered;
    usp_stack_init(&stack, frames, 16);
    uint64_t began = usp_clock();
    ck_assert_int_eq(usp_capture_thread(&s.thread, NULL, &stack), USP_ERROR_TIMEOUT);
    uint64_t took = usp_clock() - began;
    ck_assert_uint_ge(took, 50 * MS);
    ck_assert_uint_lt(took, patience());
    usp_snapshot_options_init(&all);
    all.timeout = 50 * MS;
    began = usp_clock();
    ck_assert_int_eq(usp_snapshot_create_self(&all, &snapshot), USP_OK);
    ck_assert_uint_lt(usp_clock() - began, patience());
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 1);
    usp_snapshot_free(snapshot);
    atomic_store(&stuck_may_go, 1);
    stand_end(&s);
}
END_TEST

/* ---- leaving in the middle of a capture ---- */

static _Atomic(unsigned long) captures;

static void capture_target(void) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    usp_stack_init(&stack, frames, 64);
    (void)usp_capture_thread(&target.thread, NULL, &stack);
    if (atomic_fetch_add(&captures, 1) % 16 == 0 && usp_snapshot_create_self(NULL, &snapshot) == USP_OK) {
        usp_snapshot_free(snapshot);
    }
}

static void *capture_for_ever(void *type) {
    int old;
    pthread_setcanceltype((int)(intptr_t)type, &old);
    for (;;) {
        capture_target();
        pthread_testcancel();
    }
    return NULL;
}

/* Returns the bytes of requests that were replaced because a handler was late. They stay mapped until the next one is
 * replaced while no handler runs. */
static size_t retired_bytes(void) {
    size_t n = 0;
    for (const struct uspi_request *r = atomic_load(&uspi_capturing.retired); r != NULL; r = r->retired) n += r->mapped;
    return n;
}

/* Checks that captures still work and that memory has not grown beyond what simultaneous captures need. others: how
 * many requesters there were at the same time beside the first. */
static void expect_still_working(const struct usp_capture_usage *before, unsigned others) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    struct usp_capture_usage after;
    for (unsigned i = 0; i < 20; i++) {
        usp_stack_init(&stack, frames, 64);
        uint64_t began = usp_clock();
        ck_assert_int_eq(usp_capture_thread(&target.thread, NULL, &stack), USP_OK);
        ck_assert_uint_lt(usp_clock() - began, patience());
        expect_standing(&target, &stack);
    }
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(usp_capture_get_usage(&after), USP_OK);
    /* For each requester a request and cached text: twice 128 pages. */
    const size_t retired = retired_bytes();
    ck_assert_uint_le(after.copies - retired, before->copies + others * (65536 + 16384 + 2 * 128 * 4096 + 8192));
    ck_assert_uint_le(retired, (others + 1) * uspi_request_at(USPI_SNAPSHOT_PLACE)->mapped);
}

static void begin_target(struct usp_capture_usage *usage) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    /* Only this thread may get the timer's signal. */
    sigset_t timers;
    sigemptyset(&timers);
    sigaddset(&timers, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &timers, NULL);
    stand_begin(&target);
    pthread_sigmask(SIG_UNBLOCK, &timers, NULL);
    capture_target();
    ck_assert_int_eq(usp_capture_get_usage(usage), USP_OK);
}

/* A thread that is cancelled during a capture would leave a request behind that no other thread can use. Both deferred
 * and asynchronous cancellation are tried. */
START_TEST(a_thread_that_captures_is_cancelled) {
    const unsigned rounds = (is_slowed() ? 50 : sampled(200, 1000)) * test_scale();
    struct usp_capture_usage usage;
    begin_target(&usage);
    for (unsigned i = 0; i < rounds; i++) {
        pthread_t thread;
        void *result;
        const int type = i % 2 == 0 ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS;
        ck_assert_int_eq(pthread_create(&thread, NULL, capture_for_ever, (void *)(intptr_t)type), 0);
        usleep(i % 40 * 10);
        ck_assert_int_eq(pthread_cancel(thread), 0);
        ck_assert_int_eq(pthread_join(thread, &result), 0);
        ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    }
    ck_assert_uint_gt(atomic_load(&captures), 0);
    expect_still_working(&usage, 2);
    stand_end(&target);
}
END_TEST

static sigjmp_buf jump;
static volatile sig_atomic_t may_jump;
static volatile unsigned jumps;

static void jump_away(int number) {
    (void)number;
    if (may_jump != 0) {
        may_jump = 0;
        siglongjmp(jump, 1);
    }
}

/* A timer's handler leaves the interrupted code by siglongjmp, again and again. Captures must still work afterwards. */
START_TEST(a_handler_jumps_away_around_captures) {
    const unsigned rounds = (is_slowed() ? 20 : sampled(100, 500)) * test_scale();
    struct usp_capture_usage usage;
    struct sigaction action;
    begin_target(&usage);
    memset(&action, 0, sizeof action);
    action.sa_handler = jump_away;
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    for (volatile unsigned i = 0; i < rounds; i++) {
        const struct itimerval soon = {{0, 0}, {0, 200 + (suseconds_t)(i % 50) * 10}};
        if (sigsetjmp(jump, 1) != 0) {
            jumps++;
            continue;
        }
        may_jump = 1;
        /* Does not use Check's assertions: a jump would leave Check's lock taken. */
        if (setitimer(ITIMER_REAL, &soon, NULL) != 0) abort();
        for (;;) {
            struct usp_frame frames[64];
            struct usp_stack stack;
            usp_stack_init(&stack, frames, 64);
            (void)usp_capture_thread(&target.thread, NULL, &stack);
        }
    }
    ck_assert_uint_eq(jumps, rounds);
    expect_still_working(&usage, 2);
    stand_end(&target);
}
END_TEST

/* How many system calls remain until the capturing thread sends itself a signal or cancels itself. */
static _Thread_local unsigned calls_to_go;
static int way_out; /* 0: pthread_exit, 1: siglongjmp, 2: cancellation */
static int left;    /* its address is the result of a thread that left */

static void leave_capture(int number) {
    (void)number;
    if (way_out == 0) pthread_exit(&left);
    siglongjmp(jump, 1);
}

static void pass_call(void) {
    if (calls_to_go == 0 || --calls_to_go != 0) return;
    if (way_out == 2) {
        pthread_cancel(pthread_self());
    } else {
        raise(SIGUSR2);
    }
}

/* Captures, and leaves at system call number `call`. Returns NULL if both captures made fewer calls. */
static void *capture_and_leave(void *call) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    int old;
    if (sigsetjmp(jump, 1) != 0) return &left;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    usp_stack_init(&stack, frames, 64);
    calls_to_go = (unsigned)(uintptr_t)call;
    (void)usp_capture_thread(&target.thread, NULL, &stack);
    if (usp_snapshot_create_self(NULL, &snapshot) == USP_OK) usp_snapshot_free(snapshot);
    /* musl cancels a thread that was cancelled during the capture only here. */
    pthread_testcancel();
    if (calls_to_go == 0) abort();
    return NULL;
}

/* A thread leaves at each system call of a capture and of a snapshot: while it takes a request, asks, waits, or gives
 * it back. A request that is lost there would be missing later. _i: way_out. */
START_TEST(a_thread_leaves_in_each_phase_of_a_capture) {
    struct usp_capture_usage usage;
    struct sigaction action;
    unsigned call = 1;
    way_out = _i;
    memset(&action, 0, sizeof action);
    action.sa_handler = leave_capture;
    ck_assert_int_eq(sigaction(SIGUSR2, &action, NULL), 0);
    run_before_each_call(&calls, pass_call);
    begin_target(&usage);
    for (;; call++) {
        pthread_t thread;
        void *result;
        ck_assert_int_eq(pthread_create(&thread, NULL, capture_and_leave, (void *)(uintptr_t)call), 0);
        ck_assert_int_eq(pthread_join(thread, &result), 0);
        if (result == NULL) break;
        ck_assert_ptr_eq(result, way_out == 2 ? PTHREAD_CANCELED : &left);
    }
    printf("%u system calls\n", call - 1);
    ck_assert_uint_gt(call, 15);
    expect_still_working(&usage, 0);
    stand_end(&target);
}
END_TEST

/* A handler interrupted a capture and captures too: it must not wait for the capture that it interrupted. */
static _Atomic(unsigned) from_handler;

static void capture_in_handler(int number) {
    (void)number;
    struct usp_frame frames[64];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 64);
    int status = usp_capture_thread(&target.thread, NULL, &stack);
    if (status != USP_OK) abort();
    atomic_fetch_add(&from_handler, 1);
}

START_TEST(a_handler_captures_while_its_thread_does) {
    struct usp_capture_usage usage;
    struct sigaction action;
    begin_target(&usage);
    memset(&action, 0, sizeof action);
    action.sa_handler = capture_in_handler;
    action.sa_flags = SA_RESTART;
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (uint64_t began = usp_clock(); usp_clock() - began < 300 * MS;) {
        struct usp_frame frames[64];
        struct usp_stack stack;
        usp_stack_init(&stack, frames, 64);
        ck_assert_int_eq(usp_capture_thread(&target.thread, NULL, &stack), USP_OK);
    }
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_uint_gt(atomic_load(&from_handler), 0);
    expect_still_working(&usage, 2);
    stand_end(&target);
}
END_TEST

/* ---- fork while other threads capture and prepare ---- */

static _Atomic(int) stop_changing;

static void *capture_until_told(void *context) {
    (void)context;
    while (atomic_load(&stop_changing) == 0) capture_target();
    return NULL;
}

static void *prepare_until_told(void *context) {
    struct usp_prepare_options options;
    (void)context;
    usp_prepare_options_init(&options);
    for (unsigned i = 0; atomic_load(&stop_changing) == 0; i++) {
        /* Each round needs another amount of memory. */
        options.max_threads = 16 + i % 8;
        options.timeout = 10000 * MS;
        if (usp_prepare(&options) == USP_ERROR_NO_MEMORY) abort();
    }
    return NULL;
}

/* Uses the library in a forked child. The exit status is the number of the check that failed. */
static void use_everything(void) {
    struct parked own = {.depth = 5};
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    struct usp_capture_usage usage;
    struct usp_prepare_options options;
    alarm(240);
    usp_prepare_options_init(&options);
    options.timeout = patience();
    if (usp_prepare(&options) != USP_OK) _exit(1);
    if (pthread_create(&own.pthread, NULL, stand, &own) != 0) _exit(2);
    while (atomic_load(&own.there) == 0) usleep(100);
    for (unsigned i = 0; i < 3; i++) {
        usp_stack_init(&stack, frames, 64);
        if (usp_capture_thread(&own.thread, NULL, &stack) != USP_OK) _exit(3);
        if (FRAMES_IN(&stack, stand_deep) != 6 || stack.stop != USP_STOP_ROOT) _exit(4);
        if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK) _exit(5);
        usp_snapshot_free(snapshot);
    }
    if (usp_capture_get_usage(&usage) != USP_OK || usage.copies == 0) _exit(6);
    if (usp_print_stack(open("/dev/null", O_WRONLY)) != USP_OK) _exit(9);
    usp_shutdown();
    if (usp_is_prepared()) _exit(7);
    if (usp_prepare(NULL) != USP_OK) _exit(8);
    usp_shutdown();
    _exit(0);
}

START_TEST(a_child_works_whatever_the_parents_threads_did) {
    const unsigned rounds = sampled(12, 150 / stride()) * test_scale();
    struct usp_capture_usage usage;
    pthread_t others[3];
    begin_target(&usage);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&others[i], NULL, i == 0 ? prepare_until_told : capture_until_told, NULL), 0);
    }
    for (unsigned i = 0; i < rounds; i++) {
        int status;
        usleep(i % 30 * 20);
        pid_t child = fork();
        if (child == 0) use_everything();
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %u: status %#x", i, (unsigned)status);
    }
    atomic_store(&stop_changing, 1);
    for (unsigned i = 0; i < 3; i++) pthread_join(others[i], NULL);
    stand_end(&target);
}
END_TEST

/* The process forks while this thread prepares the library for the first time. */
static void *prepare_first(void *context) {
    (void)context;
    usp_prepare(NULL);
    return NULL;
}

static void fork_meanwhile(unsigned microseconds) {
    pthread_t thread;
    int status;
    alarm(240);
    if (pthread_create(&thread, NULL, prepare_first, NULL) != 0) _exit(20);
    usleep(microseconds);
    pid_t child = fork();
    if (child == 0) use_everything();
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) _exit(21);
    _exit(WEXITSTATUS(status));
}

START_TEST(a_child_of_the_first_prepare_works) {
    const unsigned rounds = sampled(8, 40 / stride()) * test_scale();
    for (unsigned i = 0; i < rounds; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) fork_meanwhile(i % rounds * 1000 / rounds);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %u: status %#x", i, (unsigned)status);
    }
}
END_TEST

int main(void) {
    note_sample();
    TCase *c = tcase_create("contention");
    tcase_add_checked_fixture(c, begin_each, NULL);
    add_tests(c, a_hundred_threads_capture_each_other, a_hundred_threads_capture_each_other_with_defaults,
              twenty_threads_take_snapshots, a_thread_that_answers_others_first, the_timeout_bounds_the_whole_call,
              a_handler_captures_while_its_thread_does);
    /* Emulators and sanitizers have signals, locks and threads of their own. */
    if (!is_slowed() && !USP_SANITIZED) add_tests(c, five_hundred_threads_capture_each_other);
    if (!is_user_emulated() && !USP_SANITIZED) {
        add_tests(c, a_thread_that_captures_is_cancelled, a_handler_jumps_away_around_captures,
                  a_child_works_whatever_the_parents_threads_did, a_child_of_the_first_prepare_works);
        tcase_add_loop_test(c, a_thread_leaves_in_each_phase_of_a_capture, 0, 3);
    }
    return run_suite("linux_contention", c);
}
