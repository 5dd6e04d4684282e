/* SPDX-License-Identifier: MIT */
/* Tests stacks that own their memory (usp_stack_create): all frames of the calling thread and of another one, without
 * usp_prepare; and what happens when memory is short. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"

#include "arch/host.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

#include <dlfcn.h>

#define DEEP 3000u

static struct usp_stack *own;
static struct usp_unwind_options given;
static int own_status;

static void take_own(struct parked *s) {
    (void)s;
    own_status = usp_stack_create(NULL, &given, &own);
}

/* Captures the stack of a thread at this depth, by the thread itself. */
static void capture_own(unsigned depth) {
    struct parked s = {.depth = depth, .wait = take_own};
    stand_begin(&s);
    stand_end(&s);
}

static void begin_each(void) { usp_unwind_options_init(&given); }

START_TEST(the_calling_thread_from_the_caller_on) {
    capture_own(DEEP);
    ck_assert_int_eq(own_status, USP_OK);
    const usp_addr innermost = own->frames[0].pc;
    ck_assert_uint_ge(innermost, (uintptr_t)take_own);
    ck_assert_uint_lt(innermost, (uintptr_t)take_own + 256);
    ck_assert_uint_eq(FRAMES_IN(own, stand_deep), DEEP + 1);
    ck_assert_uint_eq(own->omitted, 0);
    ck_assert_uint_eq(own->stop, USP_STOP_ROOT);
    ck_assert_uint_eq(own->count, own->capacity);
    usp_stack_free(own);
}
END_TEST

/* ---- a library that is loaded after usp_prepare ---- */

static void (*call_plugin)(void (*)(void), uintptr_t *);
static uintptr_t plugin_returns_to;

static KEPT void capture_below_plugin(void) {
    own_status = usp_stack_create(NULL, &given, &own);
    atomic_fetch_add(&standing_sink, 1);
}

static KEPT void capture_through_plugin(struct parked *s) {
    (void)s;
    call_plugin(capture_below_plugin, &plugin_returns_to);
    atomic_fetch_add(&standing_sink, 1);
}

/* A stack would end at a library that was loaded after usp_prepare. The plugin has no frame records: its unwind table
 * leads to its caller. */
START_TEST(a_library_that_was_loaded_since) {
    struct parked s = {.depth = 3, .wait = capture_through_plugin};
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    void *library = dlopen("tests/unwind/.libs/linux_frame_plugin_a.so", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&call_plugin = dlsym(library, "plugin_call");
    ck_assert(call_plugin != NULL);
    stand_begin(&s);
    stand_end(&s);
    ck_assert_int_eq(own_status, USP_OK);
    const uintptr_t plugin = (uintptr_t)call_plugin & ~(uintptr_t)1;
    uint32_t i = 0;
    while (i < own->count && own->frames[i].pc - plugin >= 4096) i++;
    ck_assert_uint_lt(i + 1, own->count);
    ck_assert_uint_eq(own->frames[i + 1].pc, uspi_host_strip(plugin_returns_to));
    const uint32_t method = own->frames[i + 1].method;
    ck_assert(method == USP_FRAME_METHOD_CFI || method == USP_FRAME_METHOD_EHABI);
    ck_assert_uint_eq(FRAMES_IN(own, stand_deep), 4);
    usp_stack_free(own);
    ck_assert_int_eq(dlclose(library), 0);
}
END_TEST

START_TEST(another_thread_as_deep_as_it_is) {
    struct parked s = {.depth = DEEP, .wait = wait_asleep};
    struct usp_stack *stack;
    stand_begin(&s);
    ck_assert(!usp_is_prepared());
    ck_assert_int_eq(usp_stack_create(&s.thread, NULL, &stack), USP_OK);
    ck_assert(usp_is_prepared());
    expect_standing(&s, stack);
    stand_end(&s);
    usp_stack_free(stack);
}
END_TEST

START_TEST(options_hold) {
    given.step_limit = 1000;
    given.tail = 100;
    capture_own(DEEP);
    ck_assert_int_eq(own_status, USP_OK);
    ck_assert_uint_eq(own->stop, USP_STOP_STEP_LIMIT);
    ck_assert_uint_le(own->count, 1000);
    ck_assert_uint_gt(own->count, 900);
    usp_stack_free(own);
    usp_unwind_options_init(&given);
    given.skip = 2; /* take_own and stand_here */
    capture_own(3);
    ck_assert_int_eq(own_status, USP_OK);
    ck_assert_uint_eq(FRAMES_IN(own, stand_here), 0);
    ck_assert_uint_eq(FRAMES_IN(own, stand_deep), 4);
    usp_stack_free(own);
}
END_TEST

START_TEST(bad_arguments) {
    struct usp_stack none, *stack = &none;
    const struct usp_thread missing = {.id = UINT64_MAX};
    ck_assert_int_eq(usp_stack_create(NULL, NULL, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_stack_create(&missing, NULL, &stack), USP_ERROR_NO_THREAD);
    ck_assert_ptr_null(stack);
    given.size = 4;
    stack = &none;
    ck_assert_int_eq(usp_stack_create(NULL, &given, &stack), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(stack);
    usp_stack_free(NULL);
}
END_TEST

/* The process is prepared, so that all failing allocations are the stack's own. */
START_TEST(without_memory) {
    struct parked s = {.depth = DEEP, .wait = wait_asleep};
    struct usp_stack *stack;
    stand_begin(&s);
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(usp_stack_create(&s.thread, NULL, &stack), USP_OK);
    usp_stack_free(stack);
    const long held = allocations_held();
    unsigned failures = 0;
    for (long n = 1; n < 1000; n++) {
        fail_allocation(n);
        const int status = usp_stack_create(&s.thread, NULL, &stack);
        const bool is_over = allocation_still_to_fail();
        fail_allocation(0);
        if (status == USP_OK) {
            expect_standing(&s, stack);
        } else {
            failures++;
            ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
            ck_assert_ptr_null(stack);
        }
        usp_stack_free(stack);
        if (is_over) break;
    }
    ck_assert_uint_ge(failures, 2);
    ck_assert_int_le(allocations_held(), held);
    stand_end(&s);
}
END_TEST

int main(void) {
    TCase *tc = tcase_create("whole stacks");
    tcase_add_checked_fixture(tc, begin_each, NULL);
    add_tests(tc, the_calling_thread_from_the_caller_on, a_library_that_was_loaded_since,
              another_thread_as_deep_as_it_is, options_hold, bad_arguments, without_memory);
    return run_suite("linux: whole stacks", tc);
}
