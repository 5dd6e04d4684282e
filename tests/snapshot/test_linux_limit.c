/* SPDX-License-Identifier: MIT */
/* Tests the time limit of a stop: what the time does not suffice for is left out, and said. The clock is scripted: it
 * goes forward at a chosen system call, and the limit is far longer than any test takes. */
#define _GNU_SOURCE 1
#include "lib/os/linux/calls.h"
#include "lib/os/linux/limit.h"
#include "tests/support/libc.h"
#include "tests/support/linux_child.h"
#include "tests/support/suite.h"

#include <elf.h>

#define SECOND UINT64_C(1000000000)
#define LIMIT  (1000 * SECOND)
/* Number of threads besides the main thread. */
#define OTHERS   150u
#define THREADS  (OTHERS + 1)
#define SOME     40u
#define LOCK_MAX 128u /* bytes of a lock that are read at once */

/* ---- the clock (linked with --wrap) ---- */

static _Atomic(uint64_t) passed;

uint64_t __real_uspi_os_clock(void);
uint64_t __wrap_uspi_os_clock(void);
uint64_t __wrap_uspi_os_clock(void) { return __real_uspi_os_clock() + atomic_load(&passed); }

static void pass(uint64_t ns) { atomic_fetch_add(&passed, ns); }

/* ---- the system calls ---- */

static struct uspi_linux_calls table;
static _Atomic(unsigned) asked, taken, asked_late, batches;

/* The time for asking is over when some threads were asked, the one for waiting is not. */
static long pass_while_asking(long request, pid_t tid, void *address, void *data) {
    if (request == PTRACE_INTERRUPT && atomic_fetch_add(&asked, 1) + 1 == SOME) pass(LIMIT / 100 * 30);
    return uspi_linux_real.trace(request, tid, address, data);
}

/* The time is over when the registers of some threads were read, and again after each further thread. */
static long pass_while_waiting(long request, pid_t tid, void *address, void *data) {
    const long e = uspi_linux_real.trace(request, tid, address, data);
    if (request != PTRACE_GETREGSET || address != (void *)NT_PRSTATUS) return e;
    if (atomic_load(&taken) >= SOME) atomic_fetch_add(&asked_late, 1);
    if (e >= 0) atomic_fetch_add(&taken, 1);
    if (atomic_load(&taken) >= SOME) pass(LIMIT);
    return e;
}

/* Whether a call reads several of the child's stacks. */
static bool is_batch(pid_t pid, size_t count) { return pid != getpid() && count > 1; }

/* The time is over when the first batch of stacks was read. */
static long pass_while_copying(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t count) {
    const long e = uspi_linux_real.read_process(pid, local, remote, count);
    if (is_batch(pid, count) && atomic_fetch_add(&batches, 1) == 0) pass(2 * LIMIT);
    return e;
}

/* The time is over when the first lock was read. */
static long pass_while_locks_are_read(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t count) {
    const long e = uspi_linux_real.read_process(pid, local, remote, count);
    if (is_batch(pid, count)) atomic_fetch_add(&batches, 1);
    if (count == 1 && remote->iov_len <= LOCK_MAX && atomic_load(&batches) > 0) pass(2 * LIMIT);
    return e;
}

/* Captures a child with these calls. */
static struct usp_snapshot *capture(const struct child *c, uint64_t limit) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char error[512];
    usp_snapshot_options_init(&options);
    options.timeout = limit;
    uspi_linux = &table;
    const int status = usp_snapshot_create_process(c->pid, &options, &snapshot, error, sizeof error);
    uspi_linux = &uspi_linux_real;
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, THREADS);
    /* Every thread was resumed, also those that the tracer left out. */
    expect_running(c->pid);
    return snapshot;
}

static struct child begin(const char *what) {
    char others[16];
    snprintf(others, sizeof others, "%u", OTHERS);
    table = uspi_linux_real;
    return start_child(TARGET, what, others, 0);
}

static void end(struct child *c, struct usp_snapshot *snapshot) {
    usp_snapshot_free(snapshot);
    end_child(c);
}

/* Returns the number of threads with complete stacks. Expects that the others, counted in `missed`, say that they did
 * not stop in time. */
static unsigned expect_stopped(const struct child *c, const struct usp_snapshot *snapshot) {
    unsigned missed = 0, stopped = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        if (t->status == USP_OK) {
            ck_assert_uint_eq(count_frames(&t->stack, c->low, c->high), TARGET_DEPTH + 1);
            stopped++;
            continue;
        }
        ck_assert_int_eq(t->status, USP_ERROR_TIMEOUT);
        ck_assert_uint_eq(t->stack.count, 0);
        ck_assert_uint_ne(t->info.thread.id, 0);
        missed++;
    }
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, missed);
    return stopped;
}

/* ---- the steps ---- */

START_TEST(threads_that_were_not_asked_keep_running_and_are_named) {
    struct child c = begin("");
    table.trace = pass_while_asking;
    struct usp_snapshot *snapshot = capture(&c, LIMIT);
    ck_assert_uint_eq(atomic_load(&asked), SOME);
    ck_assert_uint_eq(expect_stopped(&c, snapshot), SOME);
    end(&c, snapshot);
}
END_TEST

START_TEST(of_a_limit_that_is_over_at_once_only_few_threads_are_asked) {
    struct child c = begin("");
    table.trace = pass_while_asking;
    struct usp_snapshot *snapshot = capture(&c, 1);
    ck_assert_uint_eq(atomic_load(&asked), USPI_ALWAYS_DONE);
    ck_assert_uint_le(expect_stopped(&c, snapshot), USPI_ALWAYS_DONE);
    end(&c, snapshot);
}
END_TEST

/* One pass ends after at most USPI_ALWAYS_DONE further threads, and so does the last one. */
START_TEST(waiting_ends_within_a_pass) {
    struct child c = begin("");
    table.trace = pass_while_waiting;
    struct usp_snapshot *snapshot = capture(&c, LIMIT);
    ck_assert_uint_gt(atomic_load(&asked_late), 0);
    ck_assert_uint_le(atomic_load(&asked_late), 2 * USPI_ALWAYS_DONE);
    ck_assert_uint_eq(expect_stopped(&c, snapshot), atomic_load(&taken));
    end(&c, snapshot);
}
END_TEST

START_TEST(stacks_that_were_not_copied_say_so) {
    struct child c = begin("");
    unsigned complete = 0, cut = 0;
    table.read_process = pass_while_copying;
    struct usp_snapshot *snapshot = capture(&c, LIMIT);
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        ck_assert_int_eq(t->status, USP_OK);
        complete += count_frames(&t->stack, c.low, c.high) == TARGET_DEPTH + 1;
        cut += t->stack.stop == USP_STOP_NOT_COPIED && count_frames(&t->stack, c.low, c.high) == 0;
    }
    ck_assert_uint_eq(atomic_load(&batches), 1);
    ck_assert_uint_eq(complete, 32);
    ck_assert_uint_eq(cut, THREADS - 32);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    end(&c, snapshot);
}
END_TEST

START_TEST(locks_that_were_not_read_have_no_owner) {
    if (!LIBC_ROBUST_LISTS) return;
    struct child c = begin("locked");
    unsigned owned = 0;
    table.read_process = pass_while_locks_are_read;
    struct usp_snapshot *snapshot = capture(&c, LIMIT);
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        ck_assert_int_eq(t->status, USP_OK);
        ck_assert_uint_gt(t->stack.count, 1);
        if (t->info.lock_owner == 0) continue;
        ck_assert_uint_eq(t->info.lock_owner, (uint64_t)c.pid);
        ck_assert_uint_lt(i, USPI_ALWAYS_DONE);
        owned++;
    }
    ck_assert_uint_gt(owned, 0);
    end(&c, snapshot);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("limit");
    if (can_trace()) {
        add_tests(c, threads_that_were_not_asked_keep_running_and_are_named,
                  of_a_limit_that_is_over_at_once_only_few_threads_are_asked, waiting_ends_within_a_pass,
                  stacks_that_were_not_copied_say_so, locks_that_were_not_read_have_no_owner);
    }
    return run_suite("linux_limit", c);
}
