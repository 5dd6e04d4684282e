/* SPDX-License-Identifier: MIT */
/* The Darwin layer against a scripted kernel: who is captured, how, and that the window between the first suspension and
 * the last resumption holds nothing but calls to the kernel. Then every call fails in turn, at every position, and threads
 * die between any two calls: whatever happens, everyone runs again, every right, mapping and allocation is given back, and
 * there is a status. FIELD-FAILURES 1, 2, 3, 4, 5, 16, 20, 21, 22, 26. */
#define _GNU_SOURCE 1
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/os.h"
#include "tests/apple/fakemach/fakemach.h"

/* Mach results that a call can have (xnu osfmk/mach/kern_return.h). */
enum { FAILURE = 5, ABORTED = 14, TERMINATED = 37, SHORTAGE = 6 };

#define FRAMES 6u
/* No program has memory there: return addresses that lead nowhere. */
#define CODE(i) ((uintptr_t)0x1000 + 16 * (uintptr_t)((i) % 3000))

bool fake_read_real(uintptr_t from, void *to, size_t n) {
    struct iovec local = {to, n}, remote = {(void *)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* ---- threads with stacks ---- */

static struct {
    size_t frames, first;
} layouts[FAKE_THREADS_MAX];

/* Frame records, the innermost near sp; the outermost one's frame pointer is 0. */
static void fill_stack(size_t at) {
    struct fake_thread *t = &fake.threads[at];
    size_t frames = layouts[at].frames, first = layouts[at].first, step = 64;
    t->sp = (uintptr_t)t->stack + t->stack_size - (frames + 2) * step;
    t->fp = t->sp + 32;
    t->pc = CODE(first);
    memset(t->stack, 0, t->stack_size);
    for (size_t i = 0; i < frames; i++) {
        uintptr_t *record = (uintptr_t *)(t->fp + i * step);
        record[0] = i + 1 < frames ? t->fp + (i + 1) * step : 0;
        record[1] = CODE(first + 1 + i);
    }
}

static size_t add_thread(uint32_t task, size_t size, size_t frames, size_t first) {
    struct fake_thread t = {.task = task, .stack_size = size, .scribbled_on = true};
    t.stack = aligned_alloc(64, size);
    ck_assert_ptr_nonnull(t.stack);
    ck_assert_uint_gt(size, (frames + 4) * 64);
    snprintf(t.name, sizeof t.name, "thread %zu", fake.thread_count);
    size_t at = fake_add_thread(&t);
    layouts[at].frames = frames;
    layouts[at].first = first;
    fill_stack(at);
    return at;
}

static void check_stack(const struct usp_stack *stack, size_t frames, size_t first) {
    ck_assert_int_eq(stack->status, USP_OK);
    ck_assert_uint_eq(stack->count, frames + 1);
    for (size_t i = 0; i < stack->count; i++) ck_assert_uint_eq(stack->frames[i].pc, CODE(first + i));
    ck_assert_uint_eq(stack->stop, USP_STOP_FP_ZERO);
}

#define MAIN   0u
#define CALLER 1u
#define TARGET 2u

static void start(void) {
    usp_shutdown();
    for (size_t i = 0; i < fake.thread_count; i++) free(fake.threads[i].stack);
    fake_reset();
    add_thread(FAKE_OWN, 8192, FRAMES, 100);
    add_thread(FAKE_OWN, 8192, FRAMES, 200);
    add_thread(FAKE_OWN, 8192, FRAMES, 300);
    add_thread(FAKE_OWN, 8192, FRAMES, 400);
    add_thread(FAKE_OTHER, 8192, FRAMES, 500);
    add_thread(FAKE_OTHER, 8192, FRAMES, 600);
    fake.self = CALLER;
}

static void stop(void) {
    usp_shutdown();
    for (size_t i = 0; i < fake.thread_count; i++) free(fake.threads[i].stack);
    fake_reset();
}

static void prepare(void) { ck_assert_int_eq(usp_prepare(NULL), USP_OK); }

/* Whoever was stopped runs, and what was taken is given back; `before`: the account at rest. */
static const char *what_is_left(const struct fake_account *before) {
    const struct fake_account *a = &fake_account;
    if (a->suspended != 0) return "a thread is still suspended";
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (fake.threads[i].suspended != 0) return "a thread of another task is still suspended";
    }
    if (a->rights != before->rights) return "a right is left";
    if (a->mappings != before->mappings) return "a mapping is left";
    if (a->allocations != before->allocations) return "an allocation is left";
    if (a->errors != 0) return "something was given back twice, or a running thread's state was asked for";
    if (a->forbidden != 0) return fake_call_names[a->forbidden_call];
    return NULL;
}

static void check_clean(const struct fake_account *before, const char *when) {
    const char *left = what_is_left(before);
    if (left != NULL) ck_abort_msg("%s: %s", when, left);
}

static struct usp_thread thread_at(size_t i) { return (struct usp_thread){fake.threads[i].id, fake_port(i)}; }

/* ---- single calls ---- */

START_TEST(test_threads) {
    struct usp_thread_info infos[8];
    size_t count;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_threads(infos, 8, &count), USP_OK);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(infos[i].thread.id, FAKE_MAIN_ID + i);
        ck_assert_uint_eq(infos[i].thread.native, fake_port(i));
        ck_assert_str_eq(infos[i].name, fake.threads[i].name);
        ck_assert_uint_eq(infos[i].flags, i == MAIN ? USP_THREAD_MAIN : i == CALLER ? USP_THREAD_REQUESTER : 0);
        ck_assert_uint_eq(infos[i].cpu_time, 7);
        ck_assert_uint_eq(infos[i].run_state, 3);
    }
    ck_assert_int_eq(fake_account.rights, before.rights + 4);
    for (size_t i = 0; i < count; i++) usp_thread_release(&infos[i].thread);
    check_clean(&before, "usp_threads");
    ck_assert_int_eq(usp_threads(infos, 2, &count), USP_ERROR_FULL);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < 2; i++) usp_thread_release(&infos[i].thread);
    check_clean(&before, "usp_threads with little room");
}
END_TEST

START_TEST(test_who_is_who) {
    struct usp_thread t;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_thread_self(&t), USP_OK);
    ck_assert_uint_eq(t.id, FAKE_MAIN_ID + CALLER);
    usp_thread_release(&t);
    ck_assert_int_eq(usp_thread_main(&t), USP_OK);
    ck_assert_uint_eq(t.id, FAKE_MAIN_ID);
    usp_thread_release(&t);
    ck_assert_int_eq(usp_thread_from_pthread(fake_pthread(TARGET), &t), USP_OK);
    ck_assert_uint_eq(t.id, FAKE_MAIN_ID + TARGET);
    usp_thread_release(&t);
    ck_assert_int_eq(usp_thread_from_pthread(0, &t), USP_ERROR_NO_THREAD);
    fake.threads[MAIN].dead = true;
    ck_assert_int_eq(usp_thread_main(&t), USP_ERROR_NO_THREAD);
    check_clean(&before, "who is who");
}
END_TEST

static int capture(size_t i, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity) {
    struct usp_thread t = thread_at(i);
    usp_stack_init(stack, frames, capacity);
    return usp_capture_thread(&t, NULL, stack);
}

/* The stack is overwritten as soon as the thread runs again: only a copy can have the frames. */
START_TEST(test_one_thread) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    ck_assert_int_eq(capture(TARGET, &stack, frames, 32), USP_ERROR_NOT_PREPARED);
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(capture(TARGET, &stack, frames, 32), USP_OK);
    check_stack(&stack, FRAMES, 300);
    ck_assert_uint_eq(fake_account.windows, 1);
    ck_assert_uint_gt(stack.stopped_ns, 0);
    ck_assert_uint_le(stack.stopped_ns, 20 * fake.step);
    check_clean(&before, "usp_capture_thread");
    /* By its id alone. */
    struct usp_thread t = {FAKE_MAIN_ID + 3, 0};
    ck_assert_int_eq(usp_capture_thread(&t, NULL, &stack), USP_OK);
    check_stack(&stack, FRAMES, 400);
    check_clean(&before, "usp_capture_thread by id");
}
END_TEST

START_TEST(test_no_such_thread) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    prepare();
    struct fake_account before = fake_account;
    const struct usp_thread none[] = {
        {FAKE_MAIN_ID + 77, 0},                         /* no such id */
        {FAKE_MAIN_ID + TARGET, fake_port(3)},          /* another thread's port */
        {FAKE_MAIN_ID + TARGET, 0x103},                 /* a port that is the task's */
        {FAKE_MAIN_ID + TARGET, 0xdead},                /* none at all */
        {fake.threads[4].id, fake_port(4)},             /* another task's thread */
        {FAKE_MAIN_ID + TARGET, UINT64_C(0x100000000)}, /* no port's name */
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        usp_stack_init(&stack, frames, 32);
        ck_assert_int_eq(usp_capture_thread(&none[i], NULL, &stack), USP_ERROR_NO_THREAD);
        check_clean(&before, "no such thread");
    }
    fake.threads[TARGET].dead = true;
    ck_assert_int_eq(capture(TARGET, &stack, frames, 32), USP_ERROR_NO_THREAD);
    check_clean(&before, "a dead thread");
    ck_assert_uint_eq(fake_account.windows, 0);
    /* The layer itself refuses the calling thread, which the core never hands to it. */
    struct uspi_thread_copy copy;
    struct usp_thread self = thread_at(CALLER);
    ck_assert_int_eq(uspi_os_copy_thread(&self, &copy), USP_ERROR_ARGUMENT);
    check_clean(&before, "the calling thread");
}
END_TEST

/* Deeper than what was reserved: a bounded number of windows, one bulk read in each. */
START_TEST(test_deep_stack) {
    enum { DEEP = 150000 };
    size_t deep = add_thread(FAKE_OWN, (size_t)10 << 20, DEEP, 0);
    struct usp_frame *frames = malloc((DEEP + 2) * sizeof *frames);
    struct usp_stack stack;
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.max_threads = 1;
    options.stack_copy = 4096;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    ck_assert_int_eq(capture(deep, &stack, frames, DEEP + 2), USP_OK);
    /* It was scribbled on when the first window closed: whatever a second one finds is another moment's. */
    ck_assert_uint_le(fake_account.windows, 4);
    fill_stack(deep);
    struct fake_account before = fake_account;
    size_t windows = fake_account.windows, regions = fake_account.calls[FAKE_VM_REGION];
    ck_assert_int_eq(capture(deep, &stack, frames, DEEP + 2), USP_OK);
    check_stack(&stack, DEEP, 0);
    ck_assert_uint_eq(fake_account.windows, windows + 1);
    ck_assert_uint_ge(fake_account.longest_bulk, DEEP * 64);
    ck_assert_uint_le(fake_account.calls[FAKE_VM_REGION], regions + 4);
    check_clean(&before, "a deep stack");
    free(frames);
}
END_TEST

static void check_snapshot(const struct usp_snapshot *s, size_t threads) {
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, threads);
    for (size_t i = 0; i < threads; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        size_t at = (size_t)(t->info.thread.id - FAKE_MAIN_ID);
        ck_assert_str_eq(t->info.name, fake.threads[at].name);
        ck_assert_uint_eq(t->info.thread.native, 0);
        if (at != CALLER) check_stack(&t->stack, FRAMES, at < 6 ? 100 + 100 * at : 0);
    }
}

START_TEST(test_all_threads) {
    struct usp_snapshot *s;
    ck_assert_int_eq(usp_snapshot_self(NULL, &s), USP_ERROR_NOT_PREPARED);
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(fake_account.windows, 1);
    check_snapshot(s, 4);
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 0)->info.flags, USP_THREAD_MAIN);
    usp_snapshot_free(s);
    check_clean(&before, "usp_snapshot_self");
}
END_TEST

/* FIELD-FAILURES 20: more than 70 threads. */
START_TEST(test_2000_threads) {
    struct usp_snapshot *s;
    while (fake.thread_count < 2006) add_thread(FAKE_OWN, 4096, FRAMES, 0);
    fake.step = 10;
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_self(NULL, &s), USP_OK);
    ck_assert_uint_le(fake_account.windows, 4);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2004);
    for (size_t i = 0; i < 2004; i++) ck_assert_int_eq(usp_snapshot_get_thread(s, i)->status, USP_OK);
    usp_snapshot_free(s);
    size_t windows = fake_account.windows;
    for (size_t i = 0; i < fake.thread_count; i++) fake.threads[i].scribbled_on = false;
    check_clean(&before, "2000 threads");
    ck_assert_int_eq(usp_snapshot_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(fake_account.windows, windows + 1);
    usp_snapshot_free(s);
    check_clean(&before, "2000 threads again");
}
END_TEST

START_TEST(test_other_process) {
    struct usp_snapshot *s;
    char error[256];
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2);
    for (size_t i = 0; i < 2; i++) check_stack(&usp_snapshot_get_thread(s, i)->stack, FRAMES, 500 + 100 * i);
    ck_assert_int_eq(usp_snapshot_get_info(s)->pid, FAKE_OTHER_PID);
    usp_snapshot_free(s);
    check_clean(&before, "usp_snapshot_process");
    ck_assert_int_eq(usp_snapshot_process(99, NULL, &s, error, sizeof error), USP_ERROR_NO_THREAD);
    ck_assert_int_eq(usp_snapshot_process(1000, NULL, &s, error, sizeof error), USP_ERROR_ARGUMENT);
    fake.fail_call = FAKE_TASK_FOR_PID;
    fake.fail_at = fake_account.calls[FAKE_TASK_FOR_PID] + 1;
    fake.fail_result = FAILURE;
    ck_assert_int_eq(usp_snapshot_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_ERROR_PERMISSION);
    ck_assert_ptr_nonnull(strstr(error, "entitlement"));
    check_clean(&before, "refused");
}
END_TEST

/* FIELD-FAILURES 21. */
START_TEST(test_translated) {
    /* The answer does not change while a process runs, so it is asked once: this runs in a process of its own. */
    struct usp_frame frames[4];
    struct usp_stack stack;
    struct usp_snapshot *s;
    fake.translated = true;
    ck_assert_int_eq(usp_prepare(NULL), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(capture(TARGET, &stack, frames, 4), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_snapshot_self(NULL, &s), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], 0);
}
END_TEST

/* Whoever holds the turn for too long makes the next one fail, not wait for ever. */
START_TEST(test_turn) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct uspi_thread_copy copy;
    struct usp_thread t = thread_at(TARGET);
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(uspi_os_copy_thread(&t, &copy), USP_OK);
    ck_assert_int_eq(capture(3, &stack, frames, 32), USP_ERROR_BUSY);
    uspi_os_release_copy(&copy);
    ck_assert_int_eq(capture(3, &stack, frames, 32), USP_OK);
    check_clean(&before, "turns");
}
END_TEST

/* ---- every call fails, threads die ---- */

/* Check allocates for each assertion: it is asked only if there is something to say. */
static void require_frames(const struct usp_stack *stack, size_t first) {
    for (size_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].pc == CODE(first + i)) continue;
        fake.counting = false;
        ck_abort_msg("frame %zu is 0x%llx", i, (unsigned long long)stack->frames[i].pc);
    }
}

static int run_threads(void) {
    struct usp_thread_info infos[8];
    size_t count;
    int status = usp_threads(infos, 8, &count);
    for (size_t i = 0; status == USP_OK && i < count; i++) usp_thread_release(&infos[i].thread);
    return status;
}

static int run_names(void) {
    struct usp_thread t;
    int status = usp_thread_main(&t);
    usp_thread_release(&t);
    int other = usp_thread_from_pthread(fake_pthread(TARGET), &t);
    usp_thread_release(&t);
    return status != USP_OK ? status : other;
}

static int run_capture(void) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    int status = capture(TARGET, &stack, frames, 32);
    /* Frames that there are, are right ones, whatever failed. */
    if (status == USP_OK) require_frames(&stack, 300);
    return status;
}

static int run_snapshot(void) {
    struct usp_snapshot *s;
    int status = usp_snapshot_self(NULL, &s);
    if (status == USP_OK) {
        for (size_t i = 0; i < usp_snapshot_get_info(s)->thread_count; i++) {
            const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
            size_t at = (size_t)(t->info.thread.id - FAKE_MAIN_ID);
            if (at == CALLER || t->status != USP_OK) continue;
            require_frames(&t->stack, 100 + 100 * at);
        }
    }
    usp_snapshot_free(s);
    return status;
}

static int run_process(void) {
    struct usp_snapshot *s;
    int status = usp_snapshot_process(FAKE_OTHER_PID, NULL, &s, NULL, 0);
    usp_snapshot_free(s);
    return status;
}

static int run_prepare(void) {
    int status = usp_prepare(NULL);
    fake.fail_at = 0;
    usp_shutdown();
    return status;
}

static const struct scenario {
    const char *name;
    int (*run)(void);
    bool prepared;
    uint32_t statuses; /* bit −status: may be the answer */
} scenarios[] = {
#define MAY(status) (1u << -(status))
#define ANY         (MAY(USP_OK) | MAY(USP_ERROR_SYSTEM) | MAY(USP_ERROR_NO_THREAD) | MAY(USP_ERROR_NO_MEMORY))
    {"usp_threads", run_threads, true, ANY},
    {"usp_thread_main", run_names, true, ANY | MAY(USP_ERROR_UNSUPPORTED)},
    {"usp_capture_thread", run_capture, true, ANY | MAY(USP_ERROR_BUSY)},
    {"usp_snapshot_self", run_snapshot, true, ANY | MAY(USP_ERROR_BUSY)},
    {"usp_snapshot_process", run_process, true, ANY | MAY(USP_ERROR_PERMISSION)},
    {"usp_prepare", run_prepare, false,
     MAY(USP_OK) | MAY(USP_ERROR_SYSTEM) | MAY(USP_ERROR_NO_MEMORY) | MAY(USP_ERROR_BUSY)},
};
#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

static int run(const struct scenario *s) {
    fake.counting = true;
    int status = s->run();
    fake.counting = false;
    return status;
}

static struct fake_account begin(const struct scenario *s) {
    start();
    if (s->prepared) prepare();
    struct fake_account before = fake_account;
    memset(fake_account.calls, 0, sizeof fake_account.calls);
    fake_account.all_calls = 0;
    return before;
}

static void check_end(const struct scenario *s, int status, const struct fake_account *before, const char *what,
                      size_t at) {
    char when[128];
    snprintf(when, sizeof when, "%s, %s %zu", s->name, what, at);
    if (status > 0 || (s->statuses >> -status & 1) == 0) ck_abort_msg("%s: status %s", when, usp_strerror(status));
    check_clean(before, when);
    /* It works again afterwards. */
    fake.fail_at = fake.die_at = 0;
    for (size_t i = 0; i < fake.thread_count; i++) fill_stack(i);
    status = run(s);
    if (status != USP_OK && status != USP_ERROR_NO_THREAD) ck_abort_msg("%s: again: %s", when, usp_strerror(status));
    check_clean(before, when);
}

static void fail_each(const struct scenario *s, bool all_behind) {
    static const int reasons[] = {FAILURE, TERMINATED, ABORTED, SHORTAGE};
    /* These cannot fail, or nobody asks whether they did. */
    static const bool certain[FAKE_CALLS] = {[FAKE_CLOCK] = true,
                                             [FAKE_TIMEBASE] = true,
                                             [FAKE_FREE] = true,
                                             [FAKE_LOADER] = true,
                                             [FAKE_LIBPTHREAD] = true};
    /* Why makes no difference. */
    static const bool plain[FAKE_CALLS] = {
        [FAKE_VM_READ] = true,         [FAKE_VM_REGION] = true, [FAKE_VM_ALLOCATE] = true, [FAKE_VM_DEALLOCATE] = true,
        [FAKE_PORT_DEALLOCATE] = true, [FAKE_MALLOC] = true,    [FAKE_SYSCTL] = true,      [FAKE_SIGMASK] = true};
    begin(s);
    ck_assert_int_eq(run(s), USP_OK);
    struct fake_account whole = fake_account;
    size_t failures = 0;
    for (size_t call = 0; call < FAKE_CALLS; call++) {
        if (certain[call]) continue;
        /* A thread that can never be resumed is nobody's to help. */
        if (all_behind && (call == FAKE_THREAD_RESUME || call == FAKE_SEMAPHORE_SIGNAL)) continue;
        for (size_t at = 1; at <= whole.calls[call]; at++) {
            for (size_t r = 0; r < (plain[call] ? 1 : sizeof reasons / sizeof reasons[0]); r++) {
                /* These mean that it runs, or is gone: a kernel that says so of one that stands still lies. */
                if (call == FAKE_THREAD_RESUME && reasons[r] != ABORTED && reasons[r] != SHORTAGE) continue;
                struct fake_account before = begin(s);
                fake.fail_call = (enum fake_call)call;
                fake.fail_at = at;
                fake.fail_result = reasons[r];
                fake.fail_all = all_behind;
                int status = run(s);
                check_end(s, status, &before, fake_call_names[call], at);
                failures++;
            }
        }
    }
    ck_assert_uint_gt(failures, 20);
    if (getenv("USP_TEST_VERBOSE") != NULL) printf("%s: %zu failures\n", s->name, failures);
}

START_TEST(test_each_call_fails) { fail_each(&scenarios[_i], false); }
END_TEST

START_TEST(test_each_call_keeps_failing) { fail_each(&scenarios[_i], true); }
END_TEST

START_TEST(test_threads_die) {
    const struct scenario *s = &scenarios[_i];
    begin(s);
    ck_assert_int_eq(run(s), USP_OK);
    size_t calls = fake_account.all_calls;
    if (getenv("USP_TEST_VERBOSE") != NULL) printf("%s: %zu calls\n", s->name, calls);
    for (size_t at = 1; at <= calls; at++) {
        for (size_t who = 0; who < 6; who++) {
            if (who == CALLER) continue;
            struct fake_account before = begin(s);
            fake.die_at = at;
            fake.die_index = who;
            int status = run(s);
            check_end(s, status, &before, "a thread dies at call", at);
        }
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("the Darwin layer on a scripted kernel");
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, start, stop);
    tcase_set_timeout(calls, 60);
    tcase_add_test(calls, test_threads);
    tcase_add_test(calls, test_who_is_who);
    tcase_add_test(calls, test_one_thread);
    tcase_add_test(calls, test_no_such_thread);
    tcase_add_test(calls, test_deep_stack);
    tcase_add_test(calls, test_all_threads);
    tcase_add_test(calls, test_2000_threads);
    tcase_add_test(calls, test_other_process);
    tcase_add_test(calls, test_translated);
    tcase_add_test(calls, test_turn);
    suite_add_tcase(s, calls);
    TCase *faults = tcase_create("faults");
    tcase_add_checked_fixture(faults, start, stop);
    tcase_set_timeout(faults, 300);
    tcase_add_loop_test(faults, test_each_call_fails, 0, SCENARIOS);
    tcase_add_loop_test(faults, test_each_call_keeps_failing, 0, SCENARIOS);
    tcase_add_loop_test(faults, test_threads_die, 0, SCENARIOS);
    suite_add_tcase(s, faults);
    return s;
}

int main(void) {
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
