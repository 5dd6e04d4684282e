/* SPDX-License-Identifier: MIT */
/* Tests who holds a lock that threads wait for: snapshots of this task and of another one, and crash reports. The kernel
 * shows the registers of a thread in a system call, and libraries keep the name of its port in the thread's specific
 * data. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

#if defined(__x86_64__) || defined(__aarch64__)

enum { PSYNCH_MUTEXWAIT = 301, PSYNCH_RW_RDLOCK = 306, PSYNCH_RW_WRLOCK = 307, ULOCK_WAIT = 515 };
enum { PORT_SLOT = 3, SLOTS = 16 };

#if defined(__x86_64__)
#define CALL_BASE 0x2000000u
static const uint8_t call_code[] = {0x0f, 0x05, 0x90, 0x90};
#define AFTER_CALL ((uintptr_t)call_code + 2)
#else
#define CALL_BASE  0u
static const uint32_t call_code[] = {0xd4001001, 0xd503201f};
#define AFTER_CALL ((uintptr_t)call_code + 4)
#endif

static uintptr_t slots[FIRST_OF_OTHER + 2][SLOTS];

/* Each thread has its specific data: its pthread_t, and the name of its port. */
static void start_locks(void) {
    start();
    for (size_t i = 0; i < FIRST_OF_OTHER + 2; i++) {
        slots[i][0] = fake_pthread(i);
        slots[i][PORT_SLOT] = fake_port(i);
        fake.threads[i].slots = (uintptr_t)slots[i];
    }
    prepare();
}

/* libpthread's mutex. */
static _Alignas(8) struct {
    uint64_t sig;
    uint32_t lock, options, priorities, pad;
    uint64_t owner;
} mutex;
static uint32_t unfair;
/* libpthread's read-write lock. */
static _Alignas(16) struct {
    uint64_t sig;
    uint32_t lock, bits, flags, pad;
    uint64_t writer;
    uint32_t sequence[8], reserved[34];
} read_write;

static void hold_mutex(size_t owner) {
    mutex.sig = 0x4d55545a;
    mutex.options = 0x2000;
    mutex.owner = fake.threads[owner].id;
}

static void wait_for(size_t at, uint32_t number, uint64_t first, uint64_t second, uint64_t third) {
    struct fake_thread *t = &fake.threads[at];
    t->pc = AFTER_CALL;
    t->call = CALL_BASE + number;
    t->arguments[0] = first;
    t->arguments[1] = second;
    t->arguments[2] = third;
}

static void wait_for_mutex(size_t at) { wait_for(at, PSYNCH_MUTEXWAIT, (uintptr_t)&mutex, 0x203, 0x100); }

/* Holds the unfair lock, and lets another thread wait for it: bit 0 of the word tells the owner to wake it. */
static void wait_for_unfair(size_t at, size_t owner) {
    unfair = fake_port(owner) & ~1u;
    wait_for(at, ULOCK_WAIT, 0x1000002, (uintptr_t)&unfair, unfair);
}

/* A thread holds the read-write lock for writing, and others wait: bits 1 and 2 of the second argument. */
static void hold_for_writing(size_t owner) {
    read_write.sig = 0x52574c4b;
    read_write.flags = 0x20;
    read_write.writer = fake.threads[owner].id;
}

static void wait_for_read_write(size_t at, uint32_t number, uint32_t generation) {
    wait_for(at, number, (uintptr_t)&read_write, generation, 0x100);
}

static const struct usp_snapshot_thread *find(const struct usp_snapshot *s, size_t at) {
    const struct usp_snapshot_thread *t;
    for (size_t i = 0; (t = usp_snapshot_get_thread(s, i)) != NULL; i++) {
        if (t->info.thread.id == fake.threads[at].id) return t;
    }
    ck_abort_msg("thread %zu is missing", at);
    return NULL;
}

static void check_kind(const struct usp_snapshot *s, size_t at, size_t owner, const void *lock, uint32_t kind,
                       uint32_t deadlock) {
    const struct usp_snapshot_thread *t = find(s, at);
    ck_assert_uint_eq(t->info.lock_owner, fake.threads[owner].id);
    ck_assert_uint_eq(t->info.lock_kind, kind);
    ck_assert_uint_eq(t->info.deadlock, deadlock);
    ck_assert_uint_eq(t->lock, (uintptr_t)lock);
}

static void check_wait(const struct usp_snapshot *s, size_t at, size_t owner, const void *lock, uint32_t deadlock) {
    check_kind(s, at, owner, lock, USP_LOCK_MUTEX, deadlock);
}

static void check_no_wait(const struct usp_snapshot *s, size_t at) {
    ck_assert_uint_eq(find(s, at)->info.lock_owner, 0);
    ck_assert_uint_eq(find(s, at)->lock, 0);
}

START_TEST(test_of_this_task) {
    struct usp_snapshot *s;
    const struct fake_account before = fake_account;
    hold_mutex(MAIN);
    wait_for_mutex(TARGET);
    wait_for_unfair(MAIN, TARGET);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_wait(s, TARGET, MAIN, &mutex, 2);
    check_wait(s, MAIN, TARGET, &unfair, 2);
    check_no_wait(s, CALLER);
    usp_snapshot_free(s);
    check_clean(&before, "locks");
}
END_TEST

/* The thread that makes the snapshot holds the lock. */
START_TEST(test_caller_holds_it) {
    struct usp_snapshot *s;
    hold_mutex(CALLER);
    wait_for_mutex(TARGET);
    wait_for_unfair(MAIN, CALLER);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_wait(s, TARGET, CALLER, &mutex, 0);
    check_wait(s, MAIN, CALLER, &unfair, 0);
    usp_snapshot_free(s);
}
END_TEST

START_TEST(test_of_another_task) {
    struct usp_snapshot *s;
    wait_for_unfair(FIRST_OF_OTHER, FIRST_OF_OTHER + 1);
    hold_mutex(FIRST_OF_OTHER);
    wait_for_mutex(FIRST_OF_OTHER + 1);
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0), USP_OK);
    check_wait(s, FIRST_OF_OTHER, FIRST_OF_OTHER + 1, &unfair, 2);
    check_wait(s, FIRST_OF_OTHER + 1, FIRST_OF_OTHER, &mutex, 2);
    usp_snapshot_free(s);
}
END_TEST

/* A reader and a writer wait for a writer, one of them in a deadlock. */
START_TEST(test_read_write_lock) {
    struct usp_snapshot *s;
    hold_for_writing(MAIN);
    wait_for_read_write(TARGET, PSYNCH_RW_RDLOCK, 0x287);
    hold_mutex(TARGET);
    wait_for_mutex(MAIN);
    wait_for_read_write(TARGET + 1, PSYNCH_RW_WRLOCK, 0x387);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_kind(s, TARGET, MAIN, &read_write, USP_LOCK_READ_WRITE, 2);
    check_kind(s, TARGET + 1, MAIN, &read_write, USP_LOCK_READ_WRITE, 0);
    check_wait(s, MAIN, TARGET, &mutex, 2);
    usp_snapshot_free(s);
    /* Of readers, and of a writer to which the kernel has passed it, the lock does not have the id. */
    read_write.writer = 0;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_no_wait(s, TARGET);
    usp_snapshot_free(s);
}
END_TEST

/* No thread has that port, or its specific data cannot be read. */
START_TEST(test_unknown_owner) {
    struct usp_snapshot *s;
    wait_for_unfair(TARGET, MAIN);
    slots[MAIN][PORT_SLOT] = 0;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_no_wait(s, TARGET);
    usp_snapshot_free(s);
    fake.threads[MAIN].slots = 8;
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    check_no_wait(s, TARGET);
    usp_snapshot_free(s);
}
END_TEST

TCase *case_of_locks(void) {
    TCase *locks = tcase_create("locks");
    tcase_add_checked_fixture(locks, start_locks, stop);
    add_tests(locks, test_of_this_task, test_caller_holds_it, test_of_another_task, test_read_write_lock,
              test_unknown_owner);
    return locks;
}

#else

/* Locks are read on 64-bit processors only. */
TCase *case_of_locks(void) { return tcase_create("locks"); }

#endif
