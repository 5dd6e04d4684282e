/* SPDX-License-Identifier: MIT */
/* Tests what a sampler does at its ticks, in a scripted world: shares of time, which threads are stopped, the budget,
 * missed ticks, threads that come and go, a day of ticks, and allocations that fail. */
#include "tests/sampler/scripted_world.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include "lib/sampler/sampling.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

static struct scripted script;
static struct uspi_world world;
static struct usp_sampler_options options;
static struct uspi_sampling *sampling;
static uint64_t due;

static void begin_world(void) {
    memset(&script, 0, sizeof script);
    script.now = script.wall = 1000 * SECOND;
    world = script_world(&script);
    usp_sampler_options_init(&options);
    options.budget_cpu = options.budget_stopped = 0;
    options.jitter = 0;
    script_add(&script, 1, "main", 0x100);
}

static void begin_sampling(void) {
    ck_assert_int_eq(uspi_sampling_create(&options, &world, &sampling), USP_OK);
    due = uspi_sampling_begin(sampling);
}

static void end_world(void) {
    uspi_sampling_end(sampling);
    uspi_sampling_free(sampling);
    /* Every thread value that was handed out was given back. */
    ck_assert_uint_eq(script.released, script.listed);
    sampling = NULL;
}

/* Lets time pass up to the next tick, and makes the tick. */
static void tick(void) {
    script_pass_to(&script, due);
    due = uspi_sampling_tick(sampling);
}

/* Makes all ticks up to a time, and lets the rest of the time pass. */
static void run_to(uint64_t time) {
    while (due <= time) tick();
    script_pass_to(&script, time);
}

static struct usp_profile_run run_of(void) {
    struct usp_profile_run run;
    uspi_sampling_get_run(sampling, &run);
    return run;
}

/* The sums of the samples with this innermost frame. */
struct amount {
    usp_addr leaf;
    uint64_t thread;
    uint64_t samples, wall, cpu;
};

static int add_up(void *context, const struct usp_profile_entry *entry) {
    struct amount *amount = context;
    if (amount->leaf != 0 && entry->stack->frames[0].pc != amount->leaf) return USP_OK;
    if (amount->thread != 0 && entry->thread->thread.id != amount->thread) return USP_OK;
    amount->samples += entry->samples;
    amount->wall += entry->wall;
    amount->cpu += entry->cpu;
    return USP_OK;
}

static struct amount amount_of(usp_addr leaf, uint64_t thread) {
    struct amount amount = {.leaf = leaf, .thread = thread};
    struct usp_profile *profile;
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    ck_assert_int_eq(usp_profile_visit(profile, add_up, &amount), USP_OK);
    usp_profile_free(profile);
    return amount;
}

/* ---- ticks that take long ---- */

/* Where 200 threads waited for two processors, a tick took half a minute, and `unspool record` did not end for a
 * quarter of an hour: whoever asked how far the sampler was never got the lock between two ticks. */
static struct {
    _Atomic(unsigned) batches;
    _Atomic(bool) has_asked, is_answered;
    unsigned answered_after; /* number of batches when the reader was served */
    bool ends;
    pthread_t reader;
} slow;

static void *ask_for_run(void *context) {
    (void)context;
    atomic_store(&slow.has_asked, true);
    run_of();
    slow.answered_after = atomic_load(&slow.batches);
    atomic_store(&slow.is_answered, true);
    return NULL;
}

/* Stops a batch of threads, which takes as long as a reader needs to ask. */
static int stop_slowly(void *context, const struct usp_thread *threads, size_t count) {
    (void)context;
    (void)threads;
    (void)count;
    if (atomic_fetch_add(&slow.batches, 1) == 0) {
        ck_assert_int_eq(pthread_create(&slow.reader, NULL, ask_for_run, NULL), 0);
        if (slow.ends) uspi_sampling_set_ending(sampling, true);
    }
    while (!atomic_load(&slow.has_asked)) usleep(100);
    if (!atomic_load(&slow.is_answered)) usleep((unsigned)(scaled_timeout(20 * MS) / 1000));
    return USP_OK;
}

static bool sleep_really(void *context, uint64_t deadline) {
    (void)context;
    (void)deadline;
    usleep(100);
    return false;
}

static void begin_slow_world(void) {
    options.which = USP_SAMPLER_ALL;
    world.stop_together = stop_slowly;
    world.sleep = sleep_really;
    for (uint64_t id = 2; id < 40 * USPI_STOPPED_TOGETHER; id++) script_add(&script, id, "busy", 0x300)->runs = true;
    begin_sampling();
}

/* A reader must get the lock within the tick. */
START_TEST(readers_need_not_wait_for_a_long_tick) {
    begin_slow_world();
    tick();
    pthread_join(slow.reader, NULL);
    ck_assert_uint_ge(atomic_load(&slow.batches), 40);
    ck_assert_uint_lt(slow.answered_after, 20);
}
END_TEST

/* A sampler that is stopped must not finish a long tick. The next run captures all threads. */
START_TEST(a_long_tick_is_cut_short) {
    slow.ends = true;
    begin_slow_world();
    tick();
    pthread_join(slow.reader, NULL);
    ck_assert_uint_eq(atomic_load(&slow.batches), 1);
    uspi_sampling_set_ending(sampling, false);
    due = uspi_sampling_begin(sampling);
    tick();
    ck_assert_uint_ge(atomic_load(&slow.batches), 41);
}
END_TEST

/* ---- shares ---- */

/* The main thread runs for 1 ms of each 10 ms and waits for the rest. All of its processor time belongs to the function
 * in which it runs, although most samples find it waiting, and the sum is its clock's. */
START_TEST(time_of_short_bursts) {
    options.jitter = 250;
    begin_sampling();
    struct scripted_thread *main_thread = &script.threads[0];
    const uint64_t before = main_thread->cpu;
    for (unsigned i = 0; i < 1000; i++) {
        main_thread->runs = i % 10 == 0;
        main_thread->run_state = main_thread->runs ? 'R' : 'S';
        main_thread->frames[0] = main_thread->runs ? 0x100 : 0x200;
        run_to(script.now + MS);
    }
    tick();
    ck_assert_uint_gt(amount_of(0x200, 0).samples, amount_of(0x100, 0).samples);
    ck_assert_uint_gt(amount_of(0x100, 0).samples, 0);
    ck_assert_uint_eq(amount_of(0x100, 0).cpu, main_thread->cpu - before);
    ck_assert_uint_eq(amount_of(0x200, 0).cpu, 0);
}
END_TEST

/* It runs for 1 ms of each 13, and before that is due for 4 ms: woken, but without a processor. It used the processor
 * earlier then, and stands where it waited. Only before it was first seen to wait may such a sample get its time. */
START_TEST(time_of_late_bursts) {
    options.jitter = 250;
    begin_sampling();
    struct scripted_thread *main_thread = &script.threads[0];
    const uint64_t before = main_thread->cpu;
    for (unsigned i = 0; i < 4000; i++) {
        main_thread->runs = i % 13 == 0;
        main_thread->run_state = main_thread->runs || i % 13 > 8 ? 'R' : 'S';
        main_thread->frames[0] = main_thread->runs ? 0x100 : 0x200;
        run_to(script.now + MS);
    }
    tick();
    const uint64_t used = main_thread->cpu - before;
    ck_assert_uint_eq(amount_of(0x100, 0).cpu + amount_of(0x200, 0).cpu, used);
    ck_assert_uint_ge(amount_of(0x100, 0).cpu, used / 100 * 95);
}
END_TEST

/* On a single processor the sampler takes the processor from each thread that it looks at. Threads that are due then get
 * their time. */
START_TEST(time_on_one_processor) {
    begin_sampling();
    struct scripted_thread *main_thread = &script.threads[0];
    const uint64_t before = main_thread->cpu;
    main_thread->run_state = 'R';
    for (unsigned i = 0; i < 100; i++) {
        main_thread->frames[0] = i % 2 == 0 ? 0x100 : 0x200;
        main_thread->cpu += 10 * MS;
        run_to(script.now + 10 * MS);
    }
    tick();
    ck_assert_uint_eq(amount_of(0x100, 0).cpu + amount_of(0x200, 0).cpu, main_thread->cpu - before);
    ck_assert_uint_ge(amount_of(0x100, 0).cpu, 400 * MS);
    ck_assert_uint_ge(amount_of(0x200, 0).cpu, 400 * MS);
}
END_TEST

/* The main thread runs in one function for 300 ms and waits in another one for 200 ms. The sampled shares must
 * agree. */
START_TEST(shares_of_time) {
    options.jitter = 100;
    begin_sampling();
    uint64_t begun = script.now;
    struct scripted_thread *main_thread = &script.threads[0];
    for (unsigned i = 0; i < 40; i++) {
        main_thread->frames[0] = i % 2 == 0 ? 0x100 : 0x200;
        main_thread->runs = i % 2 == 0;
        run_to(script.now + (i % 2 == 0 ? 300 * MS : 200 * MS));
    }
    double length = (double)(script.now - begun);
    struct amount running = amount_of(0x100, 0), waiting = amount_of(0x200, 0), all = amount_of(0, 0);
    ck_assert(fabs((double)running.wall / length - 0.6) < 0.02);
    ck_assert(fabs((double)waiting.wall / length - 0.4) < 0.02);
    ck_assert(fabs((double)all.wall / length - 1) < 0.001);
    /* All processor time is counted and belongs to the right function, except for what passes between two ticks. */
    ck_assert(fabs((double)all.cpu / (0.6 * length) - 1) < 0.01);
    ck_assert((double)waiting.cpu / (double)all.cpu < 0.02);
    ck_assert_uint_eq(all.samples, run_of().ticks);
    struct usp_profile_run run = run_of();
    ck_assert_uint_eq(run.missed_ticks, 0);
    ck_assert(fabs((double)run.ticks / (length / 1e7) - 1) < 0.01);
}
END_TEST

/* A thread that has not run since its last capture must not be stopped again, however long it waits. A thread that has
 * run must be captured at once. */
START_TEST(who_has_not_run_is_not_stopped) {
    options.which = USP_SAMPLER_ALL;
    struct scripted_thread *idle = script_add(&script, 2, "idle", 0x200), *busy = script_add(&script, 3, "busy", 0x300);
    busy->runs = true;
    /* If being stopped uses the thread's own processor time, the sampler cannot be sure: it captures the thread again
     * after intervals that double. */
    const unsigned captures = _i == 0 ? 1 : 11;
    script.stopping_takes = (uint64_t)_i * 20000;
    begin_sampling();
    run_to(script.now + 10 * SECOND);
    ck_assert_uint_le(idle->captures, captures);
    ck_assert_uint_ge(busy->captures, 999);
    struct amount amount = amount_of(0x200, 2);
    ck_assert_uint_eq(amount.samples, run_of().ticks);
    ck_assert_uint_ge(amount.wall, 9980 * MS);
    /* If the thread runs for a short time and then waits elsewhere, the next tick must show it. */
    const unsigned before = idle->captures;
    idle->cpu += 100000;
    idle->frames[0] = 0x210;
    run_to(script.now + 10 * MS);
    ck_assert_uint_eq(idle->captures, before + 1);
    run_to(script.now + SECOND);
    ck_assert_uint_le(idle->captures, before + captures);
    ck_assert_uint_ge(amount_of(0x210, 2).wall, 990 * MS);
    ck_assert_uint_le(amount_of(0x210, 2).wall, 1020 * MS);
}
END_TEST

/* The thread moves on within the time that being stopped may use. The sampler must soon find its new stack. */
START_TEST(short_run_after_a_capture) {
    begin_sampling();
    script.threads[0].runs = true;
    script.stopping_takes = 10000;
    run_to(script.now + SECOND);
    script.threads[0].runs = false;
    script.threads[0].cpu += 20000;
    script.threads[0].frames[0] = 0x200;
    run_to(script.now + SECOND);
    struct amount amount = amount_of(0x200, 1);
    ck_assert_uint_ge(amount.wall, 970 * MS);
}
END_TEST

/* Without clocks any thread may have run, so each is captured at each tick. */
START_TEST(no_clocks) {
    options.which = USP_SAMPLER_ALL;
    struct scripted_thread *idle = script_add(&script, 2, "idle", 0x200);
    script.cannot_clock = true;
    begin_sampling();
    run_to(script.now + SECOND);
    ck_assert_uint_ge(idle->captures, 99);
    ck_assert_uint_ge(amount_of(0x200, 2).wall, 980 * MS);
}
END_TEST

/* ---- the budget ---- */

/* Each capture costs much. The sampler must stay within its budget, and report what it used. */
START_TEST(processor_budget) {
    static const struct {
        uint64_t cost;
        uint32_t share;
        bool fits;
    } cases[] = {{50000, 10, true},   {90000, 10, true},  {300000, 10, false},
                 {2 * MS, 10, false}, {2 * MS, 1, false}, {20 * MS, 5, false}};
    options.budget_cpu = cases[_i].share;
    options.jitter = 100;
    script.capture_cost = script.capture_time = cases[_i].cost;
    script.threads[0].runs = true;
    begin_sampling();
    uint64_t begun = script.now;
    for (unsigned second = 1; second <= 60; second++) {
        run_to(begun + second * SECOND);
        /* The budget holds at every moment, apart from the credit of a tenth of a second. */
        double allowed = ((double)(script.now - begun) + 1e8) * cases[_i].share / 1000 + (double)cases[_i].cost;
        ck_assert((double)script.own_cpu <= allowed);
    }
    struct usp_profile_run run = run_of();
    ck_assert_uint_le(run.cpu_ns, script.own_cpu);
    ck_assert_uint_ge(run.cpu_ns + 2 * cases[_i].cost, script.own_cpu);
    ck_assert_uint_eq(run.budget_cpu, cases[_i].share);
    if (cases[_i].fits) {
        ck_assert_uint_eq(run.slowed, 0);
        ck_assert_uint_ge(run.ticks, 5990);
    } else {
        ck_assert_uint_gt(run.slowed, 0);
        ck_assert_uint_gt(run.longest_interval, options.interval);
        /* The sampler uses what the budget allows. */
        ck_assert_uint_ge(run.cpu_ns + 2 * cases[_i].cost, 60 * SECOND * cases[_i].share / 1000 * 9 / 10);
    }
    /* All time is counted, however few samples there are. */
    struct amount all = amount_of(0, 0);
    ck_assert_uint_ge(all.wall + run.longest_interval + SECOND, script.now - begun);
}
END_TEST

/* A thread must not be stopped for more of its time than the budget allows. The others are sampled as often as
 * before. */
START_TEST(budget_of_stopped_time) {
    options.which = USP_SAMPLER_ALL;
    options.budget_stopped = 5;
    struct scripted_thread *busy = script_add(&script, 2, "busy", 0x200);
    busy->runs = script.threads[0].runs = true;
    script.capture_stops = 200000;
    begin_sampling();
    uint64_t begun = script.now;
    run_to(begun + 60 * SECOND);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t stopped = script.threads[i].captures * script.capture_stops;
        ck_assert_uint_le(stopped, (60 * SECOND + 100 * MS) * 5 / 1000 + script.capture_stops);
        ck_assert_uint_ge(stopped, 60 * SECOND * 5 / 1000 * 9 / 10);
    }
    struct usp_profile_run run = run_of();
    ck_assert_uint_gt(run.slowed, 1000);
    ck_assert_uint_ge(run.ticks, 5990);
    ck_assert_uint_eq(run.longest_stop_ns, 200000);
    ck_assert_uint_ge(amount_of(0x200, 2).wall, 59 * SECOND);
}
END_TEST

/* ---- ticks ---- */

/* The sampler does not run for a while. Missed ticks are counted and not made up for, and no time is lost. */
START_TEST(missed_ticks) {
    begin_sampling();
    uint64_t begun = script.now;
    script.threads[0].runs = true;
    run_to(begun + SECOND);
    ck_assert_uint_eq(run_of().missed_ticks, 0);
    uint64_t before = run_of().ticks;
    script_pass(&script, 2 * SECOND);
    tick();
    ck_assert_uint_eq(run_of().ticks, before + 1);
    ck_assert_uint_ge(run_of().missed_ticks, 198);
    ck_assert_uint_le(run_of().missed_ticks, 201);
    run_to(begun + 4 * SECOND);
    ck_assert_uint_le(run_of().ticks, before + 102);
    ck_assert_uint_ge(amount_of(0x100, 1).wall, 3980 * MS);
}
END_TEST

START_TEST(jitter) {
    uint64_t last, least = UINT64_MAX, most = 0;
    options.jitter = (uint32_t)_i;
    begin_sampling();
    last = due;
    for (unsigned i = 0; i < 10000; i++) {
        tick();
        uint64_t passed = due - last;
        if (passed < least) least = passed;
        if (passed > most) most = passed;
        last = due;
    }
    uint64_t range = options.interval * options.jitter / 1000;
    ck_assert_uint_ge(least, options.interval - range);
    ck_assert_uint_le(most, options.interval + range);
    if (_i > 0) ck_assert_uint_gt(most - least, range);
    /* On average a tick comes at each interval. */
    uint64_t row = 1000 * SECOND + 10001 * options.interval;
    ck_assert_uint_le(last, row + range);
    ck_assert_uint_ge(last, row - range);
}
END_TEST

/* A second run continues the first. The time in between belongs to no thread. */
START_TEST(runs_again) {
    begin_sampling();
    script.threads[0].runs = true;
    run_to(script.now + SECOND);
    uspi_sampling_end(sampling);
    script_pass(&script, 100 * SECOND);
    due = uspi_sampling_begin(sampling);
    run_to(script.now + SECOND);
    struct amount all = amount_of(0, 0);
    ck_assert_uint_ge(all.wall, 1970 * MS);
    ck_assert_uint_le(all.wall, 2000 * MS);
    ck_assert_uint_eq(run_of().missed_ticks, 0);
    ck_assert_uint_le(run_of().longest_interval, options.interval);
}
END_TEST

/* ---- threads ---- */

/* 1,000 threads begin and end in each second; each lives for 25 ms. */
START_TEST(threads_come_and_go) {
    options.which = USP_SAMPLER_ALL;
    options.memory = 1 << 20;
    script.cannot_count = _i == 1;
    begin_sampling();
    uint64_t id = 10;
    const long held = allocations_held();
    for (unsigned ms = 0; ms < 20000; ms++) {
        struct scripted_thread *thread = script_add(&script, ++id, "short", 0x200);
        thread->runs = true;
        if (id > 35) script_find(&script, id - 25)->has_ended = true;
        run_to(script.now + MS);
        /* A list that is cut short must not lose a thread. */
        script.list_cut = ms % 100 < 30 ? 7 : 0;
    }
    struct usp_profile_run run = run_of();
    ck_assert_uint_ge(run.threads_appeared, _i == 0 ? 15000 : 5000);
    ck_assert_uint_le(run.threads_appeared, 20000);
    ck_assert_uint_le(run.threads_ended, run.threads_appeared);
    ck_assert_uint_ge(run.threads_ended + 60, run.threads_appeared);
    ck_assert_uint_eq(run.threads_left_out, 0);
    ck_assert_uint_ge(amount_of(0x100, 1).wall, 10 * MS);
    ck_assert_int_le(allocations_held(), held + 1);
}
END_TEST

START_TEST(too_many_threads) {
    options.which = USP_SAMPLER_ALL;
    options.max_threads = 10;
    for (unsigned i = 0; i < 20; i++) script_add(&script, 10 + i, "worker", 0x200);
    begin_sampling();
    run_to(script.now + SECOND);
    ck_assert_uint_ge(run_of().threads_left_out, 11);
    struct usp_profile *profile;
    struct usp_profile_info info;
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_profile_get_info(profile, &info);
    ck_assert_uint_eq(info.threads, 10);
    usp_profile_free(profile);
}
END_TEST

static int note_thread(void *context, const struct usp_profile_entry *entry) {
    ((bool *)context)[entry->thread->thread.id] = entry->samples >= 90;
    return USP_OK;
}

/* Of a process with more than 70 threads the rest were dropped (sentry-cocoa 2825). */
START_TEST(more_than_70_threads) {
    static bool is_sampled[400];
    struct usp_profile *profile;
    options.which = USP_SAMPLER_ALL;
    for (unsigned i = 100; i < 400; i++) script_add(&script, i, "worker", 0x200)->runs = i % 2 == 0;
    begin_sampling();
    run_to(script.now + SECOND);
    ck_assert_uint_eq(run_of().threads_left_out, 0);
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    ck_assert_int_eq(usp_profile_visit(profile, note_thread, is_sampled), USP_OK);
    usp_profile_free(profile);
    for (unsigned i = 100; i < 400; i++) ck_assert_msg(is_sampled[i], "thread %u was dropped", i);
}
END_TEST

START_TEST(chosen_threads) {
    static const char *const names[] = {"work*", "?o"};
    const struct usp_thread given[] = {{12, 0}, {99, 0}};
    options.which = (uint32_t)_i;
    options.names = names;
    options.name_count = 2;
    options.threads = given;
    options.thread_count = 2;
    script_add(&script, 11, "worker", 0x200)->runs = true;
    script_add(&script, 12, "other", 0x300)->runs = true;
    script_add(&script, 13, "Unspool", 0x400)->flags = USP_THREAD_REQUESTER;
    begin_sampling();
    run_to(script.now + SECOND);
    struct scripted_thread *late = script_add(&script, 14, "", 0x500);
    late->runs = true;
    run_to(script.now + SECOND);
    /* The thread gets a name that the options ask for. */
    snprintf(late->name, sizeof late->name, "go");
    run_to(script.now + SECOND);
    static const bool wanted[4][5] = {[USP_SAMPLER_MAIN] = {true},
                                      [USP_SAMPLER_ALL] = {true, true, true, false, true},
                                      [USP_SAMPLER_GIVEN] = {false, false, true},
                                      [USP_SAMPLER_NAMED] = {false, true, false, false, true}};
    static const uint64_t ids[] = {1, 11, 12, 13, 14};
    for (unsigned i = 0; i < 5; i++) ck_assert_int_eq(amount_of(0, ids[i]).samples > 0, wanted[_i][i]);
    if (_i == USP_SAMPLER_NAMED) {
        /* Names are read again within half a second, so at least half of the second's 100 ticks have samples of it. */
        ck_assert_uint_ge(amount_of(0, 14).samples, 50);
        ck_assert_uint_le(amount_of(0, 14).samples, 101);
    }
    ck_assert(uspi_sampling_is_alive(sampling));
    for (unsigned i = 0; i < script.count; i++) script.threads[i].has_ended = script.threads[i].id != 13;
    run_to(script.now + SECOND);
    ck_assert(uspi_sampling_is_alive(sampling) == (_i == USP_SAMPLER_ALL || _i == USP_SAMPLER_NAMED));
}
END_TEST

/* A thread with a wanted name was never sampled when it began as another one ended: the number of threads stayed the
 * same. */
START_TEST(begins_as_another_one_ends) {
    static const char *const names[] = {"work*"};
    options.which = USP_SAMPLER_NAMED;
    options.names = names;
    options.name_count = 1;
    struct scripted_thread *other = script_add(&script, 11, "other", 0x200);
    begin_sampling();
    run_to(script.now + SECOND);
    other->has_ended = true;
    script_add(&script, 12, "worker", 0x300)->runs = true;
    run_to(script.now + SECOND);
    ck_assert_uint_ge(amount_of(0, 12).samples, 90);
}
END_TEST

/* A thread that cannot be captured is counted. Its time is added to its next stack. */
START_TEST(captures_that_fail) {
    begin_sampling();
    script.threads[0].runs = true;
    script.threads[0].status = USP_ERROR_TIMEOUT;
    run_to(script.now + SECOND);
    ck_assert_uint_ge(run_of().failed, 99);
    ck_assert_uint_eq(run_of().captures, 0);
    ck_assert_uint_eq(amount_of(0, 0).samples, 0);
    script.threads[0].status = USP_OK;
    run_to(script.now + SECOND);
    ck_assert_uint_ge(amount_of(0x100, 1).wall, 1970 * MS);
}
END_TEST

/* ---- threads that are stopped together ---- */

static struct {
    struct usp_thread stopped[USPI_STOPPED_TOGETHER];
    size_t count;
    unsigned stops, captured;
    int status;
} together;

static int stop_some(void *context, const struct usp_thread *threads, size_t count) {
    (void)context;
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, USPI_STOPPED_TOGETHER);
    /* All threads of the last stop have been captured, and no thread is stopped twice. */
    ck_assert_uint_eq(together.count, 0);
    together.stops++;
    if (together.status != USP_OK) return together.status;
    memcpy(together.stopped, threads, count * sizeof *threads);
    together.count = count;
    return USP_OK;
}

static int capture_stopped(void *context, const struct usp_thread *thread, const struct usp_unwind_options *unwind,
                           struct usp_stack *stack) {
    size_t i = 0;
    while (i < together.count && together.stopped[i].id != thread->id) i++;
    ck_assert_uint_lt(i, together.count);
    together.stopped[i] = together.stopped[--together.count];
    together.captured++;
    return scripted_capture(context, thread, unwind, stack);
}

START_TEST(stopped_together) {
    enum { RUNNING = 2 * USPI_STOPPED_TOGETHER + 3, IDLE = 20 };
    memset(&together, 0, sizeof together);
    options.which = USP_SAMPLER_ALL;
    for (unsigned i = 0; i < RUNNING; i++) script_add(&script, 100 + i, "runs", 0x200)->runs = true;
    for (unsigned i = 0; i < IDLE; i++) script_add(&script, 1000 + i, "idle", 0x300);
    world.stop_together = stop_some;
    world.capture = capture_stopped;
    begin_sampling();
    for (unsigned i = 0; i < 100; i++) tick();
    ck_assert_uint_eq(together.count, 0);
    ck_assert_uint_eq(together.captured, run_of().captures);
    ck_assert_uint_ge(run_of().captures, 100 * RUNNING);
    ck_assert_uint_le(run_of().captures, 100 * RUNNING + 2 * (IDLE + 1));
    /* Each tick makes three stops, and the first one a fourth for new threads. */
    ck_assert_uint_ge(together.stops, 300);
    ck_assert_uint_le(together.stops, 310);
    ck_assert_uint_ge(amount_of(0x200, 0).wall, RUNNING * 990 * MS);
    /* A stop that fails is counted for each of its threads. Their time is added to the next stack. */
    together.status = USP_ERROR_PERMISSION;
    for (unsigned i = 0; i < 10; i++) tick();
    ck_assert_uint_eq(run_of().failed, 10 * RUNNING);
    together.status = USP_OK;
    tick();
    ck_assert_uint_ge(amount_of(0x200, 0).wall, RUNNING * 1090 * MS);
}
END_TEST

/* Another thread gets the same id between two ticks. It is noticed by its smaller processor time. */
START_TEST(thread_id_used_again) {
    options.which = USP_SAMPLER_ALL;
    script_add(&script, 7, "first", 0x200)->cpu = 5 * SECOND;
    begin_sampling();
    run_to(script.now + SECOND);
    script_find(&script, 7)->has_ended = true;
    run_to(script.now + 20 * MS);
    script_add(&script, 7, "second", 0x300)->runs = true;
    run_to(script.now + SECOND);
    ck_assert_uint_ge(amount_of(0x200, 7).wall, 980 * MS);
    ck_assert_uint_ge(amount_of(0x300, 7).wall, 960 * MS);
    ck_assert_uint_ge(amount_of(0x300, 7).cpu, 960 * MS);
    ck_assert_uint_le(amount_of(0x300, 7).cpu, SECOND);
}
END_TEST

/* ---- a day ---- */

/* 24 hours at 100 Hz must not use more memory at the end than at the beginning, and must not lose any time. */
START_TEST(a_day) {
    const unsigned ticks = 8640000;
    options.memory = 1 << 20;
    options.jitter = 100;
    options.which = USP_SAMPLER_ALL;
    script_add(&script, 2, "idle", 0x900);
    begin_sampling();
    long held = 0;
    uint64_t begun = script.now;
    for (unsigned i = 0; i < ticks; i++) {
        struct scripted_thread *main_thread = &script.threads[0];
        if (i == ticks / 100) held = allocations_held();
        /* New stacks all the time, so that the tree must evict old ones. */
        main_thread->runs = i % 3 == 0;
        main_thread->frames[0] = 0x10000 + 4 * (i % 1000003);
        tick();
    }
    ck_assert_int_eq(allocations_held(), held);
    struct usp_profile_run run = run_of();
    ck_assert_uint_eq(run.ticks, ticks);
    ck_assert_uint_eq(run.missed_ticks, 0);
    ck_assert_uint_eq(run.failed, 0);
    ck_assert_uint_ge(script.now - begun, 86390 * SECOND);
    ck_assert_uint_ge(run.captures, ticks / 3);
    ck_assert_uint_eq(script.threads[1].captures, 1);
    struct usp_profile *profile;
    struct usp_profile_info info;
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_profile_get_info(profile, &info);
    /* Each tick takes two samples. */
    ck_assert_uint_eq(info.samples + info.evicted, 2 * (uint64_t)ticks);
    ck_assert_uint_eq(info.refused, 0);
    ck_assert_uint_le(info.memory, 4 << 20);
    usp_profile_free(profile);
}
END_TEST

/* ---- failures ---- */

static int use_sampling(void) {
    struct uspi_sampling *made;
    struct usp_profile *profile = NULL;
    int status = uspi_sampling_create(&options, &world, &made);
    if (status != USP_OK) return status;
    uint64_t next = uspi_sampling_begin(made);
    for (unsigned i = 0; i < 20; i++) {
        script_pass_to(&script, next);
        script.threads[0].cpu += MS;
        next = uspi_sampling_tick(made);
    }
    uspi_sampling_end(made);
    status = uspi_sampling_read(made, 0, UINT64_MAX, 0, &profile);
    usp_profile_free(profile);
    uspi_sampling_free(made);
    return status;
}

START_TEST(each_allocation_fails) {
    static const char *const names[] = {"main", "x"};
    options.which = USP_SAMPLER_NAMED;
    options.names = names;
    options.name_count = 2;
    options.flags = _i == 0 ? 0 : USP_SAMPLER_KEEP;
    const long held = allocations_held();
    for (long n = 1;; n++) {
        fail_allocation(n);
        int status = use_sampling();
        bool has_failed = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_int_eq(allocations_held(), held);
        ck_assert_uint_eq(script.released, script.listed);
        if (!has_failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_int_gt(n, 15);
            break;
        }
        ck_assert(status == USP_ERROR_NO_MEMORY || status == USP_OK);
    }
    begin_sampling();
}
END_TEST

int main(void) {
    TCase *time = tcase_create("time"), *threads = tcase_create("threads"), *day = tcase_create("a day");
    tcase_add_checked_fixture(time, begin_world, end_world);
    tcase_add_checked_fixture(threads, begin_world, end_world);
    tcase_add_checked_fixture(day, begin_world, end_world);
    add_tests(time, time_of_short_bursts, time_of_late_bursts, time_on_one_processor, shares_of_time, no_clocks,
              budget_of_stopped_time, missed_ticks, runs_again, short_run_after_a_capture,
              readers_need_not_wait_for_a_long_tick, a_long_tick_is_cut_short);
    add_loop_tests(time, 0, 3, who_has_not_run_is_not_stopped);
    add_loop_tests(time, 0, 6, processor_budget);
    add_loop_tests(time, 0, 2, jitter);
    add_loop_tests(time, 100, 101, jitter);
    add_loop_tests(time, 1000, 1001, jitter);
    add_loop_tests(threads, 0, 2, threads_come_and_go, each_allocation_fails);
    add_loop_tests(threads, USP_SAMPLER_MAIN, USP_SAMPLER_NAMED + 1, chosen_threads);
    add_tests(threads, begins_as_another_one_ends);
    add_tests(threads, too_many_threads, more_than_70_threads, captures_that_fail, stopped_together,
              thread_id_used_again);
    add_tests(day, a_day);
    return run_suite("sampling", time, threads, day);
}
