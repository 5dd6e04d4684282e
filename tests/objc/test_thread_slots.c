/* SPDX-License-Identifier: MIT */
/* Tests slots in thread-specific data: in memory that the test lays out, and in the data that libc keeps for
 * threads. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/objc/thread_slots.h"
#include "tests/support/libc.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define THREADS 4u
#define WORD    ((uint32_t)sizeof(uintptr_t))
/* glibc keeps the first 32 keys in a thread's control block and the others in blocks that it points to (nptl/descr.h,
 * PTHREAD_KEY_2NDLEVEL_SIZE). */
#define KEYS 40u

static struct uspi_thread_slot slots[16];
static size_t count;

/* ---- memory that the test lays out ---- */

/* Readable pages, before memory that cannot be read. */
static uintptr_t *pages;
static size_t page_words;

static void set_up_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    page_words = page / sizeof *pages;
    pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + 2 * page_words, page, PROT_NONE), 0);
}

static void tear_down_pages(void) { munmap(pages, 3 * page_words * sizeof *pages); }

static struct usp_thread_info thread_with_data(const void *at) {
    return (struct usp_thread_info){.data = (uintptr_t)at};
}

START_TEST(directly_and_one_pointer_away) {
    uintptr_t value = 0x1234560, *data = pages, *table = pages + 2 * page_words - 9;
    struct usp_thread_info thread = thread_with_data(data);
    usp_addr read;
    data[3] = value;
    data[5] = (uintptr_t)table;
    table[8] = value; /* the last readable word */
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, slots, 16, &count), USP_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(slots[0].at, 3 * WORD);
    ck_assert_uint_eq(slots[0].in_table, USP_NO_INDEX);
    ck_assert_uint_eq(slots[1].at, 5 * WORD);
    ck_assert_uint_eq(slots[1].in_table, 8 * WORD);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(uspi_thread_slot_read(&thread, &slots[i], &read), USP_OK);
        ck_assert_uint_eq(read, value);
    }
    data[3] = 7;
    table[8] = 8;
    ck_assert_int_eq(uspi_thread_slot_read(&thread, &slots[0], &read), USP_OK);
    ck_assert_uint_eq(read, 7);
    ck_assert_int_eq(uspi_thread_slot_read(&thread, &slots[1], &read), USP_OK);
    ck_assert_uint_eq(read, 8);
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, slots, 16, &count), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(data_that_ends) {
    uintptr_t value = 0x1234560, *last = pages + 2 * page_words - 1;
    struct usp_thread_info thread = thread_with_data(last), gone = thread_with_data(last + 1);
    usp_addr read = 1;
    *last = value;
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, slots, 16, &count), USP_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(slots[0].at, 0);
    ck_assert_int_eq(uspi_thread_slots_find(&gone, value, slots, 16, &count), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_thread_slot_read(&gone, &slots[0], &read), USP_ERROR_UNREADABLE);
    ck_assert_uint_eq(read, 0);
    /* The pointer to the block has become invalid. */
    struct uspi_thread_slot away = {0, WORD};
    ck_assert_int_eq(uspi_thread_slot_read(&thread, &away, &read), USP_ERROR_UNREADABLE);
    *last = UINTPTR_MAX - WORD + 1;
    ck_assert_int_eq(uspi_thread_slot_read(&thread, &away, &read), USP_ERROR_UNREADABLE);
}
END_TEST

START_TEST(arrays_and_arguments) {
    uintptr_t value = 0x1234560;
    struct usp_thread_info thread = thread_with_data(pages), unknown = thread_with_data(NULL);
    usp_addr read;
    pages[0] = pages[1] = pages[2] = value;
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, NULL, 0, &count), USP_ERROR_FULL);
    ck_assert_uint_eq(count, 3);
    memset(slots, 0x55, sizeof slots);
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, slots, 2, &count), USP_ERROR_FULL);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(slots[1].at, WORD);
    ck_assert_uint_eq(slots[2].at, 0x55555555);
    ck_assert_int_eq(uspi_thread_slots_find(&unknown, value, slots, 2, &count), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(uspi_thread_slot_read(&unknown, &slots[0], &read), USP_ERROR_UNSUPPORTED);
    ck_assert_int_eq(uspi_thread_slots_find(&thread, 0, slots, 2, &count), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slots_find(NULL, value, slots, 2, &count), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, NULL, 2, &count), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slots_find(&thread, value, slots, 2, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slot_read(NULL, &slots[0], &read), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slot_read(&thread, NULL, &read), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(uspi_thread_slot_read(&thread, &slots[0], NULL), USP_ERROR_ARGUMENT);
}
END_TEST

/* ---- threads ---- */

static pthread_key_t key;
static pthread_barrier_t begun, done;
static struct usp_thread threads[THREADS];
static char own[THREADS + 1];

static void *stand(void *argument) {
    size_t i = *(const size_t *)argument;
    pthread_setspecific(key, &own[i]);
    usp_thread_self(&threads[i]);
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&done);
    return NULL;
}

static struct usp_thread_info info_of(uint64_t id) {
    struct usp_thread_info infos[64];
    size_t n;
    ck_assert_int_eq(usp_threads(infos, 64, &n), USP_OK);
    for (size_t i = 0; i < n; i++) {
        if (infos[i].thread.id == id) return infos[i];
    }
    ck_abort_msg("thread %llu is not listed", (unsigned long long)id);
}

/* Learns the slots on this thread, keeps those that agree on the first other thread, and checks them on the others. */
static void find_threads(bool away) {
    pthread_t started[THREADS];
    size_t numbers[THREADS], kept = 0;
    struct usp_thread self;
    usp_addr value;
    int status;
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    pthread_setspecific(key, &own[THREADS]);
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&started[i], NULL, stand, &numbers[i]), 0);
    }
    pthread_barrier_wait(&begun);
    ck_assert_int_eq(usp_thread_self(&self), USP_OK);
    struct usp_thread_info mine = info_of(self.id), first = info_of(threads[0].id);
    status = uspi_thread_slots_find(&mine, (uintptr_t)&own[THREADS], slots, 16, &count);
    /* QEMU's user mode keeps no lists of robust mutexes (linux-user/syscall.c, get_robust_list). */
    bool has_lists = LIBC_ROBUST_LISTS && !is_user_emulated();
    ck_assert_int_eq(status, has_lists ? USP_OK : USP_ERROR_UNSUPPORTED);
    for (size_t i = 0; i < count; i++) {
        bool holds = uspi_thread_slot_read(&first, &slots[i], &value) == USP_OK && value == (uintptr_t)&own[0];
        if (holds && (slots[i].in_table != USP_NO_INDEX) == away) slots[kept++] = slots[i];
    }
    ck_assert(status != USP_OK || kept > 0);
    for (size_t i = 1; i < THREADS && status == USP_OK; i++) {
        struct usp_thread_info other = info_of(threads[i].id);
        ck_assert_int_eq(uspi_thread_slot_read(&other, &slots[0], &value), USP_OK);
        ck_assert_uint_eq(value, (uintptr_t)&own[i]);
    }
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < THREADS; i++) pthread_join(started[i], NULL);
}

START_TEST(keys_of_libpthread) {
    ck_assert_int_eq(pthread_key_create(&key, NULL), 0);
    find_threads(false);
}
END_TEST

START_TEST(keys_in_a_table) {
    for (unsigned i = 0; i < KEYS; i++) ck_assert_int_eq(pthread_key_create(&key, NULL), 0);
    find_threads(true);
}
END_TEST

int main(void) {
    TCase *laid_out = tcase_create("memory as laid out"), *living = tcase_create("threads");
    tcase_add_checked_fixture(laid_out, set_up_pages, tear_down_pages);
    add_tests(laid_out, directly_and_one_pointer_away, data_that_ends, arrays_and_arguments);
    add_tests(living, keys_of_libpthread, keys_in_a_table);
    return run_suite("thread slots", laid_out, living);
}
