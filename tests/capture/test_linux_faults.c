/* SPDX-License-Identifier: MIT */
/* Tests failures: every system call of the Linux layer fails in turn, at every position, and every allocation. The
 * library must always return a status, leave captured threads and processes running, and leak nothing. Also tests cases
 * that are hard to cause otherwise: a handler that does not finish, a requester that stops in the middle, a kernel that
 * lists half of the threads, Yama. */
#define _GNU_SOURCE 1
#include "tests/support/linux_child.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>

#include "lib/os/linux/calls.h"
#include "lib/os/linux/request.h"
#include "lib/os/linux/signal.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#define FRAMES 64u

/* Check allocates for each assertion, so it is called only if the condition is false. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) fail_allocation(0);                                                                          \
        if (!(condition)) ck_abort_msg("%s", #condition);                                                              \
    } while (0)

/* ---- a table of calls of which one fails ---- */

enum call {
    OPEN,
    CLOSE,
    READ,
    PREAD,
    REWIND,
    LIST,
    LINKS,
    READ_LINK,
    MAP,
    UNMAP,
    PROBE,
    READ_PROCESS,
    OWN_NAME,
    PROBE_THREAD,
    SEND,
    PENDING,
    SET_ACTION,
    SET_MASK,
    WAIT,
    WAKE,
    SLEEP,
    SLACK,
    CPU_TIME,
    TRACE,
    RUN_BESIDE,
    PERMIT_TRACER,
    CALLS
};

/* Errors of each call: the likeliest reason, and another one that takes another path. */
static const int reasons[2][CALLS] = {
    {[OPEN] = EMFILE,          [CLOSE] = EIO,          [READ] = EIO,     [PREAD] = EIO,
     [REWIND] = EINVAL,        [LIST] = EIO,           [LINKS] = EIO,    [READ_LINK] = ENOENT,
     [MAP] = ENOMEM,           [UNMAP] = EINVAL,       [PROBE] = EFAULT, [READ_PROCESS] = EFAULT,
     [OWN_NAME] = EFAULT,      [PROBE_THREAD] = ESRCH, [SEND] = EAGAIN,  [PENDING] = EFAULT,
     [SET_ACTION] = EINVAL,    [SET_MASK] = EINVAL,    [WAIT] = EINTR,   [WAKE] = EINVAL,
     [SLEEP] = EINTR,          [CPU_TIME] = EINVAL,    [TRACE] = EPERM,  [RUN_BESIDE] = EAGAIN,
     [PERMIT_TRACER] = EINVAL, [SLACK] = EINVAL},
    {[OPEN] = ENOENT,   [CLOSE] = EINTR,         [READ] = ESRCH,       [PREAD] = EPERM,        [REWIND] = EBADF,
     [LIST] = ENOENT,   [LINKS] = EBADF,         [READ_LINK] = EACCES, [MAP] = ENOMEM,         [UNMAP] = ENOMEM,
     [PROBE] = EFAULT,  [READ_PROCESS] = ENOSYS, [OWN_NAME] = EPERM,   [PROBE_THREAD] = EPERM, [SEND] = ESRCH,
     [PENDING] = EPERM, [SET_ACTION] = EPERM,    [SET_MASK] = EPERM,   [WAIT] = ENOSYS,        [WAKE] = ENOSYS,
     [SLEEP] = EINVAL,  [CPU_TIME] = EPERM,      [TRACE] = ESRCH,      [RUN_BESIDE] = ENOSYS,  [PERMIT_TRACER] = EINVAL,
     [SLACK] = EINVAL},
};

static struct {
    _Atomic(unsigned) count;   /* calls so far */
    _Atomic(unsigned) failing; /* the call with this number fails; 0: none */
    _Atomic(int) always;       /* every call of this kind fails; CALLS: none */
    _Atomic(int) failed;       /* the kind that failed; CALLS: no call has failed */
    unsigned variant;
    _Atomic(long) mapped, opened; /* how many more were made than released */
} script;

static long fails(enum call call) {
    unsigned number = atomic_fetch_add(&script.count, 1) + 1;
    if (number != atomic_load(&script.failing) && (int)call != atomic_load(&script.always)) return 0;
    atomic_store(&script.failed, (int)call);
    return -(long)reasons[script.variant][call];
}

#define REAL (&uspi_linux_real)
#define UNLESS(call, expression)                                                                                       \
    long e = fails(call);                                                                                              \
    return e < 0 ? e : (expression)

static long s_open(int directory, const char *path, int flags) {
    long e = fails(OPEN);
    if (e < 0) return e;
    e = REAL->open(directory, path, flags);
    if (e >= 0) atomic_fetch_add(&script.opened, 1);
    return e;
}

static long s_close(int fd) {
    /* Linux closes the descriptor even if close fails. */
    long failure = fails(CLOSE), e = REAL->close(fd);
    atomic_fetch_sub(&script.opened, 1);
    return failure < 0 ? failure : e;
}

static void *s_map(size_t n, bool filled) {
    void *at = fails(MAP) < 0 ? NULL : REAL->map(n, filled);
    if (at != NULL) atomic_fetch_add(&script.mapped, 1);
    return at;
}

static long s_unmap(void *at, size_t n) {
    long failure = fails(UNMAP), e = REAL->unmap(at, n);
    atomic_fetch_sub(&script.mapped, 1);
    return failure < 0 ? failure : e;
}

static long s_set_mask(int how, const uint64_t *mask, uint64_t *old) {
    /* Only taking a mask fails; restoring it always works. */
    long e = old != NULL ? fails(SET_MASK) : 0;
    return e < 0 ? e : REAL->set_mask(how, mask, old);
}

static long s_read(int fd, void *to, size_t n) { UNLESS(READ, REAL->read(fd, to, n)); }
static long s_pread(int fd, void *to, size_t n, uint64_t at) { UNLESS(PREAD, REAL->pread(fd, to, n, at)); }
static long s_rewind(int fd) { UNLESS(REWIND, REAL->rewind(fd)); }
static long s_list(int fd, void *to, size_t n) { UNLESS(LIST, REAL->list_directory(fd, to, n)); }
static long s_links(int fd) { UNLESS(LINKS, REAL->count_links(fd)); }
static long s_read_link(const char *path, char *to, size_t n) { UNLESS(READ_LINK, REAL->read_link(path, to, n)); }
static long s_probe(uintptr_t address) { UNLESS(PROBE, REAL->probe(address)); }
static long s_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    UNLESS(READ_PROCESS, REAL->read_process(pid, local, remote, n));
}
static long s_own_name(char name[16]) { UNLESS(OWN_NAME, REAL->own_name(name)); }
static long s_probe_thread(pid_t pid, pid_t tid) { UNLESS(PROBE_THREAD, REAL->probe_thread(pid, tid)); }
static long s_send(pid_t pid, pid_t tid, int number) { UNLESS(SEND, REAL->send_signal(pid, tid, number)); }
static long s_pending(uint64_t *set) { UNLESS(PENDING, REAL->pending_signals(set)); }
static long s_set_action(int number, const struct sigaction *action, struct sigaction *old) {
    /* Only taking an action fails; restoring the default always works. */
    if (action != NULL && action->sa_handler == SIG_DFL) return REAL->set_action(number, action, old);
    UNLESS(SET_ACTION, REAL->set_action(number, action, old));
}
static long s_wait(_Atomic(uint32_t) *word, uint32_t seen, uint64_t until) {
    UNLESS(WAIT, REAL->wait(word, seen, until));
}
static long s_wake(_Atomic(uint32_t) *word, int n) { UNLESS(WAKE, REAL->wake(word, n)); }
static long s_sleep(uint64_t ns) { UNLESS(SLEEP, REAL->sleep(ns)); }
static long s_set_timer_slack(uint64_t ns) { UNLESS(SLACK, REAL->set_timer_slack(ns)); }
static int64_t s_cpu_time(void) { UNLESS(CPU_TIME, (long)REAL->cpu_time()); }
static long s_trace(long request, pid_t tid, void *address, void *data) {
    UNLESS(TRACE, REAL->trace(request, tid, address, data));
}

static long s_run_beside(int (*function)(void *), void *stack_top, void *context) {
    UNLESS(RUN_BESIDE, REAL->run_beside(function, stack_top, context));
}
static long s_permit_tracer(bool any) { UNLESS(PERMIT_TRACER, REAL->permit_tracer(any)); }

static struct uspi_linux_calls table;

static void use_table(void) {
    table = uspi_linux_real;
    table.open = s_open;
    table.close = s_close;
    table.read = s_read;
    table.pread = s_pread;
    table.rewind = s_rewind;
    table.list_directory = s_list;
    table.count_links = s_links;
    table.read_link = s_read_link;
    table.map = s_map;
    table.unmap = s_unmap;
    table.probe = s_probe;
    table.read_process = s_read_process;
    table.own_name = s_own_name;
    table.probe_thread = s_probe_thread;
    table.send_signal = s_send;
    table.pending_signals = s_pending;
    table.set_action = s_set_action;
    table.set_mask = s_set_mask;
    table.wait = s_wait;
    table.wake = s_wake;
    table.sleep = s_sleep;
    table.set_timer_slack = s_set_timer_slack;
    table.cpu_time = s_cpu_time;
    table.trace = s_trace;
    table.run_beside = s_run_beside;
    table.permit_tracer = s_permit_tracer;
    atomic_store(&script.always, CALLS);
    atomic_store(&script.failing, 0);
    uspi_linux = &table;
}

/* ---- the operations that are tried ---- */

static struct parked threads[3] = {{.depth = 3}, {.depth = 1, .wait = wait_asleep}, {.depth = 5, .wait = wait_asleep}};
static struct child child;

static int prepare(uint64_t timeout) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = timeout;
    return usp_prepare(&options);
}

/* The timeout of an attempt: short, so that attempts that cannot succeed end soon, and longer where code is slow. */
#define ATTEMPT ((USP_SANITIZED ? 120 : 30) * MS)

static int try_capture(void) {
    static struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    int status = prepare(ATTEMPT);
    if (status == USP_OK) {
        usp_stack_init(&stack, frames, FRAMES);
        status = usp_capture_thread(&threads[0].thread, NULL, &stack);
        if (status != USP_OK) REQUIRE(stack.count == 0);
    }
    usp_shutdown();
    return status;
}

static int try_snapshot_by_helper(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = NULL;
    usp_snapshot_options_init(&options);
    options.timeout = ATTEMPT;
    options.means = USP_SNAPSHOT_BY_HELPER;
    int status = usp_snapshot_create_self(&options, &snapshot);
    REQUIRE((status == USP_OK) == (snapshot != NULL));
    usp_snapshot_free(snapshot);
    return status;
}

static int try_snapshot_self(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = NULL;
    usp_snapshot_options_init(&options);
    options.timeout = ATTEMPT;
    int status = prepare(ATTEMPT);
    if (status == USP_OK) {
        status = usp_snapshot_create_self(&options, &snapshot);
        REQUIRE((status == USP_OK) == (snapshot != NULL));
        usp_snapshot_free(snapshot);
    }
    usp_shutdown();
    return status;
}

static int try_snapshot_process(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = NULL;
    char error[256];
    usp_snapshot_options_init(&options);
    options.timeout = ATTEMPT;
    int status = usp_snapshot_create_process(child.pid, &options, &snapshot, error, sizeof error);
    REQUIRE((status == USP_OK) == (snapshot != NULL));
    REQUIRE((status == USP_OK) == (error[0] == '\0'));
    usp_snapshot_free(snapshot);
    return status;
}

static int try_lists(void) {
    struct usp_thread_info infos[64];
    struct usp_images *images = NULL;
    struct usp_thread thread;
    size_t count;
    int status = usp_threads(infos, 64, &count);
    int other = usp_thread_main(&thread);
    if (status == USP_OK) status = other;
    other = usp_thread_from_pthread((uintptr_t)threads[1].pthread, &thread);
    if (status == USP_OK) status = other;
    other = usp_images_create_self(&images);
    REQUIRE((other == USP_OK) == (images != NULL));
    if (other == USP_OK) usp_images_free(images);
    if (status == USP_OK) status = other;
    other = usp_images_create_process(child.pid, &images, NULL, 0);
    if (other == USP_OK) usp_images_free(images);
    return status == USP_OK ? other : status;
}

static int (*const tries[])(void) = {try_capture, try_snapshot_self, try_snapshot_process, try_lists,
                                     try_snapshot_by_helper};
#define TRIES ELEMENTS(tries)

/* Tries several times: the timeout of an attempt is short, and on a busy machine even an attempt that can succeed may
 * miss it. */
static int attempt_in_time(int (*attempt)(void)) {
    int status;
    do {
        status = attempt();
    } while (status == USP_ERROR_TIMEOUT);
    return status;
}

static void begin(void) {
    child = start_child(TARGET, "", NULL, 0);
    for (unsigned i = 0; i < 3; i++) stand_begin(&threads[i]);
    use_table();
}

static void end(void) {
    uspi_linux = &uspi_linux_real;
    for (unsigned i = 0; i < 3; i++) stand_end(&threads[i]);
    end_child(&child);
}

/* Calls usp_shutdown until all memory is unmapped. Memory that a handler may still use is kept, and on a busy machine a
 * handler may wait for a processor. Each further call looks again, until Check's timeout. */
static void shut_down_wholly(void) {
    usp_shutdown();
    while (atomic_load(&script.mapped) != 0) {
        usleep(1000);
        usp_shutdown();
    }
}

/* What the library keeps for good: measured after the first attempt, in which nothing fails. */
static long held_at_most;

/* Checks that the captured threads and processes run and that nothing is left behind. */
static void expect_unharmed(unsigned files) {
    atomic_store(&script.failing, 0);
    atomic_store(&script.always, CALLS);
    expect_running(child.pid);
    ck_assert_uint_eq(count_open_files(), files);
    ck_assert_int_eq(atomic_load(&script.opened), 0);
    sigset_t mask;
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    ck_assert_int_eq(sigismember(&mask, SIGUSR1), 0);
    /* Checks that a thread still answers. The threads take turns, to save time. */
    static unsigned turn;
    static struct usp_frame frames[FRAMES];
    struct parked *s = &threads[turn++ % 3];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(prepare(patience()), USP_OK);
    int status;
    /* A thread that was not woken from its handler stays in it for some seconds. */
    for (uint64_t began = usp_clock(); (status = usp_capture_thread(&s->thread, NULL, &stack)) == USP_ERROR_TIMEOUT;) {
        ck_assert_uint_lt(usp_clock() - began, patience());
        usleep(1000);
    }
    ck_assert_int_eq(status, USP_OK);
    if (s->wait == NULL) expect_standing(s, &stack);
    shut_down_wholly();
    if (held_at_most == 0) held_at_most = allocations_held();
    ck_assert_int_le(allocations_held(), held_at_most);
}

START_TEST(each_call_fails_once) {
    int (*attempt)(void) = tries[_i / 2];
    bool traced = attempt == try_snapshot_process || attempt == try_snapshot_by_helper;
    unsigned failed = 0, refused = 0, by_kind[CALLS] = {0};
    /* At the full size each position is tried with both reasons. A sample tries every fourth with the one, and those
     * in the middle between them with the other. */
    const unsigned stride = is_slowed() ? 7 : sampled(4, 1), first = stride > 1 ? 1 + 2 * ((unsigned)_i % 2) : 1;
    begin();
    script.variant = (unsigned)_i % 2;
    /* The first attempt learns what is learned once per process. After it, positions of calls stay the same. */
    int expected = attempt_in_time(attempt);
    ck_assert(expected == USP_OK || (traced && !can_trace()));
    unsigned files = count_open_files();
    expect_unharmed(files);
    for (unsigned n = first;; n += stride) {
        atomic_store(&script.count, 0);
        atomic_store(&script.failed, CALLS);
        atomic_store(&script.failing, n);
        int status = attempt();
        int kind = atomic_load(&script.failed);
        if (kind == CALLS) break;
        ck_assert_msg(status <= 0 && status >= USP_ERROR_STACK_FULL, "status %d", status);
        failed++;
        refused += status != USP_OK;
        by_kind[kind]++;
        expect_unharmed(files);
    }
    printf("%u calls failed, in %u cases with a status other than success\n", failed, refused);
    ck_assert_uint_gt(failed, stride > 1 ? 1 : 5);
    if (stride > 1) {
        end();
        return;
    }
    ck_assert_uint_gt(refused, 0);
    if (attempt != try_capture) ck_assert_uint_gt(by_kind[OPEN], 0);
    if (attempt == try_capture || attempt == try_snapshot_self) ck_assert_uint_gt(by_kind[SEND], 0);
    /* An attempt makes at least 12 such calls. A thread that stops late adds one and shifts the positions, so some may
     * be skipped. */
    if (traced && can_trace()) ck_assert_uint_ge(by_kind[TRACE], 8);
    end();
}
END_TEST

START_TEST(each_kind_of_call_fails_always) {
    begin();
    for (int attempt = 0; attempt < TRIES; attempt++) (void)tries[attempt]();
    unsigned files = count_open_files();
    expect_unharmed(files);
    script.variant = (unsigned)_i % 2;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        for (int kind = 0; kind < CALLS; kind++) {
            /* A sample tries each kind with one of the reasons. */
            if (sampled(1, 0) && (attempt + kind) % 2 != _i % 2) continue;
            atomic_store(&script.always, kind);
            uint64_t before = usp_clock();
            int status = tries[attempt]();
            ck_assert_msg(status <= 0 && status >= USP_ERROR_STACK_FULL, "status %d", status);
            ck_assert_uint_lt(usp_clock() - before, 60000 * MS);
            expect_unharmed(files);
        }
    }
    end();
}
END_TEST

/* ---- cases that are hard to cause otherwise ---- */

static _Atomic(pid_t) slow_thread;
static _Atomic(int) slow_entered, slow_may_go;

/* Delays the handler of one thread. The handler calls this when it learns its stack, after it has taken its slot. */
static pid_t slow_own_process(void) {
    if (syscall(SYS_gettid) == atomic_load(&slow_thread)) {
        atomic_store(&slow_entered, 1);
        while (atomic_load(&slow_may_go) == 0) usleep(1000);
    }
    return uspi_linux_real.own_process();
}

/* Addresses near null would be taken as readable: the call that probes memory treats a null pointer as no request. */
START_TEST(nothing_lies_at_null) {
    uint64_t word;
    use_table();
    script.variant = 1;
    atomic_store(&script.always, READ_PROCESS);
    for (usp_addr at = 0; at < 64; at++) {
        ck_assert_int_eq(uspi_os_read(NULL, at, &word, 1), USP_ERROR_UNREADABLE);
        ck_assert_int_eq(uspi_os_read(NULL, at, &word, sizeof word), USP_ERROR_UNREADABLE);
    }
    ck_assert_int_eq(uspi_os_read(NULL, (uintptr_t)&script, &word, sizeof word), USP_OK);
    uspi_linux = &uspi_linux_real;
}
END_TEST

START_TEST(kernel_addresses_are_not_asked_for) {
    uint64_t word;
    if (sizeof(uintptr_t) < 8) return;
    use_table();
    atomic_store(&script.count, 0);
    for (unsigned shift = 0; shift <= 48; shift++) {
        ck_assert_int_eq(uspi_os_read(NULL, UINT64_MAX << shift, &word, 1), USP_ERROR_UNREADABLE);
    }
    ck_assert_uint_eq(atomic_load(&script.count), 0);
    ck_assert_int_eq(uspi_os_read(NULL, (uintptr_t)&script, &word, sizeof word), USP_OK);
    ck_assert_uint_gt(atomic_load(&script.count), 0);
    uspi_linux = &uspi_linux_real;
}
END_TEST

START_TEST(a_handler_that_does_not_finish_keeps_its_memory) {
    struct parked slow = {.depth = 2}, other = {.depth = 3};
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    stand_begin(&slow);
    stand_begin(&other);
    use_table();
    table.own_process = slow_own_process;
    ck_assert_int_eq(prepare(20 * MS), USP_OK);
    atomic_store(&slow_thread, (pid_t)slow.thread.id);
    usp_stack_init(&stack, frames, FRAMES);
    /* On a busy machine the handler may not have begun before the timeout; its request is then withdrawn. */
    do {
        ck_assert_int_eq(usp_capture_thread(&slow.thread, NULL, &stack), USP_ERROR_TIMEOUT);
    } while (atomic_load(&slow_entered) == 0);
    for (int i = 0; i < 100; i++) {
        int status = usp_capture_thread(&other.thread, NULL, &stack);
        ck_assert(status == USP_OK || status == USP_ERROR_TIMEOUT);
        if (status == USP_OK) expect_standing(&other, &stack);
    }
    /* The request for all threads, the request that the handler still owns, and one for the others, which is reused. */
    ck_assert_int_eq(atomic_load(&script.mapped), 3);
    atomic_store(&slow_thread, 0);
    atomic_store(&slow_may_go, 1);
    ck_assert_int_eq(prepare(patience()), USP_OK);
    ck_assert_int_eq(usp_capture_thread(&slow.thread, NULL, &stack), USP_OK);
    expect_standing(&slow, &stack);
    shut_down_wholly();
    uspi_linux = &uspi_linux_real;
    stand_end(&slow);
    stand_end(&other);
}
END_TEST

static _Atomic(unsigned) listings;

/* Makes the requester sleep while it holds all threads, for longer than held threads wait. */
static long sleepy_list(int fd, void *to, size_t n) {
    if (atomic_fetch_add(&listings, 1) == 6) usleep(4500000);
    return uspi_linux_real.list_directory(fd, to, n);
}

START_TEST(held_threads_let_themselves_go) {
    struct parked s = {.depth = 2};
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    stand_begin(&s);
    use_table();
    table.list_directory = sleepy_list;
    ck_assert_int_eq(prepare(20 * MS), USP_OK);
    usp_snapshot_options_init(&options);
    options.timeout = 20 * MS;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
        for (size_t k = 0; k < usp_snapshot_get_info(snapshot)->thread_count; k++) {
            const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, k);
            ck_assert(t->status == USP_OK || t->status == USP_ERROR_TIMEOUT);
            /* A copy that may be torn is not in the snapshot. */
            if (t->status == USP_ERROR_TIMEOUT) ck_assert_uint_eq(t->stack.count, 0);
            if (t->info.thread.id == s.thread.id && t->status == USP_OK) expect_standing(&s, &t->stack);
        }
        usp_snapshot_free(snapshot);
    }
    ck_assert_uint_gt(atomic_load(&listings), 6);
    usp_shutdown();
    uspi_linux = &uspi_linux_real;
    stand_end(&s);
}
END_TEST

static _Atomic(int) cut_listings;

/* Ends the listing after the first thread, as the kernel does if the thread that it has reached exits. */
static long cut_list(int fd, void *to, size_t n) {
    long got = uspi_linux_real.list_directory(fd, to, n);
    if (got <= 0 || atomic_fetch_sub(&cut_listings, 1) <= 0) return got;
    /* Skips ".", ".." and the first thread. */
    long at = 0;
    for (int i = 0; i < 3 && at < got; i++) {
        uint16_t length;
        memcpy(&length, (const char *)to + at + 16, sizeof length);
        at += length;
    }
    return at;
}

START_TEST(listings_that_were_cut_short_are_taken_again) {
    struct usp_snapshot *snapshot;
    struct usp_thread_info infos[64];
    size_t count;
    begin();
    table.list_directory = cut_list;
    ck_assert_int_eq(prepare(patience()), USP_OK);
    for (int cuts = 0; cuts < 8; cuts++) {
        atomic_store(&cut_listings, cuts);
        ck_assert_int_eq(usp_threads(infos, 64, &count), USP_OK);
        ck_assert_uint_ge(count, 4);
        atomic_store(&cut_listings, cuts);
        ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
        ck_assert_uint_ge(usp_snapshot_get_info(snapshot)->thread_count, 4);
        usp_snapshot_free(snapshot);
        if (!can_trace()) continue;
        atomic_store(&cut_listings, cuts);
        ck_assert_int_eq(usp_snapshot_create_process(child.pid, NULL, &snapshot, NULL, 0), USP_OK);
        ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, TARGET_THREADS + 1);
        usp_snapshot_free(snapshot);
    }
    usp_shutdown();
    end();
}
END_TEST

/* ---- a system that refuses ---- */

static int trace_error;
static long refuse_trace(long request, pid_t tid, void *address, void *data) {
    (void)request;
    (void)tid;
    (void)address;
    (void)data;
    return -(long)trace_error;
}

static long open_with_yama(int directory, const char *path, int flags) {
    int ends[2];
    if (strcmp(path, "/proc/sys/kernel/yama/ptrace_scope") != 0) return uspi_linux_real.open(directory, path, flags);
    if (pipe(ends) != 0 || write(ends[1], "1\n", 2) != 2) return -EIO;
    close(ends[1]);
    return ends[0];
}

START_TEST(yama_and_missing_ptrace_are_explained) {
    struct usp_snapshot *snapshot;
    char error[512], tiny[8];
    begin();
    table.trace = refuse_trace;
    table.open = open_with_yama;
    trace_error = EPERM;
    ck_assert_int_eq(usp_snapshot_create_process(child.pid, NULL, &snapshot, error, sizeof error),
                     USP_ERROR_PERMISSION);
    ck_assert_msg(strstr(error, "ptrace_scope") != NULL, "%s", error);
    ck_assert_int_eq(usp_snapshot_create_process(child.pid, NULL, &snapshot, tiny, sizeof tiny), USP_ERROR_PERMISSION);
    ck_assert_uint_eq(strlen(tiny), sizeof tiny - 1);
    trace_error = ENOSYS;
    ck_assert_int_eq(usp_snapshot_create_process(child.pid, NULL, &snapshot, error, sizeof error),
                     USP_ERROR_UNSUPPORTED);
    ck_assert_msg(strstr(error, "cannot be stopped") != NULL, "%s", error);
    end();
}
END_TEST

/* ---- allocations ---- */

START_TEST(each_allocation_fails_once) {
    int (*attempt)(void) = tries[_i];
    unsigned failed = 0, refused = 0;
    begin();
    int expected = attempt_in_time(attempt);
    unsigned files = count_open_files();
    expect_unharmed(files);
    for (long n = 1;; n += (long)sampled(3, 1)) {
        fail_allocation(n);
        int status = attempt();
        bool none_failed = allocation_still_to_fail();
        fail_allocation(0);
        if (none_failed) break;
        ck_assert_msg(status == expected || status == USP_ERROR_NO_MEMORY || status == USP_ERROR_SYSTEM ||
                          status == USP_ERROR_TIMEOUT,
                      "%s", usp_status_string(status));
        failed++;
        refused += status != USP_OK;
        expect_unharmed(files);
    }
    printf("%u allocations failed, in %u cases with a status other than success\n", failed, refused);
    if (attempt == try_snapshot_self || attempt == try_lists) ck_assert_uint_gt(refused, 0);
    end();
}
END_TEST

/* ---- stacks that are read in one call ---- */

/* A fake read in which one stack is unreadable, in its first half or completely; and the addresses of the stacks that
 * were read. */
static struct {
    _Atomic(uintptr_t) broken;
    size_t readable; /* how many bytes of the broken stack can be read */
    _Atomic(unsigned) count;
    uintptr_t whole[64];
} stacks_read;

static long read_up_to_broken(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    long all = REAL->read_process(pid, local, remote, n);
    if (pid != child.pid || all < 0) return all;
    uintptr_t none = 0;
    if (n > 1) atomic_compare_exchange_strong(&stacks_read.broken, &none, (uintptr_t)remote[1].iov_base);
    size_t read = 0;
    for (size_t i = 0; i < n; i++) {
        if ((uintptr_t)remote[i].iov_base == atomic_load(&stacks_read.broken)) {
            read += stacks_read.readable;
            return read > 0 ? (long)read : -EFAULT;
        }
        stacks_read.whole[atomic_fetch_add(&stacks_read.count, 1) % 64] = (uintptr_t)remote[i].iov_base;
        read += remote[i].iov_len;
    }
    return (long)read;
}

/* process_vm_readv stops at an unreadable stack, and the threads after it would lose their frames. All other stacks
 * must be read all the same, each once. */
START_TEST(one_unreadable_stack_costs_no_other) {
    struct usp_snapshot *snapshot;
    unsigned whole = 0;
    if (!can_trace()) return;
    child = start_child(TARGET, "", "40", 0);
    table = uspi_linux_real;
    table.read_process = read_up_to_broken;
    uspi_linux = &table;
    stacks_read.readable = _i == 0 ? 0 : 32;
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_process(child.pid, &options, &snapshot, NULL, 0), USP_OK);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->thread_count, 41);
    ck_assert_uint_eq(info->missed, 0);
    ck_assert_uint_eq(atomic_load(&stacks_read.count), 40);
    for (uint32_t i = 0; i < 41; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        usp_addr sp = usp_registers_sp(&t->registers);
        for (unsigned k = 0; k < 40; k++) {
            /* Copies of stacks begin at the red zone. */
            if (sp < stacks_read.whole[k] || sp - stacks_read.whole[k] >= 256) continue;
            whole++;
            ck_assert_uint_eq(count_frames(&t->stack, child.low, child.high), TARGET_DEPTH + 1);
        }
    }
    ck_assert_uint_eq(whole, 40);
    usp_snapshot_free(snapshot);
    uspi_linux = &uspi_linux_real;
    end_child(&child);
}
END_TEST

/* ---- a tracer that ends late ---- */

static _Atomic(int) looks_left;

static long still_there(pid_t pid, pid_t tid) {
    return atomic_fetch_sub(&looks_left, 1) > 0 ? 0 : REAL->probe_thread(pid, tid);
}

/* The kernel resumes the threads of a process when its tracer ends, so a snapshot must not be returned before. But if
 * another thread has got the tracer's id, the wait for it must end. */
START_TEST(a_tracer_that_lingers) {
    struct usp_snapshot *snapshot;
    const int looks = _i == 0 ? 500 : INT_MAX;
    if (!can_trace()) return;
    child = start_child(TARGET, "", NULL, 0);
    table = uspi_linux_real;
    table.probe_thread = still_there;
    uspi_linux = &table;
    atomic_store(&looks_left, looks);
    uint64_t began = usp_clock();
    ck_assert_int_eq(usp_snapshot_create_process(child.pid, NULL, &snapshot, NULL, 0), USP_OK);
    const uint64_t took = usp_clock() - began, stopped = usp_snapshot_get_info(snapshot)->stopped_ns;
    if (_i == 0) ck_assert_int_lt(atomic_load(&looks_left), 0);
    ck_assert_uint_gt(stopped, 400 * 20000);
    ck_assert_uint_le(stopped, took);
    usp_snapshot_free(snapshot);
    uspi_linux = &uspi_linux_real;
    expect_running(child.pid);
    end_child(&child);
}
END_TEST

/* ---- what a capture reads ---- */

static unsigned reads;
static int silent[2]; /* a pipe; a byte is written to it when the thread is to leave */

static long counted_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    reads++;
    return REAL->read_process(pid, local, remote, n);
}

static void wait_for_byte(struct parked *s) {
    char byte = 0;
    (void)s;
    while (read(silent[0], &byte, 1) < 0) continue;
}

/* Words on the stack that point to the stack are read as if they led to code. If these bytes were cached as code, they
 * would differ each time, and every capture would make more system calls. */
START_TEST(a_warm_capture_reads_once) {
    static struct parked parked = {.depth = 10, .wait = wait_for_byte};
    static struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    ck_assert_int_eq(pipe(silent), 0);
    table = uspi_linux_real;
    table.read_process = counted_read_process;
    uspi_linux = &table;
    stand_begin(&parked);
    ck_assert_int_eq(prepare(patience()), USP_OK);
    for (unsigned i = 0; i < 4; i++) {
        /* By then the thread has finished what it does before it waits. */
        usleep(20000);
        reads = 0;
        usp_stack_init(&stack, frames, FRAMES);
        ck_assert_int_eq(usp_capture_thread(&parked.thread, NULL, &stack), USP_OK);
        ck_assert_uint_eq(FRAMES_IN(&stack, stand_deep), 11);
    }
    /* An emulator may not have process_vm_readv. */
    char byte = 0, copy;
    struct iovec local = {&copy, 1}, remote = {&byte, 1};
    if (REAL->read_process(getpid(), &local, &remote, 1) == 1) ck_assert_uint_le(reads, 1);
    ck_assert_int_eq(write(silent[1], "x", 1), 1);
    stand_end(&parked);
    usp_shutdown();
    close(silent[0]);
    close(silent[1]);
}
END_TEST

int main(void) {
    note_sample();
    TCase *c = tcase_create("faults");
    tcase_add_loop_test(c, each_call_fails_once, 0, 2 * TRIES);
    tcase_add_loop_test(c, each_kind_of_call_fails_always, 0, 2);
    tcase_add_loop_test(c, each_allocation_fails_once, 0, TRIES);
    add_tests(c, nothing_lies_at_null, kernel_addresses_are_not_asked_for,
              a_handler_that_does_not_finish_keeps_its_memory, held_threads_let_themselves_go,
              listings_that_were_cut_short_are_taken_again);
    tcase_add_loop_test(c, one_unreadable_stack_costs_no_other, 0, 2);
    tcase_add_loop_test(c, a_tracer_that_lingers, 0, 2);
    add_tests(c, yama_and_missing_ptrace_are_explained, a_warm_capture_reads_once);
    return run_suite("linux_faults", c);
}
