/* SPDX-License-Identifier: MIT */
/* Tests failures on the scripted kernel: every call fails in turn, at every position, and threads die between any two
 * calls. All threads must run again, every right, mapping and allocation must be returned, and the library must return
 * a status. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/os/os.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

/* Check allocates for each assertion, so it is called only if there is an error to report. */
static void require_frames(const struct usp_stack *stack, size_t first) {
    for (size_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].pc == CODE(first + i)) continue;
        fake.counting = false;
        ck_abort_msg("frame %zu is 0x%llx", i, (unsigned long long)stack->frames[i].pc);
    }
}

/* Whatever failed, a thread's stack has at least one frame. */
static void require_first(const struct usp_stack *stack) {
    if (stack->count != 0) return;
    fake.counting = false;
    ck_abort_msg("a stack without frames");
}

/* The status of the snapshot's last thread without a stack. */
static int thread_status;

static int run_threads(void) {
    struct usp_thread_info infos[8];
    size_t count;
    int status = usp_threads(infos, 8, &count);
    for (size_t i = 0; status == USP_OK && i < count; i++) usp_thread_release(&infos[i].thread);
    return status;
}

static int run_names(void) {
    struct usp_thread t;
    int own = usp_thread_self(&t);
    usp_thread_release(&t);
    int status = usp_thread_main(&t);
    usp_thread_release(&t);
    int other = usp_thread_from_pthread(fake_pthread(TARGET), &t);
    usp_thread_release(&t);
    return own != USP_OK ? own : status != USP_OK ? status : other;
}

/* The second frame must be the caller of this function, found at least by the frame record. The fast walk uses only
 * memory that it can read, so it may have no frames. */
static __attribute__((noinline)) int run_self(void) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    void *addresses[32];
    usp_stack_init(&stack, frames, 32);
    int status = usp_capture_self(NULL, &stack);
    require_first(&stack);
    int n = usp_backtrace(addresses, 32);
    void *caller = __builtin_return_address(0);
    bool typed = stack.count == 1 || frames[1].pc == (uintptr_t)caller;
    bool fast = n < 2 || addresses[1] == caller;
    if (typed && fast) return status;
    fake.counting = false;
    ck_abort_msg("the caller of the walk is not its caller (%u frames, %d addresses)", stack.count, n);
}

static int run_context(void) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    int status = capture_context(TARGET, &stack, frames, 32);
    require_first(&stack);
    require_frames(&stack, 300);
    return status;
}

static int run_capture(void) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    int status = capture_thread(TARGET, &stack, frames, 32);
    if (status != USP_OK) return status;
    /* Whatever failed, all frames that were found must be right. */
    require_first(&stack);
    require_frames(&stack, 300);
    return status;
}

static int run_in_handler(void) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    fill_stack(TARGET);
    handle_signal(TARGET, true);
    int status = capture_thread(TARGET, &stack, frames, 32);
    size_t right = status == USP_OK ? right_frames(&stack, 300) : 0;
    if (status == USP_OK) require_first(&stack);
    if (status != USP_OK || right == stack.count) return status;
    fake.counting = false;
    ck_abort_msg("frame %zu is 0x%llx", right, (unsigned long long)frames[right].pc);
}

static void require_snapshot(const struct usp_snapshot *s) {
    for (size_t i = 0; i < usp_snapshot_get_info(s)->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        size_t at = (size_t)(t->info.thread.id - FAKE_MAIN_ID);
        if (at == CALLER) continue;
        if (t->status != USP_OK) {
            thread_status = t->status;
            continue;
        }
        require_first(&t->stack);
        /* A second window sees a stack that was overwritten when the first one closed. */
        if (fake_account.windows == 1) require_frames(&t->stack, 100 + 100 * at);
    }
}

static int run_snapshot(void) {
    struct usp_snapshot *s;
    int status = usp_snapshot_create_self(NULL, &s);
    if (status == USP_OK) require_snapshot(s);
    usp_snapshot_free(s);
    return status;
}

static int run_process(void) {
    struct usp_snapshot *s;
    int status = usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0);
    if (status == USP_OK) require_snapshot(s);
    usp_snapshot_free(s);
    return status;
}

/* Loads an image again, so that the list is made anew. */
static void load_again(void) {
    uintptr_t header = fake.images[1].header;
    fake_unload(1);
    fake.images[1].header = header;
    fake_load(1);
}

/* Checks that the library's list is as before. */
static void list_whole(void) {
    fake.fail_at = 0;
    load_again();
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
}

static int run_images(void) {
    struct usp_images *images;
    load_again();
    int status = usp_images_create_self(&images);
    usp_images_free(images);
    list_whole();
    return status;
}

static int run_refresh(void) {
    load_again();
    int status = usp_images_refresh();
    uint32_t ticket;
    const struct usp_images *images = usp_images_acquire(&ticket);
    bool is_there = images != NULL && usp_images_count(images) != 0;
    usp_images_release(ticket);
    list_whole();
    /* After a failure the last list stays in use. */
    if (status != USP_OK || is_there) return status;
    fake.counting = false;
    ck_abort_msg("the list is empty");
}

static int run_image_at(void) {
    struct usp_image image;
    char path[64];
    return usp_image_at(fake.images[0].header, &image, path, sizeof path);
}

static int run_images_of_process(void) {
    struct usp_images *images;
    int status = usp_images_create_process(FAKE_OTHER_PID, &images, NULL, 0);
    usp_images_free(images);
    return status;
}

static int run_prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.stack_copy = 4096;
    int status = usp_prepare(&options);
    fake.fail_at = 0;
    usp_shutdown();
    return status;
}

static const struct scenario {
    const char *name;
    int (*run)(void);
    bool prepared;
    uint32_t statuses; /* bit −status: the call may return this status */
    uint64_t said;     /* bit of a failing call: the status must give its reason */
    uint64_t told_of;  /* the same; a snapshot's thread may have it instead */
} scenarios[] = {
#define MAY(status) (1u << -(status))
#define ANY         (MAY(USP_OK) | MAY(USP_ERROR_SYSTEM) | MAY(USP_ERROR_NO_THREAD) | MAY(USP_ERROR_NO_MEMORY))
#define BIT(call)   (UINT64_C(1) << (call))
#define LIST        BIT(FAKE_TASK_THREADS)
#define STOP        (BIT(FAKE_THREAD_SUSPEND) | BIT(FAKE_THREAD_GET_STATE))
#define STOP_TASK   (BIT(FAKE_TASK_SUSPEND) | BIT(FAKE_THREAD_GET_STATE))
    {"usp_threads", run_threads, true, ANY, LIST, 0},
    {"usp_thread_self and its siblings", run_names, true, ANY | MAY(USP_ERROR_UNSUPPORTED), LIST, 0},
    {"usp_capture_self", run_self, true, MAY(USP_OK), 0, 0},
    {"usp_capture_context", run_context, true, MAY(USP_OK), 0, 0},
    {"usp_capture_thread", run_capture, true, ANY | MAY(USP_ERROR_BUSY), LIST | STOP, 0},
    {"usp_capture_thread of a handler on another stack", run_in_handler, true, ANY | MAY(USP_ERROR_BUSY), LIST | STOP,
     0},
    {"usp_snapshot_create_self", run_snapshot, true, ANY | MAY(USP_ERROR_BUSY), LIST, STOP},
    {"usp_snapshot_create_process", run_process, true, ANY | MAY(USP_ERROR_PERMISSION), LIST, STOP_TASK},
    {"usp_images_create_self", run_images, true, ANY, 0, 0},
    {"usp_images_refresh", run_refresh, true, ANY, 0, 0},
    {"usp_image_at", run_image_at, true, MAY(USP_OK) | MAY(USP_ERROR_NOT_FOUND), 0, 0},
    {"usp_images_create_process", run_images_of_process, true, ANY | MAY(USP_ERROR_PERMISSION), 0, 0},
    {"usp_prepare", run_prepare, false,
     MAY(USP_OK) | MAY(USP_ERROR_SYSTEM) | MAY(USP_ERROR_NO_MEMORY) | MAY(USP_ERROR_BUSY), 0, 0},
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
    make_images();
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
    if (status > 0 || (s->statuses >> -status & 1) == 0) ck_abort_msg("%s: status %s", when, usp_status_string(status));
    check_clean(before, when);
    /* It works again when no call fails. */
    fake.fail_at = fake.die_at = 0;
    for (size_t i = 0; i < fake.thread_count; i++) fill_stack(i);
    status = run(s);
    if (status != USP_OK && status != USP_ERROR_NO_THREAD)
        ck_abort_msg("%s: again: %s", when, usp_status_string(status));
    check_clean(before, when);
}

static const struct {
    int result, status;
} reasons[] = {
    {FAILURE, USP_ERROR_SYSTEM},
    {TERMINATED, USP_ERROR_NO_THREAD},
    {ABORTED, USP_ERROR_SYSTEM},
    {SHORTAGE, USP_ERROR_NO_MEMORY},
};

/* Checks that the status is the right one, not only an allowed one: of the call itself or of the thread. */
static void check_told(const struct scenario *s, size_t call, size_t at, int expected, int status) {
    bool is_gone = expected == USP_ERROR_NO_THREAD;
    bool said = (s->said >> call & 1) == 0 || status == expected;
    /* A thread that has ended is not in the snapshot; without any thread there is no snapshot. */
    bool told_of = (s->told_of >> call & 1) == 0 || status == expected ||
                   (status == USP_OK && (is_gone || thread_status == expected));
    if (said && told_of) return;
    ck_abort_msg("%s, %s %zu: status %s, of a thread %s, not %s", s->name, fake_call_names[call], at,
                 usp_status_string(status), usp_status_string(thread_status), usp_status_string(expected));
}

static void fail_each(const struct scenario *s, bool all_later) {
    /* Calls that cannot fail, or whose failure does not matter. */
    static const bool certain[FAKE_CALLS] = {
        [FAKE_CLOCK] = true, [FAKE_TIMEBASE] = true, [FAKE_FREE] = true, [FAKE_LIBPTHREAD] = true};
    /* Calls whose reason for failing makes no difference. */
    static const bool plain[FAKE_CALLS] = {
        [FAKE_VM_READ] = true,       [FAKE_VM_REGION] = true,       [FAKE_VM_ALLOCATE] = true,
        [FAKE_VM_DEALLOCATE] = true, [FAKE_PORT_DEALLOCATE] = true, [FAKE_MALLOC] = true,
        [FAKE_SYSCTL] = true,        [FAKE_SIGMASK] = true,         [FAKE_LOADER] = true};
    begin(s);
    ck_assert_int_eq(run(s), USP_OK);
    struct fake_account whole = fake_account;
    size_t failures = 0;
    for (size_t call = 0; call < FAKE_CALLS; call++) {
        if (certain[call]) continue;
        /* If no thread can ever be resumed, the library cannot help. */
        if (all_later && (call == FAKE_THREAD_RESUME || call == FAKE_SEMAPHORE_SIGNAL)) continue;
        for (size_t at = 1; at <= whole.calls[call]; at += stride()) {
            for (size_t r = 0; r < (plain[call] ? 1 : sizeof reasons / sizeof reasons[0]); r++) {
                /* These results mean that the thread runs or has ended. A real kernel does not return them for a
                 * suspended thread. */
                if (call == FAKE_THREAD_RESUME && reasons[r].result != ABORTED && reasons[r].result != SHORTAGE)
                    continue;
                struct fake_account before = begin(s);
                fake.fail_call = (enum fake_call)call;
                fake.fail_at = at;
                fake.fail_result = reasons[r].result;
                fake.fail_all = all_later;
                thread_status = USP_OK;
                int status = run(s);
                check_told(s, call, at, reasons[r].status, status);
                /* A wait for the captures' turn that a signal interrupts goes on. */
                bool interrupted = call == FAKE_SEMAPHORE_WAIT && reasons[r].result == ABORTED && !all_later;
                if (interrupted) ck_assert_int_eq(status, USP_OK);
                check_end(s, status, &before, fake_call_names[call], at);
                failures++;
            }
        }
    }
    /* Walks in this process read most memory directly, without a call. */
    bool is_direct = s->run == run_self || s->run == run_context;
    ck_assert_uint_gt(failures, is_direct ? 0 : 15 / stride());
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
    for (size_t at = 1; at <= calls; at += stride()) {
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

TCase *case_of_faults(void) {
    TCase *faults = tcase_create("faults");
    tcase_add_checked_fixture(faults, start, stop);
    add_loop_tests(faults, 0, SCENARIOS, test_each_call_fails, test_each_call_keeps_failing, test_threads_die);
    return faults;
}
