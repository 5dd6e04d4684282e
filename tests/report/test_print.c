/* SPDX-License-Identifier: MIT */
/* Tests of print.h and usp_symbolizer_create_for_snapshot. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "tests/support/kept.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

/* Returns the text that `print` writes to a file. */
static char *printed(int (*print)(int fd), int *status) {
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    *status = print(fileno(file));
    long size = (fseek(file, 0, SEEK_END), ftell(file));
    char *text = calloc(1, (size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    rewind(file);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return text;
}

static int depth_status;
static char *depth_text;

KEPT static int the_named_function(unsigned depth, int (*print)(int fd)) {
    volatile int below = 0;
    if (depth > 0) {
        below = the_named_function(depth - 1, print);
    } else {
        depth_text = printed(print, &depth_status);
    }
    return below + 1;
}

static unsigned count_of(const char *text, const char *word) {
    unsigned n = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) n++;
    return n;
}

/* If this program has debug information, the lines of frames have its source file. */
static void check_lines(const char *text) {
    struct usp_symbolizer *symbolizer;
    struct usp_source_frame frame;
    struct usp_lines lines;
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    usp_lines_init(&lines, &frame, 1);
    int status = usp_symbolize_lines(symbolizer, (usp_addr)(uintptr_t)&the_named_function, &lines);
    const bool has_lines = status == USP_OK && frame.file != NULL && frame.line > 0;
    ck_assert_int_eq(strstr(text, " (test_print.c:") != NULL, has_lines);
    usp_symbolizer_free(symbolizer);
}

START_TEST(a_stack_has_names) {
    the_named_function(9, usp_print_stack);
    check_lines(depth_text);
    ck_assert_int_eq(depth_status, USP_OK);
    ck_assert_uint_eq(count_of(depth_text, "the_named_function + "), 10);
    ck_assert_ptr_nonnull(strstr(depth_text, "main + "));
    /* The stack begins at the caller. */
    ck_assert_ptr_null(strstr(depth_text, "usp_print_stack"));
    ck_assert_ptr_eq(strstr(depth_text, "0 "), depth_text);
    free(depth_text);
}
END_TEST

START_TEST(a_stack_too_deep_says_what_was_left_out) {
    the_named_function(20000, usp_print_stack);
    ck_assert_int_eq(depth_status, USP_OK);
    ck_assert_ptr_nonnull(strstr(depth_text, " frames left out ..."));
    ck_assert_ptr_nonnull(strstr(depth_text, "main + "));
    ck_assert_uint_gt(count_of(depth_text, "the_named_function + "), 4000);
    free(depth_text);
}
END_TEST

static pthread_barrier_t barrier;

KEPT static void *wait_by_name(void *unused) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

START_TEST(threads_have_names) {
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_by_name, NULL), 0);
    pthread_barrier_wait(&barrier);
    ck_assert(!usp_is_prepared());
    the_named_function(3, usp_print_threads);
    ck_assert(usp_is_prepared());
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    ck_assert_int_eq(depth_status, USP_OK);
    ck_assert_uint_eq(count_of(depth_text, "the_named_function + "), 4);
    ck_assert_uint_eq(count_of(depth_text, "wait_by_name + "), 1);
    /* A user-mode emulator has a thread of its own. */
    ck_assert_uint_eq(count_of(depth_text, "Thread "), is_user_emulated() ? 3 : 2);
    ck_assert_ptr_null(strstr(depth_text, "usp_"));
    free(depth_text);
    usp_shutdown();
    ck_assert(!usp_is_prepared());
}
END_TEST

START_TEST(threads_as_json) {
    the_named_function(3, usp_print_threads_json);
    ck_assert_int_eq(depth_status, USP_OK);
    ck_assert_ptr_eq(strchr(depth_text, '{'), depth_text);
    ck_assert_uint_eq(count_of(depth_text, "\"symbol\": \"the_named_function\""), 4);
    ck_assert_ptr_null(strstr(depth_text, "usp_print"));
    free(depth_text);
}
END_TEST

static const struct usp_snapshot *own_snapshot;

static int print_own_snapshot(int fd) { return usp_print_snapshot(fd, own_snapshot); }

START_TEST(a_snapshot_is_printed) {
    struct usp_snapshot *snapshot;
    int status;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    own_snapshot = snapshot;
    char *text = printed(print_own_snapshot, &status);
    ck_assert_int_eq(status, USP_OK);
    ck_assert_uint_eq(count_of(text, "a_snapshot_is_printed"), 1);
    ck_assert_ptr_nonnull(strstr(text, "Thread "));
    free(text);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(usp_print_snapshot(1, NULL), USP_ERROR_ARGUMENT);
}
END_TEST

/* The context of the_formatted_function. */
struct formatting {
    char text[16384];
    size_t size; /* of `text` that is used */
    int length;
};

KEPT static int the_formatted_function(struct formatting *f) {
    f->length = usp_format_pthread(f->text, f->size, (uintptr_t)pthread_self());
    return f->length + 1;
}

START_TEST(a_pthread_as_text) {
    static struct formatting f, small = {.size = 20};
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_by_name, NULL), 0);
    pthread_barrier_wait(&barrier);
    f.length = usp_format_pthread(f.text, sizeof f.text, (uintptr_t)thread);
    ck_assert_uint_eq((size_t)f.length, strlen(f.text));
    ck_assert_uint_eq(count_of(f.text, "wait_by_name + "), 1);
    ck_assert_ptr_eq(strstr(f.text, "0 "), f.text);
    ck_assert_ptr_null(strstr(f.text, "usp_"));
    ck_assert_int_eq(usp_format_pthread(NULL, 1, (uintptr_t)thread), USP_ERROR_ARGUMENT);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);

    f.size = sizeof f.text;
    ck_assert_int_gt(the_formatted_function(&f), 0);
    ck_assert_uint_eq((size_t)f.length, strlen(f.text));
    /* The stack begins at the caller. */
    const char *first_end = strchr(f.text, '\n');
    ck_assert_ptr_nonnull(first_end);
    const char *name = strstr(f.text, "the_formatted_function + ");
    ck_assert(name != NULL && name < first_end);
    ck_assert_int_gt(the_formatted_function(&small), 20);
    ck_assert_mem_eq(small.text, f.text, 19);
    ck_assert_int_eq(small.text[19], '\0');
    usp_shutdown();
}
END_TEST

START_TEST(a_failed_write_is_told) {
    int fd = -1;
    ck_assert_int_eq(usp_print_stack(-1), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_print_threads(-1), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_print_threads_json(-1), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_write_fd(&fd, "a", 1), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_write_fd(NULL, "a", 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_write_fd(&fd, NULL, 1), USP_ERROR_ARGUMENT);
}
END_TEST

START_TEST(a_symbolizer_for_a_snapshot) {
    struct usp_snapshot *snapshot;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create_for_snapshot(NULL, NULL, &symbolizer), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(symbolizer);
    ck_assert_int_eq(usp_symbolizer_create_for_snapshot(snapshot, NULL, &symbolizer), USP_OK);
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, 0);
    ck_assert_int_eq(usp_symbolize_frame(symbolizer, thread->stack.arch, &thread->stack.frames[0], &symbol), USP_OK);
    ck_assert_ptr_nonnull(strstr(symbol.name, "a_symbolizer_for_a_snapshot"));
    ck_assert_uint_eq(symbol.start + symbol.offset, usp_frame_call_site(thread->stack.arch, &thread->stack.frames[0]));
    usp_symbolizer_free(symbolizer);
    usp_snapshot_free(snapshot);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, a_stack_has_names, a_stack_too_deep_says_what_was_left_out, threads_have_names, threads_as_json,
              a_snapshot_is_printed, a_pthread_as_text, a_failed_write_is_told, a_symbolizer_for_a_snapshot);
    return run_suite("print", all);
}
