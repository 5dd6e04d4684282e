/* SPDX-License-Identifier: MIT */
/* Tests that hundreds of thousands of captures leave nothing behind: two thousand threads, sixty thousand mappings, as
 * many captures a second as possible, by signals and by helpers. Afterwards there must be the same files, mappings and
 * allocations as before, no pending signal, and no changed signal mask or errno. USP_TEST_SCALE multiplies the time. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define MAPPINGS 60000u
#define FRAMES   64u

static struct uspi_linux_calls calls;

static void begin_each(void) {
    calls = uspi_linux_real;
    leave_out_emulator(&calls);
    uspi_linux = &calls;
}

/* ---- the state of the process ---- */

struct state {
    unsigned files, mappings, children;
    size_t allocated;
};

static unsigned count_entries(const char *folder) {
    unsigned n = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

static unsigned count_lines(const char *path) {
    unsigned n = 0;
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    for (int c; (c = getc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

static struct state look(void) {
    struct state s = {.files = count_entries("/proc/self/fd"), .mappings = count_lines("/proc/self/maps")};
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
    s.allocated = mallinfo2().uordblks;
#endif
#endif
    return s;
}

/* Checks that no signal is pending for a thread of this process and that no thread blocks one. */
static void expect_no_signals(void) {
    /* An emulator's threads block signals of their own. */
    if (is_user_emulated()) return;
    DIR *d = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[64], line[256];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", e->d_name);
        FILE *f = fopen(path, "r");
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            unsigned long long set;
            char name[8];
            if (sscanf(line, "%7[A-Za-z]: %llx", name, &set) != 2) continue;
            if (strcmp(name, "SigPnd") == 0) ck_assert_msg(set == 0, "thread %s has signals %llx", e->d_name, set);
            if (strcmp(name, "SigBlk") == 0) ck_assert_msg(set == 0, "thread %s blocks %llx", e->d_name, set);
        }
        if (f != NULL) fclose(f);
    }
    closedir(d);
}

/* ---- threads that check that captures do not disturb them ---- */

static _Atomic(unsigned) disturbed;

static void watch_errno(struct parked *s) {
    errno = 4321;
    while (atomic_load(&s->leave) == 0) {
        for (int i = 0; i < 1000; i++) atomic_fetch_add(&standing_sink, 1);
        if (errno != 4321) atomic_fetch_add(&disturbed, 1);
        /* Lets other threads run too. */
        sched_yield();
        errno = 4321;
    }
}

static struct parked *start_threads(unsigned n, unsigned busy) {
    struct parked *s = calloc(n, sizeof *s);
    ck_assert_ptr_nonnull(s);
    for (unsigned i = 0; i < n; i++) {
        s[i].depth = i % 40;
        s[i].wait = i < busy ? watch_errno : wait_asleep;
        s[i].stack_size = 131072;
        stand_begin(&s[i]);
    }
    return s;
}

static void end_threads(struct parked *s, unsigned n) {
    for (unsigned i = 0; i < n; i++) atomic_store(&s[i].leave, 1);
    for (unsigned i = 0; i < n; i++) stand_end(&s[i]);
    free(s);
}

static void prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

/* Whether threads are starting. A snapshot may miss a thread that is just starting. */
static bool threads_come;

static int snapshot_by(uint32_t means) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    options.means = means;
    options.max_frames = FRAMES;
    int status = usp_snapshot_create_self(&options, &snapshot);
    if (status == USP_OK) {
        if (!threads_come) ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
        usp_snapshot_free(snapshot);
    }
    return status;
}

static bool can_use_helper(void) { return test_under()[0] == '\0' && !USP_SANITIZED; }

/* Captures one thread after the other for this time (ns), and goes on until there are `least` captures; now and then
 * takes a snapshot of each kind. Returns the number of captures. */
static unsigned long capture_for(uint64_t time, unsigned long least, const struct parked *s, unsigned n) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    unsigned long captures = 0;
    uint64_t shot = 0;
    errno = 1234;
    for (uint64_t began = usp_clock(); captures < least || usp_clock() - began < time;) {
        const struct parked *one = &s[captures % n];
        usp_stack_init(&stack, frames, FRAMES);
        ck_assert_int_eq(usp_capture_thread(&one->thread, NULL, &stack), USP_OK);
        ck_assert_uint_gt(stack.count, one->depth);
        captures++;
        if (usp_clock() - shot < 200 * MS) continue;
        ck_assert_int_eq(errno, 1234);
        ck_assert_int_eq(snapshot_by(USP_SNAPSHOT_BY_SIGNALS), USP_OK);
        if (can_use_helper()) ck_assert_int_eq(snapshot_by(USP_SNAPSHOT_BY_HELPER), USP_OK);
        errno = 1234;
        shot = usp_clock();
    }
    ck_assert_int_eq(errno, 1234);
    return captures;
}

/* The number of captures in four seconds at 10,000 a second; in a sample, so many that a leak of one allocation for
 * each of them exceeds the bound. A busy machine takes longer; the test case's timeout ends runs that never get there.
 * */
#define LEAST_CAPTURES sampled(5000, 40000)

static void run_threads(unsigned n, unsigned busy, uint64_t time) {
    struct parked *s = start_threads(n, busy);
    prepare();
    /* The first captures make what the library makes only once. */
    capture_for(50 * MS, 0, s, n);
    capture_for(time / 4, 0, s, n);
    const struct state before = look();
    uint64_t began = usp_clock();
    unsigned long captures = capture_for(time, is_slowed() || USP_SANITIZED ? 0 : LEAST_CAPTURES, s, n);
    double seconds = (double)(usp_clock() - began) / 1e9;
    const struct state after = look();
    printf("%u threads, %u mappings: %lu captures, %.0f a second; %u files, %zu bytes more than before\n", n,
           after.mappings, captures, (double)captures / seconds, after.files - before.files,
           after.allocated > before.allocated ? after.allocated - before.allocated : 0);
    ck_assert_uint_eq(after.files, before.files);
    /* Sanitizers map memory of their own. */
    if (!USP_SANITIZED) ck_assert_uint_le(after.mappings, before.mappings + 2);
    if (!USP_SANITIZED) ck_assert_uint_le(after.allocated, before.allocated + 65536);
    /* Lets the last handlers return. */
    usleep(20000);
    expect_no_signals();
    ck_assert_uint_eq(atomic_load(&disturbed), 0);
    usp_shutdown();
    end_threads(s, n);
}

/* Returns the time for a case (ns), from its full size. */
static uint64_t time_for(unsigned milliseconds) {
    return (is_slowed() ? 1 : test_scale()) * milliseconds * MS / sampled(10, 1);
}

START_TEST(a_few_threads) { run_threads(8, 2, time_for(4000)); }
END_TEST

START_TEST(thousands_of_threads) { run_threads(is_slowed() || USP_SANITIZED ? 200 : 2000, 2, time_for(4000)); }
END_TEST

/* Makes neighbouring mappings with different protections, so that the kernel does not merge them. */
START_TEST(sixty_thousand_mappings) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = MAPPINGS * page;
    uint8_t *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    for (size_t i = 0; i < MAPPINGS; i += 2) ck_assert_int_eq(mprotect(memory + i * page, page, PROT_NONE), 0);
    ck_assert_uint_gt(count_lines("/proc/self/maps"), MAPPINGS - 100);
    run_threads(50, 2, time_for(4000));
    munmap(memory, size);
}
END_TEST

/* ---- pressure: threads that come and go, captures from two threads ---- */

static _Atomic(int) ending;

static void *come_and_go(void *context) { return context; }

static void *start_again_and_again(void *context) {
    while (atomic_load(&ending) == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, come_and_go, NULL) == 0) pthread_join(thread, NULL);
    }
    return context;
}

static void *snapshot_again_and_again(void *context) {
    while (atomic_load(&ending) == 0) {
        struct usp_snapshot *snapshot;
        if (usp_snapshot_create_self(NULL, &snapshot) == USP_OK) usp_snapshot_free(snapshot);
    }
    return context;
}

START_TEST(threads_that_come_and_go) {
    threads_come = true;
    pthread_t others[3];
    struct parked *s = start_threads(8, 1);
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    unsigned long captures = 0;
    prepare();
    atomic_store(&ending, 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(
            pthread_create(&others[i], NULL, i == 0 ? snapshot_again_and_again : start_again_and_again, NULL), 0);
    }
    capture_for(100 * MS, 0, s, 8);
    const struct state before = look();
    for (uint64_t began = usp_clock(), time = time_for(3000); usp_clock() - began < time; captures++) {
        usp_stack_init(&stack, frames, FRAMES);
        ck_assert_int_eq(usp_capture_thread(&s[captures % 8].thread, NULL, &stack), USP_OK);
    }
    atomic_store(&ending, 1);
    for (unsigned i = 0; i < 3; i++) pthread_join(others[i], NULL);
    const struct state after = look();
    printf("while threads came and went: %lu captures; mappings %u, then %u\n", captures, before.mappings,
           after.mappings);
    ck_assert_uint_le(after.files, before.files);
    /* libc caches the stacks of threads that have ended. */
    if (!USP_SANITIZED) ck_assert_uint_le(after.mappings, before.mappings + 40);
    usleep(20000);
    expect_no_signals();
    usp_shutdown();
    end_threads(s, 8);
}
END_TEST

int main(void) {
    note_sample();
    TCase *c = tcase_create("no_trace");
    tcase_set_timeout(c, 300 + 30 * (double)test_scale());
    tcase_add_checked_fixture(c, begin_each, NULL);
    add_tests(c, a_few_threads, thousands_of_threads);
    /* An emulator has mappings and threads of its own; valgrind examines each mapping. */
    if (test_under()[0] == '\0') add_tests(c, threads_that_come_and_go);
    if (test_under()[0] == '\0' && !USP_SANITIZED) add_tests(c, sixty_thousand_mappings);
    return run_suite("linux_no_trace", c);
}
