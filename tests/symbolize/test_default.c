/* SPDX-License-Identifier: MIT */
/* The process's default symbolizer: which functions use it for NULL, that one exists however many threads ask first, and
 * that usp_shutdown frees it. */
#include "tests/support/failing_alloc.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

#include <pthread.h>

#define THREADS 8

/* The function that is looked up. */
KEPT static int the_named_function(int n) {
    volatile int m = n;
    return m + 1;
}

static usp_addr own_address(void) {
    const usp_addr address = (usp_addr)(uintptr_t)the_named_function;
    return usp_arch_host() == USP_ARCH_ARMV7 ? address & ~(usp_addr)1 : address;
}

static int find_own(void *context, const struct usp_symbol *symbol) {
    *(bool *)context |= strcmp(symbol->name, "the_named_function") == 0;
    return 0;
}

static int compare_name(void *context, const char *name) {
    *(bool *)context |= strcmp(name, "the_named_function") == 0;
    return 0;
}

static int compare_source(void *context, uint32_t i, const struct usp_source_frame *frame) {
    *(bool *)context |= i == 0 && frame->function != NULL && strcmp(frame->function, "the_named_function") == 0;
    return 0;
}

static uint32_t indexes_held(void) {
    struct usp_symbolizer_usage usage;
    ck_assert_int_eq(usp_symbolizer_get_usage(NULL, &usage), USP_OK);
    return usage.images;
}

START_TEST(names_by_null) {
    struct usp_frame frame = {.pc = own_address(), .kind = USP_FRAME_KIND_INTERRUPTED};
    struct usp_symbol symbol;
    ck_assert_int_eq(the_named_function(1), 2);
    ck_assert_uint_eq(indexes_held(), 0);
    ck_assert_int_eq(usp_symbolize(NULL, frame.pc, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "the_named_function");
    ck_assert_uint_eq(symbol.start, frame.pc);
    ck_assert_int_eq(usp_symbolize(NULL, 1, &symbol), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_symbolize(NULL, frame.pc, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_symbolize_frame(NULL, usp_arch_host(), &frame, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "the_named_function");
    ck_assert_uint_gt(indexes_held(), 0);

    struct usp_images *images;
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    ck_assert_int_eq(usp_symbolize_image(NULL, usp_images_find(images, frame.pc), frame.pc, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "the_named_function");
    usp_images_free(images);
    ck_assert_str_eq(usp_address_name((const void *)(uintptr_t)frame.pc), "the_named_function");
    ck_assert_ptr_null(usp_address_name((const void *)1));

    bool is_found = false;
    ck_assert_int_eq(usp_symbolizer_visit(NULL, frame.pc, find_own, &is_found), USP_OK);
    ck_assert(is_found);
    usp_symbolizer_trim(NULL);
    ck_assert_uint_eq(indexes_held(), 0);
}
END_TEST

START_TEST(lines_by_null) {
    struct usp_frame frame = {.pc = own_address(), .kind = USP_FRAME_KIND_INTERRUPTED};
    struct usp_source_frame source;
    struct usp_stack stack;
    struct usp_lines lines;
    char text[512];
    bool is_found = false;
    usp_lines_init(&lines, &source, 1);
    ck_assert_int_eq(usp_symbolize_lines(NULL, frame.pc, &lines), USP_OK);
    ck_assert_str_eq(source.function, "the_named_function");
    source.function = NULL;
    ck_assert_int_eq(usp_symbolize_frame_lines(NULL, usp_arch_host(), &frame, &lines), USP_OK);
    ck_assert_str_eq(source.function, "the_named_function");
    ck_assert_int_eq(usp_symbolizer_visit_names(NULL, frame.pc, compare_name, &is_found), USP_OK);
    ck_assert(is_found);
    ck_assert_int_eq(usp_symbolizer_explain_file(NULL, frame.pc, text, sizeof text), USP_OK);
    ck_assert_ptr_nonnull(strstr(text, "test_default"));
    ck_assert_int_ne(usp_symbolizer_explain_lines(NULL, frame.pc, text, sizeof text), USP_ERROR_ARGUMENT);
    ck_assert_str_ne(text, "");
    usp_stack_init(&stack, &frame, 1);
    stack.count = stack.physical = 1;
    stack.arch = usp_arch_host();
    is_found = false;
    ck_assert_int_eq(usp_symbolize_stack(NULL, &stack, compare_source, &is_found), USP_OK);
    ck_assert(is_found);
}
END_TEST

static pthread_barrier_t barrier;

static void *ask_first(void *found) {
    struct usp_symbol symbol;
    pthread_barrier_wait(&barrier);
    ck_assert_int_eq(usp_symbolize(NULL, own_address(), &symbol), USP_OK);
    *(struct usp_symbolizer **)found = usp_symbolizer_default();
    return NULL;
}

START_TEST(threads_get_the_same) {
    for (unsigned round = 0; round < 20; round++) {
        struct usp_symbolizer *found[THREADS] = {NULL};
        pthread_t threads[THREADS];
        const long held = allocations_held();
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_first, &found[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        ck_assert_ptr_nonnull(found[0]);
        for (unsigned i = 1; i < THREADS; i++) ck_assert_ptr_eq(found[i], found[0]);
        usp_shutdown();
        ck_assert_int_le(allocations_held(), held);
    }
}
END_TEST

START_TEST(no_memory_is_no_wrong_argument) {
    struct usp_source_frame source;
    struct usp_symbol symbol;
    struct usp_lines lines;
    usp_shutdown();
    usp_lines_init(&lines, &source, 1);
    for (unsigned i = 0; i < 2; i++) {
        fail_allocation(1);
        int status =
            i == 0 ? usp_symbolize(NULL, own_address(), &symbol) : usp_symbolize_lines(NULL, own_address(), &lines);
        ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
        ck_assert(!allocation_still_to_fail());
    }
    fail_allocation(1);
    ck_assert_ptr_null(usp_address_name((const void *)(uintptr_t)own_address()));
    fail_allocation(0);
    ck_assert_ptr_null(symbol.name);
    ck_assert_int_eq(usp_symbolize(NULL, own_address(), &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "the_named_function");
    usp_shutdown();
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, names_by_null, lines_by_null, threads_get_the_same, no_memory_is_no_wrong_argument);
    return run_suite("default", all);
}
