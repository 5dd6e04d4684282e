/* SPDX-License-Identifier: MIT */
/* Tests single calls of the capture functions on the scripted kernel: which threads they capture, and how. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "arch/host.h"
#include "lib/capture/thread_copy.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

/* Number of copies that can exist at one time (lib/os/darwin/stop.c, ARENAS). */
#define COPIES 256u

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

/* A thread overwrites its stack as soon as it runs again, so frames that were not copied before would be false. */
START_TEST(test_one_thread) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
    check_stack(&stack, FRAMES, 300);
    ck_assert_uint_eq(fake_account.windows, 1);
    ck_assert_uint_gt(stack.stopped_ns, 0);
    ck_assert_uint_le(stack.stopped_ns, 20 * fake.step);
    check_clean(&before, "usp_capture_thread");
    /* By its id only, without a port. */
    struct usp_thread t = {FAKE_MAIN_ID + 3, 0};
    ck_assert_int_eq(usp_capture_thread(&t, NULL, &stack), USP_OK);
    check_stack(&stack, FRAMES, 400);
    check_clean(&before, "usp_capture_thread by id");
    /* Threads must be looked up while other requesters do not have to wait. */
    ck_assert_uint_eq(fake_account.lists_in_turn, 0);
}
END_TEST

/* Without memory for a copy, a capture must fail at once and not try again. */
START_TEST(test_no_arena) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct uspi_thread_copy copies[8];
    struct usp_thread t = thread_at(TARGET);
    struct uspi_undisturbed kept;
    prepare();
    uspi_os_undisturbed_begin(&kept);
    struct fake_account before = fake_account;
    fake.fail_call = FAKE_VM_ALLOCATE;
    fake.fail_at = before.calls[FAKE_VM_ALLOCATE] + 1;
    fake.fail_all = true;
    fake.fail_result = SHORTAGE;
    /* One copy's memory was allocated beforehand. */
    ck_assert_int_eq(uspi_os_copy_thread(&t, UINT64_MAX, &copies[0]), USP_OK);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_ERROR_NO_MEMORY);
    uspi_os_release_copy(&copies[0]);
    uspi_os_undisturbed_end(&kept);
    check_clean(&before, "no arena");
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
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_ERROR_NO_THREAD);
    check_clean(&before, "a dead thread");
    ck_assert_uint_eq(fake_account.windows, 0);
    /* The layer itself refuses the calling thread; the core never passes it. */
    struct uspi_thread_copy copy;
    struct usp_thread self = thread_at(CALLER);
    ck_assert_int_eq(uspi_os_copy_thread(&self, UINT64_MAX, &copy), USP_ERROR_ARGUMENT);
    check_clean(&before, "the calling thread");
}
END_TEST

/* The calling thread is walked where it runs: no thread is stopped, and the kernel is not asked for a state. */
START_TEST(test_own_thread) {
    struct usp_frame frames[64], expected[64];
    struct usp_stack stack, same;
    struct usp_thread self = thread_at(CALLER);
    prepare();
    struct fake_account before = fake_account;
    usp_stack_init(&stack, frames, 64);
    usp_stack_init(&same, expected, 64);
    ck_assert_int_eq(usp_capture_thread(&self, NULL, &stack), USP_OK);
    ck_assert_int_eq(usp_capture_self(NULL, &same), USP_OK);
    ck_assert_uint_gt(stack.count, 1);
    ck_assert_uint_eq(stack.count, same.count);
    /* The first frame lies in this function at another call, so it is not compared. */
    for (size_t i = 1; i < stack.count; i++) ck_assert_uint_eq(frames[i].pc, expected[i].pc);
    ck_assert_uint_eq(stack.stopped_ns, 0);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], before.calls[FAKE_THREAD_SUSPEND]);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_GET_STATE], before.calls[FAKE_THREAD_GET_STATE]);
    check_clean(&before, "one's own thread");
}
END_TEST

/* A thread that cannot learn its own id must not stop any thread: that might be itself. */
START_TEST(test_unknown_own_thread) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *s;
    prepare();
    struct fake_account before = fake_account;
    fake.fail_call = FAKE_THREAD_ID;
    fake.fail_at = 1;
    fake.fail_all = true;
    fake.fail_result = FAILURE;
    ck_assert_int_eq(capture_thread(CALLER, &stack, frames, 64), USP_ERROR_SYSTEM);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_ERROR_SYSTEM);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], before.calls[FAKE_THREAD_SUSPEND]);
    check_clean(&before, "a thread that does not know itself");
}
END_TEST

/* Threads that end before all threads are stopped are not in the snapshot; a main thread that has ended is in the
 * list. */
START_TEST(test_ended_meanwhile) {
    struct usp_snapshot *s;
    prepare();
    struct fake_account before = fake_account;
    fake.fail_call = FAKE_THREAD_SUSPEND;
    fake.fail_at = before.calls[FAKE_THREAD_SUSPEND] + 1;
    fake.fail_all = true;
    fake.fail_result = TERMINATED;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2);
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 0)->info.flags, USP_THREAD_MAIN);
    ck_assert_int_eq(usp_snapshot_get_thread(s, 0)->status, USP_ERROR_NO_THREAD);
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 1)->info.flags, USP_THREAD_REQUESTER);
    ck_assert_int_eq(usp_snapshot_get_thread(s, 1)->status, USP_OK);
    usp_snapshot_free(s);
    check_clean(&before, "threads that end");
}
END_TEST

/* A child of fork inherits no rights. It has the thread that forked and the main thread, and captures must work in
 * it. */
START_TEST(test_after_fork) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct usp_thread t;
    struct usp_snapshot *s;
    struct uspi_thread_copy copy;
    struct usp_thread target = thread_at(TARGET);
    prepare();
    /* The threads that held copies do not exist any more. */
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    for (unsigned i = 0; i < COPIES; i++) ck_assert_int_eq(uspi_os_copy_thread(&target, UINT64_MAX, &copy), USP_OK);
    uspi_os_undisturbed_end(&kept);
    fake_fork();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_thread_main(&t), USP_OK);
    ck_assert_uint_eq(t.id, FAKE_MAIN_ID + CALLER);
    usp_thread_release(&t);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_ERROR_NO_THREAD);
    size_t fresh = add_thread(FAKE_OWN, 8192, FRAMES, 700);
    ck_assert_int_eq(capture_thread(fresh, &stack, frames, 32), USP_OK);
    check_stack(&stack, FRAMES, 700);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2);
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 0)->info.flags, USP_THREAD_MAIN | USP_THREAD_REQUESTER);
    usp_snapshot_free(s);
    check_clean(&before, "after fork");
}
END_TEST

/* The process forks before the first usp_prepare, or during it. */
START_TEST(test_fork_before_prepare) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct usp_thread t;
    fake_fork();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_thread_main(&t), USP_OK);
    ck_assert_uint_eq(t.id, FAKE_MAIN_ID + CALLER);
    usp_thread_release(&t);
    prepare();
    size_t fresh = add_thread(FAKE_OWN, 8192, FRAMES, 700);
    ck_assert_int_eq(capture_thread(fresh, &stack, frames, 32), USP_OK);
    check_stack(&stack, FRAMES, 700);
    usp_shutdown();
    check_clean(&before, "fork before usp_prepare");
}
END_TEST

/* A stack is deeper than the reserved memory. It must be captured by a bounded number of windows with one bulk read in
 * each. */
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
    ck_assert_int_eq(capture_thread(deep, &stack, frames, DEEP + 2), USP_OK);
    /* The stack was overwritten when the first window closed, so a second window sees another moment. */
    ck_assert_uint_le(fake_account.windows, 4);
    fill_stack(deep);
    struct fake_account before = fake_account;
    size_t windows = fake_account.windows, regions = fake_account.calls[FAKE_VM_REGION];
    ck_assert_int_eq(capture_thread(deep, &stack, frames, DEEP + 2), USP_OK);
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
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(fake_account.windows, 1);
    check_snapshot(s, 4);
    ck_assert_uint_eq(usp_snapshot_get_thread(s, 0)->info.flags, USP_THREAD_MAIN);
    usp_snapshot_free(s);
    check_clean(&before, "usp_snapshot_create_self");
}
END_TEST

/* More than 70 threads. */
START_TEST(test_2000_threads) {
    struct usp_snapshot *s;
    while (fake.thread_count < 2006) add_thread(FAKE_OWN, 4096, FRAMES, 0);
    fake.step = 10;
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_le(fake_account.windows, 4);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2004);
    for (size_t i = 0; i < 2004; i++) ck_assert_int_eq(usp_snapshot_get_thread(s, i)->status, USP_OK);
    usp_snapshot_free(s);
    size_t windows = fake_account.windows;
    for (size_t i = 0; i < fake.thread_count; i++) fake.threads[i].scribbled_on = false;
    check_clean(&before, "2000 threads");
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_uint_eq(fake_account.windows, windows + 1);
    usp_snapshot_free(s);
    check_clean(&before, "2000 threads again");
}
END_TEST

START_TEST(test_other_process) {
    struct usp_snapshot *s;
    char error[256];
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, 2);
    for (size_t i = 0; i < 2; i++) check_stack(&usp_snapshot_get_thread(s, i)->stack, FRAMES, 500 + 100 * i);
    ck_assert_int_eq(usp_snapshot_get_info(s)->pid, FAKE_OTHER_PID);
    usp_snapshot_free(s);
    check_clean(&before, "usp_snapshot_create_process");
    ck_assert_uint_eq(fake_account.windows, before.windows + 1);
    ck_assert_uint_eq(fake_account.calls[FAKE_TASK_RESUME], 1);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], 0);
    ck_assert_int_eq(usp_snapshot_create_process(99, NULL, &s, error, sizeof error), USP_ERROR_NO_THREAD);
    ck_assert_int_eq(usp_snapshot_create_process(fake.process, NULL, &s, error, sizeof error), USP_ERROR_ARGUMENT);
    fake.fail_call = FAKE_TASK_FOR_PID;
    fake.fail_at = fake_account.calls[FAKE_TASK_FOR_PID] + 1;
    fake.fail_result = FAILURE;
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_ERROR_PERMISSION);
    ck_assert_ptr_nonnull(strstr(error, "entitlement"));
    check_clean(&before, "refused");
}
END_TEST

START_TEST(test_translated) {
    /* The system is asked once, because its answer does not change while a process runs. So this test runs in a process
     * of its own. */
    struct usp_frame frames[4];
    struct usp_stack stack;
    struct usp_snapshot *s;
    fake.translated = true;
    ck_assert_int_eq(usp_prepare(NULL), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 4), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], 0);
}
END_TEST

/* Threads that walk copies do not wait for each other. If too many do, the next capture fails. */
START_TEST(test_copies_at_one_time) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct uspi_thread_copy copies[COPIES];
    struct uspi_undisturbed kept;
    struct usp_snapshot *s;
    struct usp_thread t = thread_at(TARGET);
    uint8_t byte;
    prepare();
    struct fake_account before = fake_account;
    uspi_os_undisturbed_begin(&kept);
    for (unsigned i = 0; i < COPIES; i++) {
        ck_assert_int_eq(uspi_os_copy_thread(&t, UINT64_MAX, &copies[i]), USP_OK);
        for (unsigned k = 0; k < i; k++) ck_assert_ptr_ne(copies[i].parts[0].bytes, copies[k].parts[0].bytes);
    }
    ck_assert_int_eq(capture_thread(3, &stack, frames, 32), USP_ERROR_BUSY);
    /* A snapshot of all threads needs none of these copies. */
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    usp_snapshot_free(s);
    uspi_os_release_copy(&copies[2]);
    ck_assert_int_eq(capture_thread(3, &stack, frames, 32), USP_OK);
    for (unsigned i = 0; i < COPIES; i++) {
        if (i == 2) continue;
        ck_assert_int_eq(uspi_read_parts(&copies[i], copies[i].parts[0].from, &byte, 1), USP_OK);
        uspi_os_release_copy(&copies[i]);
    }
    uspi_os_undisturbed_end(&kept);
    ck_assert_uint_eq(fake_account.suspended, 0);
    /* Their memory is kept for later copies. */
    usp_shutdown();
    ck_assert_int_eq(fake_account.mappings, 0);
    ck_assert_uint_eq(fake_account.errors, 0);
    ck_assert_int_lt(fake_account.rights, before.rights);
}
END_TEST

/* ---- stacks from the field ---- */

static uintptr_t *record_of(size_t at, size_t i) { return (uintptr_t *)(fake.threads[at].fp + i * 64); }

START_TEST(test_looping_stack) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    prepare();
    struct fake_account before = fake_account;
    record_of(TARGET, 3)[0] = (uintptr_t)record_of(TARGET, 1);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_OK);
    ck_assert_uint_ge(stack.count, 4);
    ck_assert_uint_le(stack.count, FRAMES + 1);
    ck_assert(stack.stop == USP_STOP_FP_BACKWARDS || stack.stop == USP_STOP_CYCLE);
    fill_stack(TARGET);
    record_of(TARGET, 2)[0] = (uintptr_t)record_of(TARGET, 2);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_OK);
    ck_assert(stack.stop == USP_STOP_FP_BACKWARDS || stack.stop == USP_STOP_CYCLE);
    check_clean(&before, "a looping stack");
}
END_TEST

/* Changes the stack from the fourth record on. */
static void change_stack(void) {
    for (size_t i = 3; i < FRAMES; i++) record_of(TARGET, i)[1] = CODE(700 + 1 + i);
}

/* Makes the records circular. */
static void bend_stack(void) { record_of(TARGET, FRAMES - 1)[0] = (uintptr_t)record_of(TARGET, 1); }

/* Another thread writes to the stack of a stopped thread, between any two reads. The walk must find the old frames or
 * the new ones, and report why the stack ends. */
START_TEST(test_changing_stack) {
    static void (*const hooks[])(void) = {change_stack, bend_stack};
    struct usp_frame frames[64];
    struct usp_stack stack;
    size_t old = 0, new = 0, reads;
    prepare();
    reads = fake_account.calls[FAKE_VM_READ];
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_OK);
    reads = fake_account.calls[FAKE_VM_READ] - reads;
    ck_assert_uint_gt(reads, 0);
    fake.hook = hooks[_i];
    for (size_t at = 1; at <= reads; at++) {
        fill_stack(TARGET);
        struct fake_account before = fake_account;
        fake.hook_at = before.calls[FAKE_VM_READ] + at;
        ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_OK);
        check_clean(&before, "a changing stack");
        bool is_new = frames[stack.count - 1].pc != CODE(300 + FRAMES) || stack.stop != USP_STOP_FP_ZERO;
        *(is_new ? &new : &old) += 1;
        ck_assert_uint_eq(stack.count, FRAMES + 1);
        for (size_t i = 0; i < stack.count; i++) {
            bool is_changed = is_new && hooks[_i] == change_stack && i >= 4;
            ck_assert_uint_eq(frames[i].pc, CODE((is_changed ? 700 : 300) + i));
        }
        bool goes_round = is_new && hooks[_i] == bend_stack;
        ck_assert_int_eq(stack.stop == USP_STOP_FP_BACKWARDS || stack.stop == USP_STOP_CYCLE, goes_round);
    }
    fake.hook_at = 0;
    ck_assert_uint_gt(new, 0);
    ck_assert_uint_gt(old, 0);
}
END_TEST

/* A call through a null function pointer has a caller, which a user needs most: it must not be lost. */
START_TEST(test_null_call) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    prepare();
    struct fake_thread *t = &fake.threads[TARGET];
    uintptr_t pushed = CODE(300);
    t->pc = 0;
    if (USPI_HOST_ARCH != USP_ARCH_ARM64) memcpy((void *)t->sp, &pushed, sizeof pushed);
    t->lr = pushed;
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 64), USP_OK);
    ck_assert_uint_eq(stack.count, FRAMES + 2);
    ck_assert_uint_eq(frames[0].pc, 0);
    for (size_t i = 1; i < stack.count; i++) ck_assert_uint_eq(frames[i].pc, CODE(300 + i - 1));
}
END_TEST

/* The stack has run into its guard. The outermost frames must be there, with the number of missing ones. */
START_TEST(test_overflow) {
    enum { DEEP = 2000, GUARD = 4096 };
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_unwind_options options;
    size_t deep = add_thread(FAKE_OWN, GUARD + (DEEP + 3) * 64, DEEP, 0);
    struct fake_thread *t = &fake.threads[deep];
    t->guard = GUARD;
    prepare();
    /* The frame that is being made is larger than the remaining stack. */
    t->sp = (uintptr_t)t->stack + GUARD - 1024;
    struct fake_account before = fake_account;
    struct usp_thread thread = thread_at(deep);
    usp_stack_init(&stack, frames, 64);
    usp_unwind_options_init(&options);
    options.tail = 32;
    ck_assert_int_eq(usp_capture_thread(&thread, &options, &stack), USP_OK);
    t->scribbled_on = false;
    fill_stack(deep);
    t->sp = (uintptr_t)t->stack + GUARD - 1024;
    ck_assert_int_eq(usp_capture_thread(&thread, &options, &stack), USP_OK);
    ck_assert_uint_eq(stack.count, 64);
    ck_assert_uint_eq(stack.omitted, DEEP + 1 - 64);
    ck_assert_uint_eq(frames[0].pc, CODE(0));
    ck_assert_uint_eq(frames[63].pc, CODE(DEEP));
    ck_assert_uint_eq(stack.stop, USP_STOP_FP_ZERO);
    check_clean(&before, "an overflow");
}
END_TEST

START_TEST(test_stack_pointer_nowhere) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    static const uintptr_t nowhere[] = {0, 8, UINTPTR_MAX - 15, UINTPTR_MAX / 2};
    prepare();
    struct fake_account before = fake_account;
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        fake.threads[TARGET].sp = nowhere[i];
        fake.threads[TARGET].fp = nowhere[i];
        int status = capture_thread(TARGET, &stack, frames, 64);
        ck_assert_int_eq(status, USP_OK);
        ck_assert_uint_eq(stack.count, 1);
        ck_assert_uint_eq(frames[0].pc, CODE(300));
        check_clean(&before, "a stack pointer that leads nowhere");
    }
}
END_TEST

/* The library is shut down during a capture. No thread may stay stopped, and a copy stays valid for the thread that
 * holds it. */
START_TEST(test_shutdown_meanwhile) {
    struct uspi_thread_copy copy;
    struct usp_thread t = thread_at(TARGET);
    struct usp_frame frames[8];
    struct usp_stack stack;
    uint8_t byte;
    prepare();
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    ck_assert_int_eq(uspi_os_copy_thread(&t, UINT64_MAX, &copy), USP_OK);
    ck_assert_uint_eq(fake_account.suspended, 0);
    usp_shutdown();
    ck_assert_int_eq(uspi_read_parts(&copy, copy.parts[0].from, &byte, 1), USP_OK);
    uspi_os_release_copy(&copy);
    uspi_os_undisturbed_end(&kept);
    ck_assert_uint_eq(fake_account.errors, 0);
    ck_assert_int_eq(fake_account.rights, 0);
    ck_assert_int_eq(fake_account.mappings, 0);
    /* The next capture prepares the library again. */
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 8), USP_OK);
    usp_shutdown();
    ck_assert_int_eq(fake_account.rights, 0);
    ck_assert_int_eq(fake_account.mappings, 0);
}
END_TEST

/* A stack is longer each time. It costs at most four windows; then the capture keeps the innermost part. */
START_TEST(test_growing_stack) {
    enum { ROOM = 4 << 20, GROWTH = 1 << 20 };
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct usp_snapshot *s;
    size_t growing = add_thread(FAKE_OWN, ROOM + 4096, FRAMES, 0);
    struct fake_thread *t = &fake.threads[growing];
    t->scribbled_on = false;
    t->growth = GROWTH;
    prepare();
    struct fake_account before = fake_account;
    t->sp -= GROWTH;
    if (_i == 0) {
        ck_assert_int_eq(capture_thread(growing, &stack, frames, 32), USP_OK);
        ck_assert_uint_gt(stack.count, 0);
        ck_assert_uint_eq(frames[0].pc, CODE(0));
    } else {
        ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
        ck_assert_uint_eq(usp_snapshot_get_info(s)->thread_count, THREADS_OF_PROCESS + 1);
        usp_snapshot_free(s);
    }
    ck_assert_uint_gt(fake_account.windows - before.windows, 1);
    ck_assert_uint_le(fake_account.windows - before.windows, 4);
    check_clean(&before, "a stack that grows");
}
END_TEST

/* A capture with a time limit must not stop threads after it, and must report the threads for which it has no stack. */
START_TEST(test_time_limit) {
    struct usp_snapshot_options options;
    struct usp_snapshot *s;
    size_t timed_out = 0;
    while (fake.thread_count < 100) add_thread(FAKE_OWN, 4096, FRAMES, 0);
    prepare();
    usp_snapshot_options_init(&options);
    options.timeout = 20 * fake.step;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &s), USP_OK);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(s);
    for (size_t i = 0; i < info->thread_count; i++) {
        timed_out += usp_snapshot_get_thread(s, i)->status == USP_ERROR_TIMEOUT;
    }
    ck_assert_uint_gt(timed_out, 50);
    ck_assert_uint_eq(info->missed, timed_out);
    usp_snapshot_free(s);
    check_clean(&before, "a time limit");
}
END_TEST

/* What samplers and monitors ask repeatedly: clocks, names, the list of threads, the debugger. */
START_TEST(test_threads_again_and_again) {
    struct uspi_os_listing listing;
    struct usp_thread threads[8];
    struct usp_thread_info info;
    size_t count;
    uint64_t ns;
    struct fake_account before = fake_account;
    ck_assert_int_eq(uspi_os_listing_open(&listing), USP_OK);
    ck_assert_int_eq(uspi_os_listing_count(&listing, &count), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(uspi_os_listing_read(&listing, threads, 8, &count), USP_OK);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(threads[i].id, FAKE_MAIN_ID + i);
        ck_assert_int_eq(uspi_os_thread_cpu(&threads[i], &ns), USP_OK);
        ck_assert_uint_eq(ns, 7);
        ck_assert_int_eq(uspi_os_thread_describe(&threads[i], &info), USP_OK);
        ck_assert_str_eq(info.name, fake.threads[i].name);
        ck_assert_uint_eq(info.flags, i == MAIN ? USP_THREAD_MAIN : i == CALLER ? USP_THREAD_REQUESTER : 0);
    }
    /* By its id only, without a port. */
    const struct usp_thread unheld = {FAKE_MAIN_ID + TARGET, 0};
    ck_assert_int_eq(uspi_os_thread_cpu(&unheld, &ns), USP_OK);
    ck_assert_uint_eq(ns, 7);
    fake.threads[TARGET].dead = true;
    ck_assert_int_eq(uspi_os_thread_cpu(&threads[TARGET], &ns), USP_ERROR_NO_THREAD);
    ck_assert_int_eq(uspi_os_thread_cpu(&unheld, &ns), USP_ERROR_NO_THREAD);
    ck_assert_int_eq(uspi_os_thread_describe(&threads[TARGET], &info), USP_ERROR_NO_THREAD);
    for (size_t i = 0; i < count; i++) uspi_os_thread_release(&threads[i]);
    ck_assert_int_eq(uspi_os_listing_read(&listing, threads, 1, &count), USP_ERROR_FULL);
    ck_assert_uint_eq(count, 3);
    uspi_os_thread_release(&threads[0]);
    uspi_os_listing_close(&listing);
    check_clean(&before, "threads again and again");
    ck_assert(!uspi_os_is_traced());
    fake.traced = true;
    ck_assert(uspi_os_is_traced());
}
END_TEST

/* The events on which the library's own threads sleep, and for which a loop waits. */
START_TEST(test_events) {
    struct uspi_event event;
    int fds[2];
    char byte;
    struct fake_account before = fake_account;
    ck_assert(uspi_event_init(&event));
    ck_assert(!uspi_event_wait(&event, uspi_os_clock() + 5000000));
    uspi_event_set(&event);
    uspi_event_set(&event);
    ck_assert(uspi_event_wait(&event, UINT64_MAX));
    /* The second signal belongs to what was handled already: it must not end the next wait. */
    uint64_t deadline = uspi_os_clock() + 5000000;
    ck_assert(!uspi_event_wait(&event, deadline));
    ck_assert_uint_ge(uspi_os_clock(), deadline);
    uspi_event_free(&event);
    check_clean(&before, "events");
    ck_assert_int_eq(uspi_os_signal_open(fds), USP_OK);
    uspi_os_signal_send(fds);
    uspi_os_signal_send(fds);
    uspi_os_signal_clear(fds);
    ck_assert_int_eq(read(fds[0], &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    uspi_os_signal_close(fds);
    ck_assert_int_eq(fds[0], -1);
}
END_TEST

TCase *case_of_calls(void) {
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, start, stop);
    add_tests(calls, test_threads, test_who_is_who, test_one_thread, test_no_arena, test_no_such_thread,
              test_own_thread, test_unknown_own_thread, test_ended_meanwhile, test_after_fork, test_fork_before_prepare,
              test_deep_stack, test_all_threads, test_2000_threads, test_other_process, test_translated,
              test_copies_at_one_time, test_looping_stack);
    tcase_add_loop_test(calls, test_changing_stack, 0, 2);
    add_tests(calls, test_null_call, test_overflow, test_stack_pointer_nowhere, test_shutdown_meanwhile);
    tcase_add_loop_test(calls, test_growing_stack, 0, 2);
    add_tests(calls, test_time_limit, test_threads_again_and_again, test_events);
    return calls;
}
