/* SPDX-License-Identifier: MIT */
/* Tests the Darwin layer as compiled for watchOS, on the scripted kernel: threads are listed and images found, but no
 * thread is stopped, and every call for another thread's stack returns USP_ERROR_UNSUPPORTED. */
#include "lib/unwind/readers/kinds.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

/* Runs before the layer's own constructor: the thread that loads the library is not the main thread, and the layer must
 * find the main thread all the same. */
__attribute__((constructor(101))) static void load_on_another_thread(void) {
    const struct fake_thread any = {.id = 0};
    fake_reset();
    fake_add_thread(&any);
    fake.self = fake_add_thread(&any);
}

START_TEST(test_unsupported) {
    struct usp_frame frames[8];
    struct usp_stack stack;
    struct usp_snapshot *s;
    char error[200];
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_prepare(NULL), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 8), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(stack.count, 0);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_ERROR_UNSUPPORTED);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], 0);
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_GET_STATE], 0);
    check_clean(&before, "watchOS");
}
END_TEST

START_TEST(test_supported) {
    static struct usp_thread_info infos[8];
    struct fake_queue queue = {{0}};
    struct usp_images *images;
    size_t count;
    make_images();
    fake_label(&queue, "com.example.watch");
    *fake.threads[TARGET].queue_at = (uintptr_t)&queue;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_prepare(NULL), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(usp_threads(infos, 8, &count), USP_OK);
    ck_assert_uint_eq(count, THREADS_OF_PROCESS);
    ck_assert_str_eq(infos[TARGET].name, fake.threads[TARGET].name);
    ck_assert_str_eq(infos[TARGET].queue, "com.example.watch");
    ck_assert_uint_eq(infos[MAIN].flags, USP_THREAD_MAIN);
    ck_assert_uint_eq(infos[CALLER].flags, USP_THREAD_REQUESTER);
    for (size_t i = 0; i < count; i++) usp_thread_release(&infos[i].thread);
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 4);
    usp_images_free(images);
    check_clean(&before, "watchOS");
}
END_TEST

int main(void) {
    uspi_read_all_tables(); /* the library is this host's, the images are Mach-O */
    TCase *tests = tcase_create("watch");
    tcase_add_checked_fixture(tests, start, stop);
    add_tests(tests, test_unsupported, test_supported);
    return run_suite("the Darwin layer of watchOS on a scripted kernel", tests);
}
