/* SPDX-License-Identifier: MIT */
/* Tests the library without an operating system (--with-os=none): every function that needs a live thread returns
 * "unsupported" at once and does not touch its arguments. Functions over bytes work as in other builds; other suites
 * test them. */
#include <check.h>
#include <stdlib.h>

#include <unspool/unspool.h>

#include "tests/support/suite.h"

START_TEST(live_threads_are_unsupported) {
    struct usp_thread thread = {1, 1};
    struct usp_thread_info info;
    struct usp_frame frames[4];
    struct usp_stack stack;
    size_t count = 99;

    usp_stack_init(&stack, frames, 4);
    ck_assert_int_eq(usp_prepare(NULL), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_thread_prepare(), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_thread_self(&thread), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_thread_main(&thread), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_thread_from_pthread(1, &thread), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_threads(&info, 1, &count), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_capture_thread(&thread, NULL, &stack), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(stack.count, 0);
    usp_thread_release(&thread);
    usp_shutdown();
}
END_TEST

START_TEST(a_signal_context_is_unsupported) {
    struct usp_frame frames[4];
    struct usp_stack stack;
    const unsigned char context[2048] = {0};

    usp_stack_init(&stack, frames, 4);
    ck_assert_int_eq(usp_capture_context(context, NULL, &stack), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(stack.count, 0);
}
END_TEST

int main(void) {
    TCase *live = tcase_create("live");
    add_tests(live, live_threads_are_unsupported, a_signal_context_is_unsupported);
    return run_suite("none", live);
}
