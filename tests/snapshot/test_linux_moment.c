/* SPDX-License-Identifier: MIT */
/* Tests that a snapshot of this process shows one moment: every thread has stopped before the first stack is copied,
 * and none continues before the last one is. Threads that begin meanwhile must be in it, and an id that was given to
 * another thread must be recognized. Events that are too rare in a real kernel come from a replaced table of calls. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

static struct uspi_linux_calls table;

static void prepare_for(uint32_t threads) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    if (threads != 0) options.max_threads = threads;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static void prepare(void) { prepare_for(0); }

static struct usp_snapshot *take_snapshot(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    return snapshot;
}

/* Returns the thread's index in the snapshot, which must contain the thread once. */
static size_t place_of(const struct usp_snapshot *snapshot, uint64_t id) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < usp_snapshot_get_info(snapshot)->thread_count; i++) {
        if (usp_snapshot_get_thread(snapshot, i)->info.thread.id != id) continue;
        ck_assert_uint_eq(found, SIZE_MAX);
        found = i;
    }
    ck_assert_uint_ne(found, SIZE_MAX);
    return found;
}

/* ---- one moment ---- */

#define RUNNERS 4u

static _Atomic(unsigned) turn;
static const volatile unsigned *_Atomic own_counts[RUNNERS];
static struct parked runners[RUNNERS];

/* The threads take turns to count on their own stacks: at any moment two counts differ by at most one. */
static void run_in_turn(struct parked *s) {
    unsigned me = (unsigned)(s - runners);
    volatile unsigned own_count = 0;
    atomic_store(&own_counts[me], &own_count);
    while (atomic_load(&s->leave) == 0) {
        if (atomic_load(&turn) % RUNNERS != me) {
            sched_yield();
            continue;
        }
        own_count = own_count + 1;
        atomic_fetch_add(&turn, 1);
    }
}

START_TEST(everyone_stands_still_at_one_moment) {
    unsigned last = 0, advanced = 0;
    /* An emulator is slow to interrupt threads that only yield to each other. */
    const unsigned rounds = is_slowed() ? 10 : 300;
    prepare();
    for (unsigned i = 0; i < RUNNERS; i++) {
        runners[i] = (struct parked){.depth = 1, .wait = run_in_turn};
        stand_begin(&runners[i]);
    }
    while (atomic_load(&turn) < RUNNERS) usleep(100);
    for (unsigned round = 0; round < rounds; round++) {
        struct usp_snapshot *snapshot = take_snapshot();
        unsigned least = UINT32_MAX, most = 0;
        for (unsigned i = 0; i < RUNNERS; i++) {
            struct usp_target target;
            unsigned n;
            size_t at = place_of(snapshot, runners[i].thread.id);
            ck_assert_int_eq(usp_snapshot_target(snapshot, at, &target), USP_OK);
            ck_assert_int_eq(
                target.memory.read(target.memory.context, (uintptr_t)atomic_load(&own_counts[i]), &n, sizeof n),
                USP_OK);
            if (n < least) least = n;
            if (n > most) most = n;
        }
        ck_assert_msg(most - least <= 1, "counts from %u to %u in one snapshot", least, most);
        /* The threads must continue between two snapshots. */
        advanced += most != last;
        last = most;
        usp_snapshot_free(snapshot);
        usleep(200);
    }
    ck_assert_uint_gt(advanced, rounds / 20);
    for (unsigned i = 0; i < RUNNERS; i++) atomic_store(&runners[i].leave, 1);
    for (unsigned i = 0; i < RUNNERS; i++) stand_end(&runners[i]);
}
END_TEST

/* ---- threads that begin meanwhile ---- */

static uint64_t hidden_thread;
static _Atomic(int) hidden_listings; /* number of further listings without the hidden thread */
static bool hidden_now;

static long list_without_one(int fd, void *to, size_t n) {
    long got = uspi_linux_real.list_directory(fd, to, n);
    if (got > 0 && hidden_now) got = take_out_of_listing(to, got, hidden_thread);
    return got;
}

/* Hides the thread from the count, too: a listing is believed if it has as many entries as the folder has links (two
 * links are the folder's own). */
static long count_without_one(int fd) {
    long links = uspi_linux_real.count_links(fd);
    return links > 0 && hidden_now ? links - 1 : links;
}

static long open_a_listing(int directory, const char *path, int flags) {
    size_t n = strlen(path);
    if (n >= 4 && strcmp(path + n - 4, "task") == 0) hidden_now = atomic_fetch_sub(&hidden_listings, 1) > 0;
    return uspi_linux_real.open(directory, path, flags);
}

static long rewind_a_listing(int fd) {
    hidden_now = atomic_fetch_sub(&hidden_listings, 1) > 0;
    return uspi_linux_real.rewind(fd);
}

START_TEST(a_thread_that_is_born_meanwhile_is_found) {
    struct parked s[3] = {{.depth = 1}, {.depth = 2}, {.depth = 3}};
    prepare();
    for (unsigned i = 0; i < 3; i++) stand_begin(&s[i]);
    hidden_thread = s[1].thread.id;
    table = uspi_linux_real;
    table.open = open_a_listing;
    table.rewind = rewind_a_listing;
    table.list_directory = list_without_one;
    table.count_links = count_without_one;
    uspi_linux = &table;
    /* The first listings (of one snapshot: before the stop, and within it) lack the thread, later ones have it. */
    for (int hidden = 1; hidden <= 2; hidden++) {
        atomic_store(&hidden_listings, hidden);
        struct usp_snapshot *snapshot = take_snapshot();
        ck_assert_int_lt(atomic_load(&hidden_listings), 0);
        for (unsigned i = 0; i < 3; i++) {
            const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, place_of(snapshot, s[i].thread.id));
            ck_assert_int_eq(t->status, USP_OK);
            expect_standing(&s[i], &t->stack);
        }
        usp_snapshot_free(snapshot);
    }
    uspi_linux = &uspi_linux_real;
    for (unsigned i = 0; i < 3; i++) stand_end(&s[i]);
}
END_TEST

/* ---- threads that begin and end faster than they are listed ---- */

#define PASSING          100u /* in each listing, new ones each time */
#define PASSING_LISTINGS 16u
/* No thread has such a large id (Linux include/linux/threads.h, PID_MAX_LIMIT). */
#define PASSING_ID 0x50000000u

static unsigned listings, passed, passed_before;

static unsigned passing(void) { return listings > 1 && listings <= PASSING_LISTINGS ? PASSING : 0; }

/* Entries of getdents64: ino, off, reclen, type, name. */
static long list_passing_ones(int fd, void *to, size_t n) {
    long got = uspi_linux_real.list_directory(fd, to, n);
    if (got <= 0) return got;
    for (; passed < passed_before + passing(); passed++) {
        struct {
            uint64_t ino;
            int64_t off;
            uint16_t size;
            uint8_t type;
            char name[13];
        } entry = {.ino = 1, .size = sizeof entry, .type = 4};
        if (n - (size_t)got < sizeof entry) break;
        snprintf(entry.name, sizeof entry.name, "%u", PASSING_ID + passed);
        memcpy((char *)to + got, &entry, sizeof entry);
        got += (long)sizeof entry;
    }
    return got;
}

static long count_passing_ones(int fd) {
    long links = uspi_linux_real.count_links(fd);
    return links > 0 ? links + (long)passing() : links;
}

static void begin_listing(void) {
    listings++;
    passed_before = passed;
}

static long open_and_count(int directory, const char *path, int flags) {
    size_t n = strlen(path);
    if (n >= 4 && strcmp(path + n - 4, "task") == 0) begin_listing();
    return uspi_linux_real.open(directory, path, flags);
}

static long rewind_and_count(int fd) {
    begin_listing();
    return uspi_linux_real.rewind(fd);
}

/* Hundreds of threads pass by in one snapshot, whose buffer had room for a few. Enough memory is available, so the
 * snapshot must not report a lack of it. */
START_TEST(threads_that_pass_by_do_not_end_the_snapshot) {
    struct parked s = {.depth = 1};
    prepare_for(8);
    stand_begin(&s);
    table = uspi_linux_real;
    table.open = open_and_count;
    table.rewind = rewind_and_count;
    table.list_directory = list_passing_ones;
    table.count_links = count_passing_ones;
    uspi_linux = &table;
    struct usp_snapshot *snapshot = take_snapshot();
    uspi_linux = &uspi_linux_real;
    ck_assert_uint_gt(passed, 4 * PASSING);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 2);
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, place_of(snapshot, s.thread.id));
    ck_assert_int_eq(t->status, USP_OK);
    expect_standing(&s, &t->stack);
    usp_snapshot_free(snapshot);
    stand_end(&s);
}
END_TEST

/* ---- an id whose thread has ended, and which another thread has ---- */

static _Atomic(int) failures;

static long not_there_at_first(pid_t pid, pid_t tid, int number) {
    if ((uint64_t)tid == hidden_thread && atomic_fetch_sub(&failures, 1) > 0) return -ESRCH;
    return uspi_linux_real.send_signal(pid, tid, number);
}

START_TEST(a_reused_id_is_asked_again) {
    struct parked s[2] = {{.depth = 1}, {.depth = 2}};
    prepare();
    for (unsigned i = 0; i < 2; i++) stand_begin(&s[i]);
    hidden_thread = s[1].thread.id;
    table = uspi_linux_real;
    table.send_signal = not_there_at_first;
    uspi_linux = &table;
    atomic_store(&failures, 1);
    struct usp_snapshot *snapshot = take_snapshot();
    ck_assert_int_le(atomic_load(&failures), 0);
    /* Each id must be listed once: the thread that had ended before all threads were stopped must not be in the
     * list. */
    for (unsigned i = 0; i < 2; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, place_of(snapshot, s[i].thread.id));
        ck_assert_int_eq(t->status, USP_OK);
        expect_standing(&s[i], &t->stack);
    }
    usp_snapshot_free(snapshot);
    uspi_linux = &uspi_linux_real;
    for (unsigned i = 0; i < 2; i++) stand_end(&s[i]);
}
END_TEST

/* A thread's state is read before the stop. If its start time differs afterwards, the state belongs to another thread
 * that had the same id, and must not be reported for this one. */
static _Atomic(int) stat_reads;
static int stat_file = -1;

static long open_stat(int directory, const char *path, int flags) {
    char wanted[32], in_list[64];
    long fd = uspi_linux_real.open(directory, path, flags);
    snprintf(wanted, sizeof wanted, "%llu/stat", (unsigned long long)hidden_thread);
    snprintf(in_list, sizeof in_list, "/task/%s", wanted);
    if (fd >= 0 && (strcmp(path, wanted) == 0 || strstr(path, in_list) != NULL)) stat_file = (int)fd;
    return fd;
}

/* Makes the first read look as if another process had started the thread at another time: replaces field 22 of
 * /proc/PID/stat (proc(5)) by a smaller number. */
static long read_stat(int fd, void *to, size_t n) {
    long got = uspi_linux_real.read(fd, to, n);
    if (fd != stat_file) return got;
    stat_file = -1;
    if (got <= 0 || atomic_fetch_add(&stat_reads, 1) != 0) return got;
    char *at = memrchr(to, ')', (size_t)got);
    for (int field = 2; at != NULL && field < 22; field++) {
        at = memchr(at + 1, ' ', (size_t)((char *)to + got - at - 1));
    }
    if (at != NULL) at[1] = at[1] == '1' ? '2' : '1';
    return got;
}

START_TEST(a_note_of_an_earlier_thread_is_not_taken) {
    for (int changed = 0; changed < 2; changed++) {
        struct parked s = {.depth = 1};
        prepare();
        stand_begin(&s);
        hidden_thread = s.thread.id;
        table = uspi_linux_real;
        table.open = open_stat;
        table.read = read_stat;
        atomic_store(&stat_reads, changed == 1 ? 0 : 1);
        uspi_linux = &table;
        struct usp_snapshot *snapshot = take_snapshot();
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, place_of(snapshot, s.thread.id));
        ck_assert_int_gt(atomic_load(&stat_reads), 1);
        ck_assert_int_eq(t->status, USP_OK);
        if (changed == 1) ck_assert_uint_eq(t->info.run_state, 0);
        if (changed == 0) ck_assert_uint_eq(t->info.run_state, 'R');
        usp_snapshot_free(snapshot);
        uspi_linux = &uspi_linux_real;
        stand_end(&s);
    }
}
END_TEST

/* ---- a thread that sleeps uninterruptibly ---- */

static _Atomic(int) may_sleep;
static uint64_t sleeping_thread;
static unsigned signals_to_sleeper;

static int run_until_released(void *context) {
    const struct parked *s = context;
    while (atomic_load(&s->leave) == 0) usleep(1000);
    return 0;
}

/* The parent of a vfork child sleeps until the child ends. The child shares its memory. */
static void sleep_for_child(struct parked *s) {
    static char stack[65536] __attribute__((aligned(16)));
    while (atomic_load(&may_sleep) == 0) atomic_fetch_add(&standing_sink, 1);
    const pid_t child = clone(run_until_released, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
    waitpid(child, NULL, 0);
}

static char state_of(uint64_t thread) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", (unsigned)thread);
    const int fd = open(path, O_RDONLY);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;
    return end != NULL ? end[2] : 0;
}

static void await_sleep(void) {
    atomic_store(&may_sleep, 1);
    while (state_of(sleeping_thread) != 'D') usleep(1000);
}

/* Counts the signals to the thread, which falls asleep before the first one if it does not sleep yet. */
static long signal_sleeper(pid_t pid, pid_t tid, int number) {
    if ((uint64_t)tid == sleeping_thread && signals_to_sleeper++ == 0) await_sleep();
    return uspi_linux_real.send_signal(pid, tid, number);
}

/* The stack of such a thread is complete. One that sleeps before the snapshot begins is not asked, so that no other
 * thread waits for it; another one falls asleep when it is asked. */
START_TEST(a_thread_in_uninterruptible_sleep_is_not_stopped) {
    struct parked s = {.depth = 5, .wait = sleep_for_child}, other = {.depth = 2};
    const bool sleeps_before = _i == 0;
    prepare();
    atomic_store(&may_sleep, 0);
    signals_to_sleeper = 0;
    stand_begin(&s);
    stand_begin(&other);
    sleeping_thread = s.thread.id;
    if (sleeps_before) await_sleep();
    table = uspi_linux_real;
    table.send_signal = signal_sleeper;
    uspi_linux = &table;
    struct usp_snapshot *snapshot = take_snapshot();
    uspi_linux = &uspi_linux_real;
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, place_of(snapshot, s.thread.id));
    ck_assert_uint_eq(signals_to_sleeper, sleeps_before ? 0 : 1);
    ck_assert_int_eq(t->status, USP_OK);
    ck_assert_uint_eq(t->info.run_state, 'D');
    ck_assert_uint_eq(t->info.flags, USP_THREAD_NOT_STOPPED);
    ck_assert_uint_eq(t->stopped_ns, 0);
    expect_standing(&s, &t->stack);
    t = usp_snapshot_get_thread(snapshot, place_of(snapshot, other.thread.id));
    ck_assert_int_eq(t->status, USP_OK);
    expect_standing(&other, &t->stack);
    usp_snapshot_free(snapshot);
    stand_end(&s);
    stand_end(&other);
}
END_TEST

int main(void) {
    /* The replaced tables of calls would list the emulator's own thread; the lane kernel-arm64 tests the same. */
    if (is_user_emulated()) return 77;
    TCase *c = tcase_create("moment");
    add_tests(c, everyone_stands_still_at_one_moment, a_thread_that_is_born_meanwhile_is_found,
              threads_that_pass_by_do_not_end_the_snapshot, a_reused_id_is_asked_again,
              a_note_of_an_earlier_thread_is_not_taken);
    add_loop_tests(c, 0, 2, a_thread_in_uninterruptible_sleep_is_not_stopped);
    return run_suite("linux_moment", c);
}
