/* SPDX-License-Identifier: MIT */
/* Tests threads that cannot answer: they block the signal, sleep uninterruptibly, wait for a vfork child, are stopped,
 * or are about to end. A snapshot leaves them out, and must not hold the other threads much longer for them: the test
 * prints for how long they were held. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

#define FRAMES 256u

static struct usp_frame frames[FRAMES];
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

/* The timeout for threads that can answer: long, so that a test sees that the library did not wait so long for one that
 * cannot. */
#define LONG (60000 * MS)

static void prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = LONG;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    return usp_capture_thread(thread, NULL, stack);
}

static int status_in(const struct usp_snapshot *snapshot, uint64_t id) {
    for (size_t i = 0;; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        if (t == NULL) return USP_ERROR_NO_THREAD;
        if (t->info.thread.id == id) return t->status;
    }
}

/* Takes snapshots that leave one thread out. Prints the shortest time for which the other threads were held. The stack of
 * a thread that sleeps uninterruptibly is in the snapshot all the same, if the system lets the process read it. */
static void expect_left_out(const char *what, const struct parked *unable, bool is_uninterruptible) {
    struct parked others[3] = {{.depth = 2}, {.depth = 3, .wait = wait_asleep}, {.depth = 4, .wait = wait_asleep}};
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    uint64_t least = UINT64_MAX, first = 0;
    usp_snapshot_options_init(&options);
    options.timeout = LONG;
    for (unsigned i = 0; i < 3; i++) stand_begin(&others[i]);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        for (unsigned k = 0; k < 3; k++) ck_assert_int_eq(status_in(snapshot, others[k].thread.id), USP_OK);
        const int status = status_in(snapshot, unable->thread.id);
        ck_assert(status == USP_ERROR_TIMEOUT || (status == USP_OK && is_uninterruptible));
        ck_assert_uint_eq(info->missed, status == USP_OK ? 0 : 1);
        /* Much less than the timeout for a thread that may answer. */
        ck_assert_uint_lt(info->stopped_ns, LONG / 2);
        if (i == 0) first = info->stopped_ns;
        if (info->stopped_ns < least) least = info->stopped_ns;
        usp_snapshot_free(snapshot);
    }
    printf("%s: the others were held for %.2f ms, then for %.2f ms\n", what, (double)first / 1e6, (double)least / 1e6);
    for (unsigned i = 0; i < 3; i++) stand_end(&others[i]);
}

static void expect_given_up(const char *what, const struct parked *unable) {
    struct usp_stack stack;
    uint64_t began = usp_clock();
    int status = capture(&unable->thread, &stack);
    uint64_t took = usp_clock() - began;
    ck_assert_msg(status == USP_ERROR_TIMEOUT, "%s", usp_status_string(status));
    ck_assert_uint_eq(stack.count, 0);
    ck_assert_uint_lt(took, LONG / 2);
    printf("%s: given up after %.2f ms\n", what, (double)took / 1e6);
}

static void expect_answer(const struct parked *s) {
    struct usp_stack stack;
    int status = USP_ERROR_TIMEOUT;
    for (unsigned i = 0; i < PATIENT_LOOKS && status != USP_OK; i++) {
        status = capture(&s->thread, &stack);
        if (status != USP_OK) usleep(1000);
    }
    ck_assert_int_eq(status, USP_OK);
}

/* ---- the signal is blocked ---- */

static void set_all(int how) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(how, &all, NULL);
}
static void block_all(void) { set_all(SIG_BLOCK); }
static void unblock_all(void) { set_all(SIG_UNBLOCK); }

static sem_t may_unblock;

static void sleep_then_unblock(struct parked *s) {
    while (sem_wait(&may_unblock) != 0) continue;
    unblock_all();
    while (atomic_load(&s->leave) == 0) usleep(1000);
}

START_TEST(a_sleeping_thread_that_blocks_the_signal) {
    struct parked s = {.prepare = block_all, .wait = sleep_then_unblock};
    sem_init(&may_unblock, 0, 0);
    prepare();
    stand_begin(&s);
    wait_for_state(&s, 'S');
    expect_given_up("blocked, asleep", &s);
    expect_left_out("blocked, asleep", &s, false);
    /* A thread that is asked again gets no further signal: the pending one is enough. */
    unsigned before = atomic_load(&sent);
    for (int i = 0; i < 50; i++) expect_given_up("again", &s);
    ck_assert_uint_eq(atomic_load(&sent), before);
    /* When the thread unblocks the signal, the late signal is harmless; then the thread answers again. */
    sem_post(&may_unblock);
    expect_answer(&s);
    stand_end(&s);
}
END_TEST

/* The thread runs and could unblock the signal at any moment, but does not. A snapshot must not wait for it until the
 * timeout. */
START_TEST(a_running_thread_that_blocks_the_signal) {
    struct parked s = {.prepare = block_all, .after = unblock_all};
    prepare();
    stand_begin(&s);
    expect_left_out("blocked, running", &s, false);
    expect_given_up("blocked, running", &s);
    stand_end(&s);
}
END_TEST

START_TEST(a_late_signal_after_shutdown_ends_no_thread) {
    struct parked s = {.prepare = block_all, .wait = sleep_then_unblock};
    sem_init(&may_unblock, 0, 0);
    prepare();
    stand_begin(&s);
    wait_for_state(&s, 'S');
    expect_given_up("blocked", &s);
    usp_shutdown();
    sem_post(&may_unblock);
    stand_end(&s);
    ck_assert_int_eq(atomic_load(&s.finished), 1);
}
END_TEST

/* ---- uninterruptible ---- */

static _Atomic(int) child_may_end;

static int sleep_as_child(void *context) {
    (void)context;
    while (atomic_load(&child_may_end) == 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    return 0;
}

/* Waits for a vfork child. Signals do not interrupt this wait (kernel/fork.c wait_for_vfork_done). */
static void wait_for_vfork_child(struct parked *s) {
    static char stack[65536] __attribute__((aligned(16)));
    pid_t child = clone(sleep_as_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    waitpid(child, NULL, 0);
    while (atomic_load(&s->leave) == 0) usleep(1000);
}

START_TEST(a_parent_of_a_vfork_child) {
    struct parked s = {.wait = wait_for_vfork_child};
    atomic_store(&child_may_end, 0);
    prepare();
    stand_begin(&s);
    wait_for_state(&s, 'D');
    expect_left_out("vfork parent", &s, true);
    atomic_store(&child_may_end, 1);
    expect_answer(&s);
    stand_end(&s);
}
END_TEST

/* ---- stopped by a debugger ---- */

static void trace_and_stop(pid_t tid, int from, int to) {
    char c;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) _exit(1);
    if (waitpid(tid, NULL, __WALL) != tid || write(to, "s", 1) != 1) _exit(2);
    if (read(from, &c, 1) != 1) _exit(3);
    _exit(0);
}

START_TEST(a_thread_that_a_debugger_has_stopped) {
    struct parked s = {.depth = 3};
    int down[2], up[2], status;
    char c;
    prepare();
    stand_begin(&s);
    ck_assert_int_eq(pipe(down), 0);
    ck_assert_int_eq(pipe(up), 0);
    pid_t debugger = fork();
    if (debugger == 0) trace_and_stop((pid_t)s.thread.id, down[0], up[1]);
    ck_assert_int_eq(read(up[0], &c, 1), 1);
    expect_left_out("stopped by a debugger", &s, false);
    expect_given_up("stopped by a debugger", &s);
    ck_assert_int_eq(write(down[1], "g", 1), 1);
    ck_assert_int_eq(waitpid(debugger, &status, 0), debugger);
    ck_assert_int_eq(status, 0);
    expect_answer(&s);
    stand_end(&s);
}
END_TEST

/* ---- a thread that is ending ---- */

static pthread_mutex_t lock_of_thread_list = PTHREAD_MUTEX_INITIALIZER;

/* Does what libc's last steps of a detached thread do: blocks every signal and waits for a lock that a held thread may
 * have. */
static void wait_for_lock(struct parked *s) {
    (void)s;
    block_all();
    pthread_mutex_lock(&lock_of_thread_list);
    pthread_mutex_unlock(&lock_of_thread_list);
    unblock_all();
}

START_TEST(a_thread_that_waits_for_what_a_held_one_has) {
    struct parked s = {.wait = wait_for_lock};
    prepare();
    pthread_mutex_lock(&lock_of_thread_list);
    stand_begin(&s);
    wait_for_state(&s, 'S');
    expect_left_out("ending", &s, false);
    pthread_mutex_unlock(&lock_of_thread_list);
    stand_end(&s);
}
END_TEST

/* Detached threads that end all the time. The longest time for which snapshots held threads is printed. */
static _Atomic(unsigned) ended;

static void *end_soon(void *context) {
    (void)context;
    atomic_fetch_add(&ended, 1);
    return NULL;
}

static void start_and_forget(struct parked *s) {
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (atomic_load(&s->leave) == 0) {
        if (pthread_create(&thread, &detached, end_soon, NULL) != 0) usleep(1000);
    }
    pthread_attr_destroy(&detached);
}

START_TEST(detached_threads_end_all_the_time) {
    struct parked s[2] = {{.wait = start_and_forget}, {.wait = start_and_forget}};
    const unsigned rounds = is_slowed() ? 20 : 200;
    struct usp_snapshot *snapshot;
    uint64_t longest = 0, all = 0;
    unsigned left_out = 0;
    prepare();
    for (unsigned i = 0; i < 2; i++) stand_begin(&s[i]);
    for (unsigned i = 0; i < rounds; i++) {
        struct usp_snapshot_options options;
        usp_snapshot_options_init(&options);
        options.timeout = LONG;
        ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        ck_assert_uint_lt(info->stopped_ns, LONG / 2);
        if (info->stopped_ns > longest) longest = info->stopped_ns;
        all += info->stopped_ns;
        left_out += info->missed;
        usp_snapshot_free(snapshot);
    }
    printf("%u snapshots, %u threads came and went, %u were left out; held for %.2f ms on average, %.2f ms at most\n",
           rounds, atomic_load(&ended), left_out, (double)all / rounds / 1e6, (double)longest / 1e6);
    ck_assert_uint_gt(atomic_load(&ended), 0);
    for (unsigned i = 0; i < 2; i++) stand_end(&s[i]);
}
END_TEST

/* ---- a thread that can answer gets the whole timeout ---- */

/* Eight threads run all the time on fewer processors. The one that is asked may have to wait long for its turn, and
 * must not be given up before the timeout. */
START_TEST(a_runnable_thread_has_the_whole_timeout) {
    struct parked s[8];
    struct usp_stack stack;
    memset(s, 0, sizeof s);
    prepare();
    for (unsigned i = 0; i < 8; i++) {
        s[i].depth = i;
        stand_begin(&s[i]);
    }
    uint64_t longest = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t began = usp_clock();
        ck_assert_int_eq(capture(&s[i % 8].thread, &stack), USP_OK);
        expect_standing(&s[i % 8], &stack);
        if (usp_clock() - began > longest) longest = usp_clock() - began;
    }
    printf("the longest wait for a runnable thread: %.2f ms\n", (double)longest / 1e6);
    for (unsigned i = 0; i < 8; i++) stand_end(&s[i]);
}
END_TEST

int main(void) {
    /* User-mode emulators block and queue signals by themselves, and have no vfork. */
    if (is_user_emulated()) return 77;
    TCase *c = tcase_create("unable");
    tcase_add_checked_fixture(c, begin_each, NULL);
    add_tests(c, a_sleeping_thread_that_blocks_the_signal, a_running_thread_that_blocks_the_signal,
              a_late_signal_after_shutdown_ends_no_thread, a_parent_of_a_vfork_child,
              a_thread_that_a_debugger_has_stopped, a_thread_that_waits_for_what_a_held_one_has,
              detached_threads_end_all_the_time, a_runnable_thread_has_the_whole_timeout);
    return run_suite("linux_unable", c);
}
