/* SPDX-License-Identifier: MIT */
/* Tests labels of dispatch queues. They are read from memory that may be invalid, and a crash report showed a crash
 * while a queue's name was read. The library must return the right label or none. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/apple/fakemach/stacks.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

static struct fake_queue first, second;

static const char *label_of(size_t at) {
    static struct usp_thread_info infos[8];
    size_t count;
    ck_assert_int_eq(usp_threads(infos, 8, &count), USP_OK);
    ck_assert_uint_eq(count, THREADS_OF_PROCESS);
    for (size_t i = 0; i < count; i++) usp_thread_release(&infos[i].thread);
    return infos[at].queue;
}

static void start_queues(void) {
    start();
    fake_label(&first, "com.example.first");
    fake_label(&second, "com.example.second");
    *fake.threads[TARGET].queue_at = (uintptr_t)&first;
    *fake.threads[CALLER].queue_at = (uintptr_t)&second;
}

START_TEST(test_labels) {
    struct usp_snapshot *s;
    ck_assert_str_eq(label_of(TARGET), "");
    prepare();
    ck_assert_str_eq(label_of(TARGET), "com.example.first");
    ck_assert_str_eq(label_of(CALLER), "com.example.second");
    ck_assert_str_eq(label_of(MAIN), "");
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    ck_assert_str_eq(usp_snapshot_get_thread(s, TARGET)->info.queue, "com.example.first");
    ck_assert_str_eq(usp_snapshot_get_thread(s, CALLER)->info.queue, "com.example.second");
    ck_assert_str_eq(usp_snapshot_get_thread(s, MAIN)->info.queue, "");
    usp_snapshot_free(s);
    check_clean(&before, "labels");
}
END_TEST

/* Another task's libdispatch has the same layout. */
START_TEST(test_label_of_another_task) {
    uintptr_t place = (uintptr_t)&first;
    struct usp_snapshot *s;
    fake.threads[FIRST_OF_OTHER].queue_at = &place;
    prepare();
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0), USP_OK);
    ck_assert_str_eq(usp_snapshot_get_thread(s, 0)->info.queue, "com.example.first");
    usp_snapshot_free(s);
}
END_TEST

/* If the layout of queues was not understood, there must be no label at all. */
START_TEST(test_not_learned) {
    switch (_i) {
    case 0: fake.queue_untold = true; break;
    case 1: fake.label_words[1] = 5; break;
    case 2: fake.threads[CALLER].queue_at = NULL; break;
    case 3: fake.label_words[0] = 0; break;
    default: fake.fail_call = FAKE_LIBDISPATCH; fake.fail_at = 1;
    }
    prepare();
    fake.fail_at = 0;
    ck_assert_str_eq(label_of(TARGET), "");
}
END_TEST

/* Each pointer on the way to a label may be invalid, and the label may be no text. */
START_TEST(test_broken_links) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = pages + page, longer[300];
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(munmap(end, page), 0);
    prepare();
    struct fake_account before = fake_account;
    uintptr_t *place = fake.threads[TARGET].queue_at;

    fake.threads[TARGET].queue_at = (uintptr_t *)(void *)end;
    ck_assert_str_eq(label_of(TARGET), "");
    fake.threads[TARGET].queue_at = (uintptr_t *)8;
    ck_assert_str_eq(label_of(TARGET), "");
    fake.threads[TARGET].queue_at = place;

    *place = (uintptr_t)end;
    ck_assert_str_eq(label_of(TARGET), "");
    *place = (uintptr_t)end - 16; /* a queue that ends before its label's word */
    ck_assert_str_eq(label_of(TARGET), "");
    *place = UINTPTR_MAX - 7;
    ck_assert_str_eq(label_of(TARGET), "");
    *place = (uintptr_t)&first;

    fake_label(&first, end);
    ck_assert_str_eq(label_of(TARGET), "");
    fake_label(&first, NULL);
    ck_assert_str_eq(label_of(TARGET), "");
    memcpy(end - 4, "edge", 4); /* continues in unmapped memory */
    fake_label(&first, end - 4);
    ck_assert_str_eq(label_of(TARGET), "");
    end[-1] = '\0'; /* ends at the last mapped byte */
    ck_assert_str_eq(label_of(TARGET), "edg");
    fake_label(&first, "\x01\x02 freed");
    ck_assert_str_eq(label_of(TARGET), "");
    fake_label(&first, "de\xc3\xa9j\xc3\xa0");
    ck_assert_str_eq(label_of(TARGET), "de\xc3\xa9j\xc3\xa0");
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    fake_label(&first, longer);
    ck_assert_uint_eq(strlen(label_of(TARGET)), 127);
    check_clean(&before, "broken links");
    munmap(pages, page);
}
END_TEST

/* The thread changes to another queue between any two reads. The snapshot must show the queue at the moment when the
 * thread was stopped, or none. */
START_TEST(test_changing_queue) {
    prepare();
    size_t first_seen = 0, second_seen = 0;
    struct usp_snapshot *s;
    bool has_changed = true;
    fake.change = fake.threads[TARGET].queue_at;
    fake.change_to = (uintptr_t)&second;
    /* Until the snapshot ends before the change. */
    for (size_t at = 1; has_changed; at += stride()) {
        *fake.change = (uintptr_t)&first;
        fill_stack(TARGET);
        struct fake_account before = fake_account;
        fake.change_at = before.calls[FAKE_VM_READ] + at;
        ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
        const char *label = usp_snapshot_get_thread(s, TARGET)->info.queue;
        if (strcmp(label, "com.example.first") == 0) {
            first_seen++;
            ck_assert_uint_eq(fake_account.queue_then, (uintptr_t)&first);
        } else if (strcmp(label, "com.example.second") == 0) {
            second_seen++;
            ck_assert_uint_eq(fake_account.queue_then, (uintptr_t)&second);
        } else {
            ck_assert_str_eq(label, "");
        }
        usp_snapshot_free(s);
        has_changed = *fake.change == fake.change_to;
        check_clean(&before, "a changing queue");
    }
    /* A sanitized build reads in other pieces, so it may miss these moments. */
    if (USP_SANITIZED) return;
    ck_assert_uint_gt(first_seen, 0);
    ck_assert_uint_gt(second_seen, 0);
}
END_TEST

/* The thread changes to another queue, and the first queue's memory is reused. */
static void free_first(void) {
    *fake.threads[TARGET].queue_at = (uintptr_t)&second;
    fake_label(&first, "another one's");
}

/* A queue is freed between any two reads. The label must be one of the two or none, and never text from reused
 * memory. */
START_TEST(test_freed_queue) {
    prepare();
    size_t reads = fake_account.calls[FAKE_VM_READ], first_seen = 0, second_seen = 0, none = 0;
    label_of(TARGET);
    reads = fake_account.calls[FAKE_VM_READ] - reads;
    fake.hook = free_first;
    for (size_t at = 1; at <= reads; at++) {
        *fake.threads[TARGET].queue_at = (uintptr_t)&first;
        fake_label(&first, "com.example.first");
        fake.hook_at = fake_account.calls[FAKE_VM_READ] + at;
        const char *label = label_of(TARGET);
        first_seen += strcmp(label, "com.example.first") == 0;
        second_seen += strcmp(label, "com.example.second") == 0;
        none += label[0] == '\0';
    }
    fake.hook_at = 0;
    ck_assert_uint_eq(first_seen + second_seen + none, reads);
    ck_assert_uint_gt(first_seen, 0);
    ck_assert_uint_gt(second_seen, 0);
    ck_assert_uint_gt(none, 0);
}
END_TEST

TCase *case_of_queues(void) {
    TCase *queues = tcase_create("queues");
    tcase_add_checked_fixture(queues, start_queues, stop);
    add_tests(queues, test_labels, test_label_of_another_task);
    tcase_add_loop_test(queues, test_not_learned, 0, 5);
    add_tests(queues, test_broken_links, test_changing_queue, test_freed_queue);
    return queues;
}
