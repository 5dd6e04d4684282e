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

TCase *case_of_watched(void) {
    TCase *watched = tcase_create("monitor and sampler");
    tcase_add_checked_fixture(watched, start, stop);
    tcase_set_timeout(watched, 60);
    add_tests(watched, test_hang_is_found, test_thread_that_cannot_be_suspended);
    return watched;
}
