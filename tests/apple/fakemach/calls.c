/* SPDX-License-Identifier: MIT */
/* Single calls on the scripted kernel: who is captured, and how. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/os.h"
#include "tests/apple/fakemach/stacks.h"

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

/* The stack is overwritten as soon as the thread runs again: only a copy can have the frames. */
START_TEST(test_one_thread) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_ERROR_NOT_PREPARED);
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
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
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_ERROR_NO_THREAD);
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
    ck_assert_int_eq(capture_thread(deep, &stack, frames, DEEP + 2), USP_OK);
    /* It was scribbled on when the first window closed: whatever a second one finds is another moment's. */
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
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 4), USP_ERROR_UNSUPPORTED);
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
    ck_assert_int_eq(capture_thread(3, &stack, frames, 32), USP_ERROR_BUSY);
    uspi_os_release_copy(&copy);
    ck_assert_int_eq(capture_thread(3, &stack, frames, 32), USP_OK);
    check_clean(&before, "turns");
}
END_TEST

TCase *case_of_calls(void) {
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
    return calls;
}
