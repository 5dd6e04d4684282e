/* SPDX-License-Identifier: MIT */
/* Tests the sampler on this process: shares of time compared with what the program measured; threads that come and go;
 * starts, stops and readers at the same time; forks; the budget; and every system call and allocation of the sampler
 * failing in turn.
 * No result depends on the machine's speed: times are compared within one run. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/os/linux/calls.h"
#include "lib/sampler/sampling.h"
#include "tests/support/address_space.h"
#include "tests/support/each_allocation.h"
#include "tests/support/linux_failing_calls.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define SECOND (1000 * MS)

static unsigned open_descriptors(void) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count;
}

static struct usp_sampler *sampler_of(uint32_t which, uint64_t interval) {
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    usp_sampler_options_init(&options);
    options.which = which;
    options.interval = interval;
    options.budget_cpu = options.budget_stopped = 0;
    ck_assert_int_eq(usp_sampler_create(&options, &sampler, NULL, 0), USP_OK);
    return sampler;
}

static struct usp_profile *profile_of(struct usp_sampler *sampler) {
    struct usp_profile *profile;
    ck_assert_int_eq(usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile), USP_OK);
    return profile;
}

/* ---- shares of time ---- */

/* A function, and how long the program was in it. */
struct measured {
    usp_addr low, high;
    uint64_t wall, cpu;                 /* by the program's own clocks */
    uint64_t sampled_wall, sampled_cpu; /* by the samples */
};

enum { COUNTING, SORTING, WAITING, FUNCTIONS };
static struct measured functions[FUNCTIONS];

BOUNDS(count_up);
BOUNDS(sort_down);
BOUNDS(wait_here);
static _Atomic(uint64_t) work;

static uint64_t own_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static BOUNDED(count_up) void count_up(uint64_t until) {
    while (usp_clock() < until) atomic_fetch_add(&work, 1);
}

static BOUNDED(sort_down) void sort_down(uint64_t until) {
    while (usp_clock() < until) atomic_fetch_sub(&work, 1);
}

static BOUNDED(wait_here) void wait_here(uint64_t until) {
    while (usp_clock() < until) usleep(20000);
    atomic_fetch_add(&work, 1);
}

static void measure(unsigned which, uint64_t length) {
    static void (*const run[])(uint64_t until) = {count_up, sort_down, wait_here};
    uint64_t wall = usp_clock(), cpu = own_cpu();
    run[which](wall + length);
    functions[which].wall += usp_clock() - wall;
    functions[which].cpu += own_cpu() - cpu;
}

static int note_shares(void *context, const struct usp_profile_entry *entry) {
    (void)context;
    for (uint32_t i = 0; i < entry->stack->count; i++) {
        for (unsigned k = 0; k < FUNCTIONS; k++) {
            usp_addr pc = entry->stack->frames[i].pc;
            if (pc < functions[k].low || pc >= functions[k].high) continue;
            functions[k].sampled_wall += entry->wall;
            functions[k].sampled_cpu += entry->cpu;
            return USP_OK;
        }
    }
    return USP_OK;
}

static double share(uint64_t part, const struct measured *all, bool of_cpu, bool sampled) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        sum += of_cpu ? (sampled ? all[i].sampled_cpu : all[i].cpu) : sampled ? all[i].sampled_wall : all[i].wall;
    }
    return (double)part * 100 / (double)sum;
}

/* Returns the largest error of a function's share of the samples, in percent of the whole. */
static double error_of_shares(bool of_cpu) {
    double largest = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const struct measured *f = &functions[i];
        double truth = share(of_cpu ? f->cpu : f->wall, functions, of_cpu, false);
        double sampled = share(of_cpu ? f->sampled_cpu : f->sampled_wall, functions, of_cpu, true);
        if (getenv("USP_TEST_VERBOSE") != NULL) {
            printf("%u: %s %.2f %% sampled %.2f %%\n", i, of_cpu ? "processor" : "wall", truth, sampled);
        }
        double error = sampled > truth ? sampled - truth : truth - sampled;
        if (error > largest) largest = error;
    }
    return largest;
}

static bool shares_are_true(uint64_t interval, unsigned turns) {
    const uint64_t lengths[FUNCTIONS] = {150 * MS, 100 * MS, 250 * MS};
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_MAIN, interval);
    functions[COUNTING] = (struct measured){.low = LOW(count_up), .high = HIGH(count_up)};
    functions[SORTING] = (struct measured){.low = LOW(sort_down), .high = HIGH(sort_down)};
    functions[WAITING] = (struct measured){.low = LOW(wait_here), .high = HIGH(wait_here)};
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    for (unsigned i = 0; i < turns; i++) measure(i % FUNCTIONS, lengths[i % FUNCTIONS]);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile *profile = profile_of(sampler);
    ck_assert_int_eq(usp_profile_visit(profile, note_shares, NULL), USP_OK);
    struct usp_profile_info info;
    usp_profile_get_info(profile, &info);
    if (getenv("USP_TEST_VERBOSE") != NULL) {
        printf("%llu ticks, %llu missed, %llu captures\n", (unsigned long long)info.run.ticks,
               (unsigned long long)info.run.missed_ticks, (unsigned long long)info.run.captures);
    }
    /* The sampler does not know what happened while it did not run, so the error may be larger by that share. */
    double unseen = (double)info.run.missed_ticks * 100 / (double)(info.run.ticks + info.run.missed_ticks);
    bool are_true = error_of_shares(false) <= 2 + unseen && error_of_shares(true) <= 2 + unseen;
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    return are_true;
}

/* A busy machine may keep the sampler from running at important moments, so one of several runs has to be right. */
START_TEST(shares_against_truth) {
    const uint64_t interval = _i == 0 ? 10 * MS : 2 * MS;
    /* Under a sanitizer the sampler uses more processor time than the functions that it samples. */
    const unsigned turns = USP_SANITIZED ? 9 : _i == 0 ? 60 : 18, attempts = USP_SANITIZED ? 1 : 4;
    unsigned attempt = 0;
    while (attempt < attempts && !shares_are_true(interval, turns)) attempt++;
    ck_assert(USP_SANITIZED || attempt < attempts);
}
END_TEST

/* ---- threads ---- */

static void *live_shortly(void *context) {
    (void)context;
    for (unsigned i = 0; i < 2000; i++) atomic_fetch_add(&work, 1);
    return NULL;
}

START_TEST(threads_come_and_go) {
    struct parked idle = {.depth = 3, .wait = wait_asleep};
    unsigned before = open_descriptors();
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_ALL, 2 * MS);
    stand_begin(&idle);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    /* Starts a thread each millisecond, if the machine is fast enough. */
    const uint64_t begun = usp_clock();
    uint64_t due = begun;
    unsigned created = 0;
    struct usp_profile_run run = {0};
    /* A busy machine takes longer than a second. */
    while (usp_clock() < begun + SECOND || created <= 50 || run.ticks <= 5) {
        pthread_t thread;
        usp_sampler_get_run(sampler, &run);
        if (pthread_create(&thread, NULL, live_shortly, NULL) != 0) continue;
        created++;
        pthread_join(thread, NULL);
        due += MS;
        if (usp_clock() < due) usleep((useconds_t)((due - usp_clock()) / 1000));
    }
    if (getenv("USP_TEST_VERBOSE") != NULL) printf("%u threads in a second\n", created);
    ck_assert(usp_sampler_is_alive(sampler));
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile *profile = profile_of(sampler);
    struct usp_profile_info info;
    usp_profile_get_info(profile, &info);
    ck_assert_uint_ge(info.threads, 2);
    ck_assert_uint_le(info.run.threads_ended, info.run.threads_appeared + 4);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    stand_end(&idle);
    ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

/* An idle thread is captured once, or a few times more while it may have run. All of its time must be counted. */
START_TEST(idle_threads_are_left_alone) {
    enum { IDLE = 30 };
    static struct parked idle[IDLE];
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_ALL, 5 * MS);
    for (unsigned i = 0; i < IDLE; i++) {
        idle[i] = (struct parked){.depth = 2, .wait = wait_asleep};
        stand_begin(&idle[i]);
    }
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    uint64_t begun = usp_clock();
    struct usp_profile_run run;
    do {
        usleep(50000);
        usp_sampler_get_run(sampler, &run);
        /* Under a sanitizer each tick is expensive, so the budget allows few. */
    } while (usp_clock() < begun + SECOND || run.ticks <= (USP_SANITIZED ? 3 : 10));
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    usp_sampler_get_run(sampler, &run);
    /* Captures come 2, 4, 8 … ticks apart; the main thread has its own. On a busy machine a capture's time may be
     * booked late, and the thread looks as if it had run since. */
    ck_assert_uint_le(run.captures, IDLE * (12 + run.ticks / 2) + run.ticks + 40);
    struct usp_profile *profile = profile_of(sampler), *copy;
    for (unsigned i = 0; i < IDLE; i++) {
        struct usp_frame frames[64];
        struct usp_stack stack;
        struct usp_profile_info info;
        uint32_t percent;
        usp_stack_init(&stack, frames, 64);
        ck_assert_int_eq(usp_profile_heaviest(profile, idle[i].thread.id, USP_PROFILE_WALL, &stack, &percent), USP_OK);
        ck_assert_uint_eq(FRAMES_IN(&stack, stand_deep), 3);
        ck_assert_int_eq(usp_profile_copy(profile, 0, UINT64_MAX, idle[i].thread.id, &copy), USP_OK);
        usp_profile_get_info(copy, &info);
        ck_assert_uint_ge(info.wall_ns + 100 * MS + run.missed_ticks * 5 * MS, run.end - run.start);
        ck_assert_uint_le(info.wall_ns, run.end - run.start);
        usp_profile_free(copy);
    }
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    for (unsigned i = 0; i < IDLE; i++) stand_end(&idle[i]);
}
END_TEST

/* ---- deep stacks ---- */

struct cut {
    uint64_t thread;
    usp_addr outermost; /* pc of the thread's outermost frame */
    /* Samples. Stale: see note_cut. */
    unsigned with_both_ends, stale, others;
};

/* ThreadSanitizer's runtime keeps a signal that interrupts a thread, with the registers of that moment, and calls the
 * handler at the thread's next atomic operation (tsan_interceptors_posix.cpp, sighandler and ProcessPendingSignals). If
 * the runtime itself was interrupted, its calls have returned by then, and others have overwritten their frames: the
 * registers are stale, and lead nowhere. Calls of the test's own functions have not returned. */
static int note_cut(void *context, const struct usp_profile_entry *entry) {
    struct cut *cut = context;
    if (entry->thread->thread.id != cut->thread) return USP_OK;
    bool has_both = entry->stack->omitted > 0 && FRAMES_IN(entry->stack, stand_here) == 1 &&
                    entry->stack->frames[entry->stack->count - 1].pc == cut->outermost;
    const struct usp_stack innermost = {.frames = entry->stack->frames, .count = 1};
    bool is_stale = USP_SANITIZED && FRAMES_IN(&innermost, stand_here) == 0;
    *(has_both ? &cut->with_both_ends : is_stale ? &cut->stale : &cut->others) += (unsigned)entry->samples;
    return USP_OK;
}

/* Samples of deep stacks were thrown away because they were cut (KSCrash 732). They must be kept with both ends, and
 * counted. */
START_TEST(deep_stacks_are_cut_and_counted) {
    struct parked deep = {.depth = 200};
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    struct usp_profile_run run;
    stand_begin(&deep);
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_GIVEN;
    options.threads = &deep.thread;
    options.thread_count = 1;
    options.interval = MS;
    options.max_frames = 32;
    options.budget_cpu = options.budget_stopped = 0;
    ck_assert_int_eq(usp_sampler_create(&options, &sampler, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    do {
        usleep(1000);
        usp_sampler_get_run(sampler, &run);
    } while (run.captures < 5);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    usp_sampler_get_run(sampler, &run);
    struct usp_profile *profile = profile_of(sampler);
    struct usp_frame frames[400];
    struct usp_stack whole;
    do {
        usp_stack_init(&whole, frames, 400);
        ck_assert_int_eq(usp_capture_thread(&deep.thread, NULL, &whole), USP_OK);
    } while (USP_SANITIZED && whole.count <= 200);
    ck_assert_uint_gt(whole.count, 200);
    struct cut cut = {.thread = deep.thread.id, .outermost = frames[whole.count - 1].pc};
    ck_assert_int_eq(usp_profile_visit(profile, note_cut, &cut), USP_OK);
    ck_assert_uint_ge(run.truncated + cut.stale, run.captures);
    ck_assert_uint_ge(cut.with_both_ends + cut.stale, 5);
    ck_assert_uint_gt(cut.with_both_ends, 0);
    ck_assert_uint_eq(cut.others, 0);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    stand_end(&deep);
}
END_TEST

/* ---- starts, stops, readers ---- */

static struct usp_sampler *shared;
static _Atomic(bool) is_over;

static void *read_on(void *context) {
    unsigned *reads = context;
    while (!atomic_load(&is_over)) {
        struct usp_profile *profile;
        struct usp_profile_info info;
        if (usp_sampler_read(shared, 0, UINT64_MAX, 0, &profile) != USP_OK) continue;
        usp_profile_get_info(profile, &info);
        usp_profile_free(profile);
        ++*reads;
    }
    return NULL;
}

static void *start_and_stop(void *context) {
    unsigned *changes = context;
    while (!atomic_load(&is_over)) {
        if (usp_sampler_start(shared) != USP_OK || usp_sampler_stop(shared) != USP_OK) continue;
        ++*changes;
    }
    return NULL;
}

START_TEST(races) {
    pthread_t threads[5];
    unsigned counts[5] = {0}, before = open_descriptors();
    shared = sampler_of(USP_SAMPLER_ALL, MS / 2);
    struct usp_sampler *other = sampler_of(USP_SAMPLER_MAIN, MS);
    ck_assert_int_eq(usp_sampler_start(other), USP_OK);
    atomic_store(&is_over, false);
    for (unsigned i = 0; i < 5; i++) pthread_create(&threads[i], NULL, i < 3 ? read_on : start_and_stop, &counts[i]);
    uint64_t end = usp_clock() + SECOND;
    while (usp_clock() < end) {
        struct usp_sampler *brief = sampler_of(USP_SAMPLER_ALL, MS);
        ck_assert_int_eq(usp_sampler_start(brief), USP_OK);
        /* The sampler is freed while it runs. */
        usp_sampler_free(brief);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_gt(counts[i], 0);
    }
    usp_sampler_free(shared);
    usp_sampler_free(other);
    /* A sanitizer may have started its symbolizer. */
    ck_assert_uint_le(open_descriptors(), before + (USP_SANITIZED ? 2 : 0));
}
END_TEST

/* A forked child would hang, because it has no sampling thread. Whatever the parent's sampler was doing, all calls must
 * return in the child. */
START_TEST(forks) {
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_ALL, MS / 4);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    for (unsigned i = 0; i < 30; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            alarm(240);
            usp_sampler_free(sampler);
            struct usp_sampler *own;
            if (usp_sampler_create(NULL, &own, NULL, 0) != USP_OK) _exit(2);
            if (usp_sampler_start(own) != USP_OK) _exit(3);
            usp_sampler_free(own);
            _exit(0);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with %#x", status);
        usleep(300);
    }
    usp_sampler_free(sampler);
}
END_TEST

/* ---- the budget on a real clock ---- */

/* On any machine, the sampler's own clock must show that it kept its budget, or that it could not have done less. */
START_TEST(budget_is_kept) {
    enum { BUSY = 4 };
    static struct parked busy[BUSY];
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    struct usp_profile_run before = {0}, run;
    for (unsigned i = 0; i < BUSY; i++) {
        busy[i] = (struct parked){.depth = 60};
        stand_begin(&busy[i]);
    }
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.interval = MS / 2;
    options.budget_cpu = 5;
    ck_assert_int_eq(usp_sampler_create(&options, &sampler, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    uint64_t end = usp_clock() + 3 * SECOND;
    while (usp_clock() < end) {
        usleep(20000);
        usp_sampler_get_run(sampler, &run);
        if (run.ticks <= before.ticks) continue;
        /* A tick is paid for after it was made: when the next one begins, time has paid for all before it. The budget
         * of 100 ms may be spent in advance. */
        const uint64_t budget = (run.end - run.start + 100 * MS) * 5 / 1000;
        ck_assert_msg(before.cpu_ns <= budget, "%llu us in %llu ticks are more than %llu us",
                      (unsigned long long)(before.cpu_ns / 1000), (unsigned long long)before.ticks,
                      (unsigned long long)(budget / 1000));
        before = run;
    }
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    usp_sampler_get_run(sampler, &run);
    ck_assert_uint_gt(before.ticks, 0);
    ck_assert_uint_gt(run.slowed, 0);
    ck_assert_uint_gt(run.longest_interval, options.interval);
    /* Without a budget there would be 6000 ticks. */
    ck_assert_uint_lt(run.ticks, 3000);
    for (unsigned i = 0; i < BUSY; i++) stand_end(&busy[i]);
    usp_sampler_free(sampler);
}
END_TEST

/* ---- every call and every allocation fails in turn ---- */

static struct usp_profile_run sample_some(int *status) {
    struct uspi_own_world own;
    struct uspi_world world;
    struct usp_sampler_options options;
    struct uspi_sampling *sampling;
    struct usp_profile *profile = NULL;
    struct usp_profile_run run;
    memset(&run, 0, sizeof run);
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    *status = uspi_own_world_begin(&own, &world);
    if (*status != USP_OK) return run;
    *status = uspi_sampling_create(&options, &world, &sampling);
    if (*status == USP_OK) {
        uspi_sampling_begin(sampling);
        for (unsigned i = 0; i < 3; i++) uspi_sampling_tick(sampling);
        uspi_sampling_end(sampling);
        *status = uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile);
        uspi_sampling_get_run(sampling, &run);
        usp_profile_free(profile);
        uspi_sampling_free(sampling);
    }
    uspi_own_world_end(&own);
    return run;
}

START_TEST(each_call_fails) {
    static const int reasons[] = {EMFILE, EINVAL, ESRCH};
    static struct uspi_linux_calls table;
    struct parked asleep = {.depth = 3, .wait = wait_asleep}, busy = {.depth = 3};
    stand_begin(&asleep);
    stand_begin(&busy);
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    table = uspi_linux_real;
    fail_calls_of_captures(&table);
    uspi_linux = &table;
    for (script.failing = 1;; script.failing++) {
        int status;
        fail_from_now(reasons[_i % 3], _i >= 3);
        long opened = script.opened, mapped = script.mapped;
        struct usp_profile_run run = sample_some(&status);
        ck_assert_int_eq(script.opened, opened);
        /* The room for captures may have been replaced, and is kept. */
        ck_assert_int_le(script.mapped, mapped + 1);
        if (!script.failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_uint_ge(run.captures, 3);
            break;
        }
        ck_assert_int_le(status, USP_OK);
        ck_assert_uint_eq(run.ticks, status == USP_OK ? 3 : run.ticks);
        script.mapped = mapped;
    }
    ck_assert_uint_gt(script.failing, 20);
    uspi_linux = &uspi_linux_real;
    stand_end(&asleep);
    stand_end(&busy);
}
END_TEST

static int write_nothing(void *context, const char *bytes, size_t n) {
    (void)context;
    (void)bytes;
    (void)n;
    return USP_OK;
}

/* Samples with the sampler's own thread, and writes the profile with names. Returns the first error. */
static int use_sampler(void *context) {
    (void)context;
    struct usp_sampler_options options;
    struct usp_profile_write_options write;
    struct usp_sampler *sampler;
    struct usp_profile *profile = NULL;
    struct usp_profile_run run = {.ticks = 0};
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.interval = MS / 5;
    options.budget_cpu = options.budget_stopped = 0;
    int status = usp_sampler_create(&options, &sampler, NULL, 0);
    if (status != USP_OK) return status;
    status = usp_sampler_start(sampler);
    while (status == USP_OK && run.ticks < 2) {
        usleep(100);
        usp_sampler_get_run(sampler, &run);
    }
    (void)usp_sampler_stop(sampler);
    if (status == USP_OK) status = usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile);
    usp_profile_write_options_init(&write);
    if (status == USP_OK) status = usp_profile_write(profile, &write, write_nothing, NULL);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    return status;
}

/* The caller must get a status, and nothing may leak, whichever allocation fails: of the sampler's list of threads and
 * images, of its thread, or of a profile. */
START_TEST(each_allocation_fails) {
    struct parked asleep = {.depth = 3, .wait = wait_asleep};
    stand_begin(&asleep);
    ck_assert_int_eq(use_sampler(NULL), USP_OK);
    const unsigned descriptors = open_descriptors();
    fail_each_allocation(use_sampler, NULL, 20, 0);
    ck_assert_uint_eq(open_descriptors(), descriptors);
    stand_end(&asleep);
}
END_TEST

/* The process has no room for another thread. usp_sampler_start must say so, and succeed later. */
START_TEST(no_room_for_its_thread) {
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_MAIN, MS);
    if (!forbid_mappings()) {
        usp_sampler_free(sampler);
        return;
    }
    int status = usp_sampler_start(sampler);
    allow_mappings();
    ck_assert_msg(status == USP_ERROR_SYSTEM, "%s", usp_status_string(status));
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    usp_sampler_free(sampler);
}
END_TEST

static _Atomic(unsigned) refused, naps;

static long refuse_wait(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline) {
    (void)word;
    (void)seen;
    (void)deadline;
    refused++;
    return -ENOSYS;
}

static long take_nap(uint64_t ns) {
    naps++;
    return uspi_linux_real.sleep(ns);
}

/* A filter of system calls refuses the futex call. The sampler would spin until its next tick, or never tick. It must
 * take a nap after each refusal, and go on. */
START_TEST(waits_are_refused) {
    static struct uspi_linux_calls table;
    struct usp_profile_run run;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    table = uspi_linux_real;
    table.wait = refuse_wait;
    table.sleep = take_nap;
    uspi_linux = &table;
    struct usp_sampler *sampler = sampler_of(USP_SAMPLER_MAIN, 10 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    do {
        usleep(1000);
        usp_sampler_get_run(sampler, &run);
    } while (run.captures < 3);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    usp_sampler_free(sampler);
    uspi_linux = &uspi_linux_real;
    ck_assert_uint_ge(refused, 3);
    ck_assert_msg(naps == refused, "%u naps after %u refusals", naps, refused);
}
END_TEST

START_TEST(arguments) {
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    struct usp_profile *profile;
    struct usp_profile_run run;
    usp_sampler_options_init(&options);
    ck_assert_int_eq(usp_sampler_create(&options, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    static const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {{offsetof(struct usp_sampler_options, which), 4},
                 {offsetof(struct usp_sampler_options, size), 20},
                 {offsetof(struct usp_sampler_options, jitter), 1001},
                 {offsetof(struct usp_sampler_options, max_frames), 3},
                 {offsetof(struct usp_sampler_options, max_threads), 0},
                 {offsetof(struct usp_sampler_options, flags), 4},
                 {offsetof(struct usp_sampler_options, memory), 65535},
                 {offsetof(struct usp_sampler_options, interval), 99999},
                 {offsetof(struct usp_sampler_options, thread_count), 1},
                 {offsetof(struct usp_sampler_options, name_count), 1}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        usp_sampler_options_init(&options);
        memcpy((char *)&options + wrong[i].at, &wrong[i].value, sizeof wrong[i].value);
        char error[256];
        ck_assert_int_eq(usp_sampler_create(&options, &sampler, NULL, 0), USP_ERROR_ARGUMENT);
        ck_assert_ptr_null(sampler);
        ck_assert_int_eq(usp_sampler_create(&options, &sampler, error, sizeof error), USP_ERROR_ARGUMENT);
        ck_assert_msg(strstr(error, "out of its range") != NULL, "option %u is refused with the sentence \"%s\"", i,
                      error);
    }
    ck_assert_int_eq(usp_sampler_start(NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_sampler_stop(NULL), USP_ERROR_ARGUMENT);
    ck_assert(!usp_sampler_is_alive(NULL));
    usp_sampler_free(NULL);
    ck_assert_int_eq(usp_sampler_create(NULL, &sampler, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    ck_assert_int_eq(usp_sampler_read(sampler, 0, 1, 0, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_profile_free(profile);
    usp_sampler_get_run(sampler, &run);
    ck_assert_uint_eq(run.ticks, 0);
    usp_sampler_get_run(sampler, NULL);
    usp_sampler_free(sampler);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all"), *faults = tcase_create("faults");
    add_tests(all, arguments, threads_come_and_go, idle_threads_are_left_alone, deep_stacks_are_cut_and_counted, races,
              forks, budget_is_kept);
    add_loop_tests(all, 0, 2, shares_against_truth);
    add_tests(faults, no_room_for_its_thread, each_allocation_fails, waits_are_refused);
    add_loop_tests(faults, 0, 6, each_call_fails);
    return run_suite("sampler", all, faults);
}
