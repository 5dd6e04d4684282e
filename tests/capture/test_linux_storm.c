/* SPDX-License-Identifier: MIT */
/* Tests captures of threads that never rest (linux_storm.h): no deadlock, no lost thread, no false frame, no leak.
 *
 * Makes 30,000 captures natively at its full size; fewer as a sample (tests/support/under.h), under an emulator or a
 * checker. A multiple of USP_TEST_SCALE multiplies the number. */
#define _GNU_SOURCE 1
#include <check.h>
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/os/linux/calls.h"
#include "lib/os/linux/request.h"
#include "tests/capture/linux_storm.h"
#include "tests/support/linux_asleep.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

/* Built a second time with workers whose code keeps no frame records. */
#ifndef USP_TEST_RECORDS
#define USP_TEST_RECORDS 1
#endif

#define WORKERS       50u
#define CAPTURES      (USP_TEST_RECORDS ? 30000u : 10000u)
#define SAMPLE        (USP_TEST_RECORDS ? 3000u : 1500u)
#define CAPTURES_SLOW (USP_SANITIZED ? 500u : 100u)
#define FRAMES        300u
/* On a busy machine the test ends after this time (ns) with fewer captures, and prints how many. */
#define LONG_ENOUGH scaled_timeout(UINT64_C(300000000000))
/* Timeout of a capture (ns). Machines that run tests are busy: a thread may wait long for a processor, but not for
 * ever. */
#define TIMEOUT patience()
/* Timeout of a snapshot (ns). A sanitizer's run-time blocks every signal in a thread that begins or ends. Such a thread
 * may wait for a lock that a held thread has, and cannot answer. That is not the library's fault: the wait is shorter,
 * and the case must stay an exception. */
#define TIMEOUT_FOR_ALL (USP_SANITIZED ? UINT64_C(1000000000) : TIMEOUT)
/* The number of bytes that the loader and stdio may keep. */
#define LEAK_BOUND ((size_t)512 << 10)

static struct {
    unsigned long frames, captures, vanished, complete, part, in_records, in_records_complete, unanswered, answered;
    unsigned long described, loading, loading_complete, late;
    uint64_t stopped_ns, longest_ns;
} tally;

/* Sanitizers and emulators make each capture many times slower. */
static unsigned captures_wanted(void) {
    bool slow = USP_SANITIZED || is_slowed();
    return (slow ? CAPTURES_SLOW : sampled(SAMPLE, CAPTURES)) * test_scale();
}

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define HAS_MALLINFO 1
#endif
#endif

/* Returns how many bytes malloc has given out, 0 where that is not known. Threads that have ended have returned their
 * caches. */
static size_t count_allocated(void) {
#ifdef HAS_MALLINFO
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static unsigned count_files(void) {
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

/* The number of mappings that the library has made itself. */
static struct uspi_linux_calls counted;
static _Atomic(long) own_mappings;

static void *map_counted(size_t n, bool filled) {
    void *at = uspi_linux_real.map(n, filled);
    if (at != NULL) atomic_fetch_add(&own_mappings, 1);
    return at;
}

static long unmap_counted(void *at, size_t n) {
    atomic_fetch_sub(&own_mappings, 1);
    return uspi_linux_real.unmap(at, n);
}

static void count_own_mappings(void) {
    counted = uspi_linux_real;
    counted.map = map_counted;
    counted.unmap = unmap_counted;
    uspi_linux = &counted;
}

/* Returns the number of mappings of the whole process. */
static unsigned count_mappings(void) {
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(f);
    for (int c; (c = getc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

static void show(const struct shadow *s, const struct usp_stack *stack) {
    fprintf(stderr, "frames:\n");
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct usp_frame *f = &stack->frames[i];
        fprintf(stderr, "  %#llx kind %u method %u%s\n", (unsigned long long)f->pc, f->kind, f->method,
                shadow_covers(s, f->pc) ? "" : " (not covered)");
    }
    fprintf(stderr, "  stopped because %s\ntruth, innermost first:\n", usp_stop_reason_string(stack->stop));
    for (uint64_t i = s->depth; i > 0; i--) fprintf(stderr, "  %#llx\n", (unsigned long long)s->returns[i - 1]);
    fprintf(stderr, "program at %#llx\n", (unsigned long long)(uintptr_t)&__executable_start);
}

/* Returns whether tables describe every instruction of libc. Debian's libc has such tables except on 32-bit arm, where
 * they are for C++ exceptions only. Sanitizers insert code of their own. */
static bool has_tables(void) { return !USP_SANITIZED && usp_arch_host() != USP_ARCH_ARMV7; }

static void judge(const struct shadow *s, const struct usp_stack *stack) {
    enum shadow_verdict verdict = shadow_judge(s, stack);
    if (verdict == SHADOW_WRONG || verdict == SHADOW_UNKNOWN) show(s, stack);
    ck_assert_int_ne(verdict, SHADOW_UNKNOWN);
    ck_assert_int_ne(verdict, SHADOW_WRONG);
    ck_assert_uint_lt(stack->count, FRAMES);
    /* The thread is in the program's code, whose functions all keep records. No frame may be missing, except through
     * libc or a library that is loaded for a short time. */
    bool all_in_program = stack->count > 0 && s->low == 0 && shadow_covers(s, stack->frames[0].pc);
    for (uint32_t i = 1; i + 1 < stack->count; i++) all_in_program &= shadow_covers(s, stack->frames[i].pc);
    if (all_in_program) {
        tally.in_records++;
        tally.in_records_complete += verdict == SHADOW_COMPLETE;
        if (USP_TEST_RECORDS && verdict != SHADOW_COMPLETE) show(s, stack);
        if (USP_TEST_RECORDS) ck_assert_int_eq(verdict, SHADOW_COMPLETE);
    }
    /* Tables describe libc, too. A library that is loaded, called and unloaded within microseconds may be gone before
     * the copy of the stack is walked: that must stay an exception. */
    if (has_tables() && s->loading != 0) {
        tally.loading++;
        tally.loading_complete += verdict == SHADOW_COMPLETE;
    } else if (has_tables()) {
        tally.described++;
        if (verdict != SHADOW_COMPLETE) show(s, stack);
        ck_assert_int_eq(verdict, SHADOW_COMPLETE);
    }
    tally.frames += stack->count;
    tally.captures++;
    tally.complete += verdict == SHADOW_COMPLETE;
    tally.part += verdict == SHADOW_PART;
    if (verdict == SHADOW_PART && getenv("USP_TEST_SHOW") != NULL) show(s, stack);
}

/* The first request for captures of one thread. Only one thread of this program captures. */
#define PLACE 1

/* Reads from the copy that the last capture made. It stays in place until the next capture. */
static bool read_last_copy(const void *at, void *to, size_t n) {
    const struct uspi_request *r = uspi_request_at(PLACE);
    const struct uspi_slot *s = &r->slots[0];
    const uint8_t *bytes = r->arena + s->offset;
    for (unsigned i = 0; i < 2; i++) {
        uintptr_t offset = (uintptr_t)at - s->extents[i].from;
        if (offset < s->copied[i] && n <= s->copied[i] - offset) {
            memcpy(to, bytes + offset, n);
            return true;
        }
        bytes += s->copied[i];
    }
    return false;
}

struct seen {
    uint64_t tid;
    const struct shadow *shadow;
    unsigned generation;
};

/* Notes a worker's identity. Returns whether it is alive now. */
static bool look(const struct storm_worker *w, struct seen *seen) {
    seen->generation = atomic_load(&w->generation);
    seen->tid = atomic_load(&w->tid);
    seen->shadow = atomic_load(&w->shadow);
    return (seen->generation & 1) != 0 && seen->tid != 0 && atomic_load(&w->generation) == seen->generation;
}

static void capture_one(const struct storm_worker *w) {
    static struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct shadow truth;
    struct seen seen;
    if (!look(w, &seen)) return;
    struct usp_thread thread = {seen.tid, seen.tid};
    usp_stack_init(&stack, frames, FRAMES);
    int status = usp_capture_thread(&thread, NULL, &stack);
    bool ended = atomic_load(&w->generation) != seen.generation;
    if (status == USP_ERROR_NO_THREAD && ended) {
        tally.vanished++;
        return;
    }
    /* Where execution is slow, a thread may stay in the library's handler for longer than the timeout. */
    if (status == USP_ERROR_TIMEOUT && (is_slowed() || USP_SANITIZED)) {
        tally.late++;
        return;
    }
    ck_assert_msg(status == USP_OK, "capture: %s", usp_status_string(status));
    tally.stopped_ns += stack.stopped_ns;
    if (stack.stopped_ns > tally.longest_ns) tally.longest_ns = stack.stopped_ns;
    /* A thread that has ended has no true stack any more. */
    if (ended) return;
    if (!read_last_copy(seen.shadow, &truth, sizeof truth)) {
        const struct uspi_slot *s = &uspi_request_at(PLACE)->slots[0];
        for (unsigned i = 0; i < 2; i++) {
            fprintf(stderr, "part %u: %#lx, %zu of %zu bytes%s\n", i, (unsigned long)s->extents[i].from, s->copied[i],
                    s->extents[i].size, s->extents[i].is_known ? "" : ", its end not known");
        }
        ck_abort_msg("the copies lack the stack's top at %p", (const void *)seen.shadow);
    }
    judge(&truth, &stack);
}

static struct usp_snapshot *take_all(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.timeout = TIMEOUT_FOR_ALL;
    options.max_frames = FRAMES;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    return snapshot;
}

static void capture_all(void) {
    struct seen before[WORKERS];
    bool alive[WORKERS], found[WORKERS] = {false};
    for (unsigned i = 0; i < WORKERS; i++) alive[i] = look(&storm_workers[i], &before[i]);
    struct usp_snapshot *snapshot = take_all();
    for (unsigned i = 0; i < WORKERS; i++)
        alive[i] = alive[i] && atomic_load(&storm_workers[i].generation) == before[i].generation;
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    unsigned main_threads = 0, requesters = 0;
    for (uint32_t k = 0; k < info->thread_count; k++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, k);
        main_threads += (t->info.flags & USP_THREAD_MAIN) != 0;
        requesters += (t->info.flags & USP_THREAD_REQUESTER) != 0;
        /* A thread that begins or ends blocks every signal, and may wait for a lock of libc that a held thread has. */
        bool unanswered = t->status == USP_ERROR_TIMEOUT;
        tally.unanswered += unanswered;
        tally.answered += !unanswered;
        ck_assert_msg(t->status == USP_OK || unanswered, "thread in snapshot: %s", usp_status_string(t->status));
        for (unsigned i = 0; i < WORKERS; i++) {
            if (!alive[i] || before[i].tid != t->info.thread.id) continue;
            ck_assert_msg(!unanswered || was_asleep(t) || USP_SANITIZED, "worker %u did not answer", i);
            struct usp_target target;
            struct shadow truth;
            ck_assert(!found[i]);
            found[i] = true;
            if (unanswered) continue;
            ck_assert_int_eq(usp_snapshot_target(snapshot, k, &target), USP_OK);
            ck_assert_int_eq(
                target.memory.read(target.memory.context, (uintptr_t)before[i].shadow, &truth, sizeof truth), USP_OK);
            judge(&truth, &t->stack);
        }
    }
    ck_assert_uint_eq(main_threads, 1);
    ck_assert_uint_eq(requesters, 1);
    for (unsigned i = 0; i < WORKERS; i++) ck_assert_msg(!alive[i] || found[i], "worker %u is not in the snapshot", i);
    usp_snapshot_free(snapshot);
}

static const char *find_plugin(const char *name) {
    static char paths[2][4096];
    static unsigned n;
    char path[128];
    snprintf(path, sizeof path, "tests/capture/.libs/%s.so", name);
    return access(path, R_OK) == 0 ? realpath(path, paths[n++ % 2]) : NULL;
}

/* ---- a requester that hangs prints where ---- */

/* The alarm comes before Check ends the test. */
#define TEST_SECONDS  600u
#define ALARM_SECONDS (TEST_SECONDS - 30u)

static int write_error(void *context, const char *bytes, size_t n) {
    (void)context;
    return write(STDERR_FILENO, bytes, n) == (ssize_t)n ? USP_OK : USP_ERROR_SYSTEM;
}

static void tell_where(int number, siginfo_t *info, void *ucontext) {
    static struct usp_frame frames[FRAMES];
    struct usp_format_options options;
    struct usp_stack stack;
    uint32_t ticket;
    (void)number;
    (void)info;
    usp_stack_init(&stack, frames, FRAMES);
    usp_format_options_init(&options);
    options.images = usp_images_acquire(&ticket);
    fprintf(stderr, "still busy after %lu captures and %lu threads in snapshots:\n", tally.captures, tally.answered);
    if (usp_capture_context(ucontext, NULL, &stack) == USP_OK) {
        usp_format_stack(&stack, NULL, &options, write_error, NULL);
    }
    _exit(EXIT_FAILURE);
}

static void watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = tell_where;
    action.sa_flags = SA_SIGINFO;
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    alarm(ALARM_SECONDS);
}

/* Blocks the alarm in all threads but the requester. */
static void begin(const char *const plugins[2]) {
    sigset_t alarms, mask;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &alarms, &mask), 0);
    storm_begin(WORKERS, plugins);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
}

/* Whether the workers have done each of their tasks. On a busy machine a few captures may not last that long. */
static bool is_every_task_done(bool with_plugins) {
    return storm_deeds.allocations > 0 && storm_deeds.locks > 0 && storm_deeds.sorts > 0 && storm_deeds.signals > 0 &&
           storm_deeds.births > WORKERS && (!with_plugins || storm_deeds.loads > 0);
}

START_TEST(storm) {
    struct usp_prepare_options options;
    const char *plugins[2] = {find_plugin("linux_plugin_a"), find_plugin("linux_plugin_b")};
    bool with_plugins = plugins[0] != NULL && plugins[1] != NULL;
    usp_prepare_options_init(&options);
    options.timeout = TIMEOUT;
    watch();
    count_own_mappings();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    usp_snapshot_free(take_all());
    size_t allocated = count_allocated();
    /* Captures everything once, so that what grows with use has grown. Files are then counted while no worker has one
     * open. */
    begin(with_plugins ? plugins : NULL);
    for (unsigned i = 0; i < WORKERS; i++) capture_one(&storm_workers[i]);
    capture_all();
    storm_end();
    unsigned files = count_files(), mappings = 0;
    /* From the capture `settled` on, the number of mappings must not grow. */
    const unsigned n = captures_wanted(), settled = n < 400 ? n / 2 : 200;
    begin(with_plugins ? plugins : NULL);
    uint64_t began = usp_clock();
    for (unsigned i = 0; tally.captures + tally.vanished < n || !is_every_task_done(with_plugins); i++) {
        if (usp_clock() - began > LONG_ENOUGH) {
            printf("busy machine: %lu captures instead of %u\n", tally.captures + tally.vanished, n);
            break;
        }
        capture_one(&storm_workers[i * 7 % WORKERS]);
        if (i % 100 == 99) capture_all();
        if (i == settled) mappings = count_mappings();
    }
    storm_end();
    ck_assert_uint_eq(count_files(), files);
    /* malloc's arenas and cached stacks come and go; a mapping for each capture would be hundreds more. Sanitizers map
     * memory at any time. */
    if (!USP_SANITIZED) ck_assert_uint_lt(count_mappings(), mappings + 120);
    /* malloc gives at least sixteen bytes: a leak of one allocation for each capture would exceed the bound. */
    ck_assert_uint_lt(count_allocated(), allocated + LEAK_BOUND);
    ck_assert_int_gt(atomic_load(&own_mappings), 0);
    alarm(0);
    /* All workers have ended, so no handler keeps memory any more. */
    usp_shutdown();
    ck_assert_int_eq(atomic_load(&own_mappings), 0);

    ck_assert_uint_gt(tally.captures, WORKERS);
    if (!is_slowed()) ck_assert_uint_ge(tally.captures, 50 * tally.late);
    printf("%lu captures judged (%lu frames), %lu threads ended under one; complete: %lu (%.1f %%); of %lu wholly in "
           "the program: %lu; of %lu in what stays loaded: all; of %lu that load and unload: %lu; stopped %.1f us on "
           "average, %.1f at most\n",
           tally.captures, tally.frames, tally.vanished, tally.complete,
           100.0 * (double)tally.complete / (double)tally.captures, tally.in_records, tally.in_records_complete,
           tally.described, tally.loading, tally.loading_complete,
           (double)tally.stopped_ns / 1000 / (double)tally.captures, (double)tally.longest_ns / 1000);
    printf("meanwhile: %lu allocations, %lu locks, %lu sorts, %lu loads, %lu signals, %lu births\n",
           storm_deeds.allocations, storm_deeds.locks, storm_deeds.sorts, storm_deeds.loads, storm_deeds.signals,
           storm_deeds.births);
    printf("in snapshots: %lu threads answered, %lu did not\n", tally.answered, tally.unanswered);
    /* On a busy machine many are late. */
    ck_assert_uint_gt(tally.answered, 0);
    if (has_tables()) ck_assert_uint_gt(tally.described, 0);
    ck_assert_uint_ge(2 * tally.loading_complete, tally.loading);
    ck_assert(is_every_task_done(with_plugins));
}
END_TEST

int main(void) {
    /* QEMU's user-mode emulation (7.2) does not survive this test: where threads end among signals it fails its own
     * assertions (cpu_exec: cpu == current_cpu). The lane kernel-arm64 emulates a whole machine instead. */
    if (is_user_emulated()) return 77;
    note_sample();
    TCase *c = tcase_create("storm");
    tcase_set_timeout(c, TEST_SECONDS);
    tcase_add_test(c, storm);
    return run_suite("linux_storm", c);
}
