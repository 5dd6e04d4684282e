/* SPDX-License-Identifier: MIT */
/* Tests the monitor and the sampler over the Darwin layer: each look and each tick, on a clock that the test moves. */
#include "lib/monitor/watching.h"
#include "lib/sampler/sampling.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

#include <string.h>

#define MS UINT64_C(1000000)

/* Lets time pass while all threads run. Stacks that were overwritten after a capture are written again. */
static void pass_until(uint64_t time) {
    while (uspi_os_clock() < time) fake.now += MS / 10;
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        fill_stack(i);
        fake.threads[i].cpu += MS;
    }
}

static void check_frames(const struct usp_stack *stack, size_t first) {
    ck_assert_uint_eq(stack->count, FRAMES + 1);
    for (size_t i = 0; i < stack->count; i++) ck_assert_uint_eq(stack->frames[i].pc, CODE(first + i));
}

/* ---- a hang ---- */

static struct {
    unsigned began, ended;
    uint64_t duration, samples, threads;
} found;

static void note_began(void *context, const struct usp_hang *hang) {
    struct usp_profile_info info;
    (void)context;
    usp_profile_get_info(hang->threads, &info);
    found.threads = info.threads;
    found.began++;
}

static void note_ended(void *context, const struct usp_hang *hang) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    (void)context;
    usp_stack_init(&stack, frames, 32);
    ck_assert_int_eq(usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL), USP_OK);
    check_frames(&stack, 100);
    ck_assert_ptr_nonnull(hang->first);
    check_frames(hang->first, 100);
    found.duration = hang->duration;
    found.samples = hang->samples;
    found.ended++;
}

/* A hang of 600 ms, in which the main thread runs and is captured repeatedly, is found, and everything is returned. */
START_TEST(test_hang_is_found) {
    static struct uspi_watching watching;
    struct usp_monitor_options options;
    struct uspi_own_world own;
    struct uspi_world world;
    memset(&found, 0, sizeof found);
    usp_monitor_options_init(&options);
    options.began = note_began;
    options.ended = note_ended;
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(uspi_own_world_begin(&own, &world), USP_OK);
    ck_assert_int_eq(uspi_watching_init(&watching, &options, &world), USP_OK);
    ck_assert_uint_eq(watching.subject.info.thread.id, FAKE_MAIN_ID);
    ck_assert_int_eq(uspi_watching_begin(&watching), USP_OK);
    uint64_t due = uspi_watching_look(&watching, false), began = uspi_os_clock();
    (void)uspi_activity_begin(&watching.activity, began);
    while (uspi_os_clock() < began + 600 * MS) {
        pass_until(due < began + 600 * MS ? due : began + 600 * MS);
        if (uspi_os_clock() >= due) due = uspi_watching_look(&watching, false);
    }
    uspi_activity_end(&watching.activity, uspi_os_clock(), USPI_WAITING);
    uint64_t lasted = uspi_os_clock() - began;
    pass_until(due);
    (void)uspi_watching_look(&watching, false);
    ck_assert_msg(found.began == 1 && found.ended == 1, "%u hangs began, %u ended", found.began, found.ended);
    ck_assert_uint_ge(found.duration + options.interval, lasted);
    ck_assert_uint_le(found.duration, lasted + options.interval);
    ck_assert_uint_ge(found.samples, 20);
    ck_assert_uint_eq(watching.statistics.captures, found.samples);
    /* All threads but the monitor's. */
    ck_assert_uint_eq(found.threads, THREADS_OF_PROCESS - 1);
    uspi_watching_end(&watching);
    uspi_watching_free(&watching);
    uspi_own_world_end(&own);
    check_clean(&before, "a hang");
}
END_TEST

/* ---- samples ---- */

/* The kernel refuses to suspend one thread. The others must be sampled, and its captures counted as failed. */
START_TEST(test_thread_that_cannot_be_suspended) {
    enum { TICKS = 20 };
    struct usp_sampler_options options;
    struct usp_profile_info info;
    struct usp_profile_run run;
    struct uspi_sampling *sampling;
    struct usp_profile *profile;
    struct uspi_own_world own;
    struct uspi_world world;
    struct usp_frame frames[32];
    struct usp_stack stack;
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.budget_cpu = options.budget_stopped = 0;
    prepare();
    struct fake_account before = fake_account;
    ck_assert_int_eq(uspi_own_world_begin(&own, &world), USP_OK);
    ck_assert_int_eq(uspi_sampling_create(&options, &world, &sampling), USP_OK);
    uint64_t due = uspi_sampling_begin(sampling);
    fake.threads[TARGET].cannot_suspend = true;
    for (unsigned i = 0; i < TICKS; i++) {
        pass_until(due);
        due = uspi_sampling_tick(sampling);
    }
    uspi_sampling_end(sampling);
    uspi_sampling_get_run(sampling, &run);
    ck_assert_uint_eq(run.ticks, TICKS);
    ck_assert_uint_eq(run.failed, TICKS);
    ck_assert_uint_eq(run.captures, (THREADS_OF_PROCESS - 2) * TICKS);
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_profile_get_info(profile, &info);
    ck_assert_uint_eq(info.threads, THREADS_OF_PROCESS - 2);
    ck_assert_uint_eq(info.cpu_ns, (THREADS_OF_PROCESS - 2) * TICKS * MS);
    for (size_t i = 0; i < THREADS_OF_PROCESS; i++) {
        usp_stack_init(&stack, frames, 32);
        int status = usp_profile_heaviest(profile, FAKE_MAIN_ID + i, USP_PROFILE_CPU, &stack, NULL);
        ck_assert_int_eq(status, i == CALLER || i == TARGET ? USP_ERROR_NOT_FOUND : USP_OK);
        if (status == USP_OK) check_frames(&stack, 100 + 100 * i);
    }
    usp_profile_free(profile);
    uspi_sampling_free(sampling);
    uspi_own_world_end(&own);
    check_clean(&before, "samples");
}
END_TEST

/* ---- samples of another process ---- */

#define OTHERS 2u

static void pass_elsewhere_until(uint64_t time) {
    while (uspi_os_clock() < time) fake.now += MS / 10;
    for (size_t i = FIRST_OF_OTHER; i < fake.thread_count; i++) {
        fill_stack(i);
        fake.threads[i].cpu += MS;
    }
}

/* Sampling of another process. */
struct elsewhere {
    struct uspi_process_world process;
    struct uspi_world world;
    struct uspi_sampling *sampling;
};

static int begin_elsewhere(struct elsewhere *elsewhere) {
    struct usp_sampler_options options;
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.process = FAKE_OTHER_PID;
    options.budget_cpu = options.budget_stopped = 0;
    int status = uspi_process_world_begin(&elsewhere->process, FAKE_OTHER_PID, &elsewhere->world, NULL, 0);
    if (status != USP_OK) return status;
    status = uspi_sampling_create(&options, &elsewhere->world, &elsewhere->sampling);
    if (status != USP_OK) uspi_process_world_end(&elsewhere->process);
    return status;
}

static void end_elsewhere(struct elsewhere *elsewhere) {
    uspi_sampling_free(elsewhere->sampling);
    uspi_process_world_end(&elsewhere->process);
}

/* Samples another process for some ticks. Returns the first error. */
static int sample_other(unsigned ticks, struct usp_profile_run *run, struct usp_profile **profile) {
    struct elsewhere elsewhere;
    memset(run, 0, sizeof *run);
    *profile = NULL;
    int status = begin_elsewhere(&elsewhere);
    if (status != USP_OK) return status;
    uint64_t due = uspi_sampling_begin(elsewhere.sampling);
    for (unsigned i = 0; i < ticks; i++) {
        pass_elsewhere_until(due);
        due = uspi_sampling_tick(elsewhere.sampling);
    }
    uspi_sampling_end(elsewhere.sampling);
    uspi_sampling_get_run(elsewhere.sampling, run);
    status = uspi_sampling_read(elsewhere.sampling, 0, UINT64_MAX, 0, profile);
    end_elsewhere(&elsewhere);
    return status;
}

static int check_main(void *context, const struct usp_profile_entry *entry) {
    const bool is_main = (entry->thread->flags & USP_THREAD_MAIN) != 0;
    (void)context;
    ck_assert_int_eq(is_main, entry->thread->thread.id == FAKE_MAIN_ID + FIRST_OF_OTHER);
    return USP_OK;
}

/* Each thread of another process is sampled with its whole stack and its processor time, and everything is returned. */
START_TEST(test_another_process) {
    enum { TICKS = 20 };
    struct usp_profile_info info;
    struct usp_profile_run run;
    struct usp_profile *profile;
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct fake_account before = fake_account;
    ck_assert_int_eq(sample_other(TICKS, &run, &profile), USP_OK);
    ck_assert_uint_eq(run.captures, OTHERS * TICKS);
    ck_assert_uint_eq(run.failed, 0);
    usp_profile_get_info(profile, &info);
    ck_assert_uint_eq(info.threads, OTHERS);
    ck_assert_uint_eq(info.cpu_ns, OTHERS * TICKS * MS);
    for (size_t i = FIRST_OF_OTHER; i < FIRST_OF_OTHER + OTHERS; i++) {
        usp_stack_init(&stack, frames, 32);
        ck_assert_int_eq(usp_profile_heaviest(profile, FAKE_MAIN_ID + i, USP_PROFILE_CPU, &stack, NULL), USP_OK);
        check_frames(&stack, 100 + 100 * i);
    }
    ck_assert_int_eq(usp_profile_visit(profile, check_main, NULL), USP_OK);
    usp_profile_free(profile);
    check_clean(&before, "samples of another process");
}
END_TEST

/* A thread of the process ends, and another one begins; then the process ends. The sampler must notice all three, and
 * keep what it has sampled. */
START_TEST(test_threads_of_another_process_end) {
    struct elsewhere elsewhere;
    struct usp_profile_run run;
    struct fake_account before = fake_account;
    ck_assert_int_eq(begin_elsewhere(&elsewhere), USP_OK);
    struct uspi_sampling *sampling = elsewhere.sampling;
    uint64_t due = uspi_sampling_begin(sampling);
    for (unsigned i = 0; i < 60; i++) {
        pass_elsewhere_until(due);
        if (i == 20) fake.threads[FIRST_OF_OTHER + 1].dead = true;
        if (i == 20) (void)add_thread(FAKE_OTHER, 8192, FRAMES, 700);
        if (i == 40) {
            for (size_t k = FIRST_OF_OTHER; k < fake.thread_count; k++) fake.threads[k].dead = true;
        }
        due = uspi_sampling_tick(sampling);
        ck_assert(uspi_sampling_is_alive(sampling) == (i < 40) || i == 40);
    }
    uspi_sampling_end(sampling);
    uspi_sampling_get_run(sampling, &run);
    ck_assert_uint_eq(run.threads_appeared, 1);
    ck_assert_uint_eq(run.threads_ended, OTHERS + 1);
    ck_assert_uint_ge(run.captures, 60);
    end_elsewhere(&elsewhere);
    check_clean(&before, "another process that ends");
}
END_TEST

/* The process replaces itself by exec: it gets another task and other threads. The sampler must go on with them. */
START_TEST(test_another_process_execs) {
    struct elsewhere elsewhere;
    struct usp_profile_run run;
    struct usp_profile *profile;
    struct usp_frame frames[32];
    struct usp_stack stack;
    make_images();
    struct fake_account before = fake_account;
    ck_assert_int_eq(begin_elsewhere(&elsewhere), USP_OK);
    struct uspi_sampling *sampling = elsewhere.sampling;
    uint64_t due = uspi_sampling_begin(sampling);
    for (unsigned i = 0; i < 300; i++) {
        pass_elsewhere_until(due);
        if (i == 20) {
            for (size_t k = FIRST_OF_OTHER; k < fake.thread_count; k++) fake.threads[k].dead = true;
            (void)add_thread(FAKE_OTHER, 8192, FRAMES, 700);
            fake.other_has_execed = true;
        }
        due = uspi_sampling_tick(sampling);
    }
    ck_assert(uspi_sampling_is_alive(sampling));
    uspi_sampling_end(sampling);
    uspi_sampling_get_run(sampling, &run);
    ck_assert_uint_eq(run.threads_appeared, 1);
    ck_assert_uint_eq(run.threads_ended, OTHERS);
    ck_assert_uint_ge(run.captures, 250);
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_stack_init(&stack, frames, 32);
    const uint64_t id = fake.threads[FIRST_OF_OTHER + OTHERS].id;
    ck_assert_int_eq(usp_profile_heaviest(profile, id, USP_PROFILE_CPU, &stack, NULL), USP_OK);
    check_frames(&stack, 700);
    usp_profile_free(profile);
    end_elsewhere(&elsewhere);
    check_clean(&before, "another process after exec");
}
END_TEST

/* Each call to the kernel and each allocation fails in turn. The sampler must return a status, and everything else. */
START_TEST(test_each_call_for_another_process_fails) {
    static const enum fake_call calls[] = {
        FAKE_TASK_THREADS,     FAKE_TASK_INFO, FAKE_TASK_FOR_PID, FAKE_TASK_SUSPEND, FAKE_THREAD_INFO,
        FAKE_THREAD_GET_STATE, FAKE_VM_READ,   FAKE_VM_REGION,    FAKE_VM_ALLOCATE,  FAKE_MALLOC};
    static const int results[] = {FAILURE, SHORTAGE, TERMINATED};
    unsigned failed = 0;
    for (size_t k = 0; k < sizeof calls / sizeof *calls * 3; k++) {
        bool has_failed = true;
        for (size_t at = 1; has_failed; at++) {
            struct usp_profile_run run;
            struct usp_profile *profile;
            struct fake_account before = fake_account;
            fake.fail_call = calls[k / 3];
            fake.fail_result = results[k % 3];
            fake.fail_at = fake_account.calls[calls[k / 3]] + at;
            fake.counting = true;
            int status = sample_other(3, &run, &profile);
            usp_profile_free(profile);
            fake.counting = false;
            has_failed = fake_account.calls[calls[k / 3]] >= fake.fail_at;
            fake.fail_at = 0;
            check_clean(&before, fake_call_names[calls[k / 3]]);
            ck_assert_int_le(status, USP_OK);
            if (!has_failed) ck_assert_int_eq(status, USP_OK);
            failed += has_failed;
        }
    }
    ck_assert_uint_gt(failed, 50);
}
END_TEST

TCase *case_of_watched(void) {
    TCase *watched = tcase_create("monitor and sampler");
    tcase_add_checked_fixture(watched, start, stop);
    add_tests(watched, test_hang_is_found, test_thread_that_cannot_be_suspended, test_another_process,
              test_threads_of_another_process_end, test_another_process_execs,
              test_each_call_for_another_process_fails);
    return watched;
}
