/* SPDX-License-Identifier: MIT */
/* Implements hang.h: samples of the watched thread, and reports made of them. */
#include "lib/monitor/hang.h"

#include "lib/profile/profile.h"

#include <stdlib.h>
#include <string.h>

static int make_profile(const struct usp_monitor_options *options, const struct usp_images *images, uint32_t flags,
                        struct usp_profile **profile) {
    struct usp_profile_options wanted;
    usp_profile_options_init(&wanted);
    wanted.flags = flags;
    /* Half of the memory is for samples, half for one stack of each thread. */
    wanted.memory = options->memory / 2;
    wanted.pid = uspi_os_process_id();
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if ((image->flags & USP_IMAGE_MAIN) != 0) wanted.program = image->path;
    }
    return usp_profile_create(&wanted, profile);
}

int uspi_hang_init(struct uspi_hang *hang, const struct usp_monitor_options *options, const struct uspi_world *world) {
    const struct usp_images *images = world->images(world->context);
    memset(hang, 0, sizeof *hang);
    hang->max_frames = options->max_frames;
    hang->interval = options->interval;
    hang->frames = malloc(options->max_frames * sizeof *hang->frames);
    if (hang->frames == NULL) return USP_ERROR_NO_MEMORY;
    int status = make_profile(options, images, USP_PROFILE_FIXED, &hang->profile);
    if (status == USP_OK) {
        status = make_profile(options, images, USP_PROFILE_FIXED | USP_PROFILE_TOTALS, &hang->threads);
    }
    if (status == USP_OK) uspi_hang_learn_images(hang, images);
    return status;
}

void uspi_hang_free(struct uspi_hang *hang) {
    usp_profile_free(hang->profile);
    usp_profile_free(hang->threads);
    free(hang->frames);
    memset(hang, 0, sizeof *hang);
}

void uspi_hang_learn_images(struct uspi_hang *hang, const struct usp_images *images) {
    uspi_profile_keep_images(hang->profile, images);
    uspi_profile_keep_images(hang->threads, images);
}

void uspi_hang_clear(struct uspi_hang *hang) {
    uspi_profile_clear(hang->profile);
    uspi_profile_clear(hang->threads);
    hang->id = hang->wall_start = hang->samples = hang->first_after = hang->sampled = hang->updated = 0;
    hang->capture_status = USP_OK;
    hang->has_stack = hang->is_severe = false;
}

static int capture(struct uspi_hang *hang, const struct uspi_subject *subject) {
    const struct uspi_world *world = subject->world;
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.tail = hang->max_frames / 4;
    options.async = 1;
    usp_stack_init(&hang->stack, hang->frames, hang->max_frames);
    int status = world->capture(world->context, &subject->info.thread, &options, &hang->stack);
    if (status == USP_OK && hang->stack.count == 0) status = USP_ERROR_UNREADABLE;
    if (status == USP_OK) uspi_clocked_captured(&hang->clock);
    return status;
}

void uspi_hang_sample(struct uspi_hang *hang, const struct uspi_subject *subject, uint64_t busy, bool *is_new) {
    const struct uspi_world *world = subject->world;
    uint64_t cpu = hang->clock.cpu, ran;
    bool moved;
    int status = world->thread_cpu(world->context, &subject->info.thread, &cpu);
    ran = uspi_clocked_look(&hang->clock, cpu, &moved);
    *is_new = status != USP_OK || moved || !hang->has_stack;
    if (*is_new) {
        hang->capture_status = capture(hang, subject);
        if (hang->capture_status != USP_OK) {
            *is_new = false;
            return;
        }
    }
    /* What the thread did before the first sample is unknown: that sample stands for at most one interval. */
    if (hang->samples == 0) hang->sampled = busy > hang->interval ? busy - hang->interval : 0;
    const struct usp_profile_sample sample = {.thread = &subject->info,
                                              .stack = *is_new ? &hang->stack : NULL,
                                              .images = subject->images,
                                              .time = world->clock(world->context),
                                              .wall = busy > hang->sampled ? busy - hang->sampled : 0,
                                              .cpu = hang->samples > 0 ? ran : 0};
    hang->has_stack = usp_profile_add(hang->profile, &sample) == USP_OK;
    if (!hang->has_stack) return;
    if (hang->samples++ == 0) {
        hang->first_after = busy;
        uspi_profile_mark(hang->profile, subject->info.thread.id);
    }
    hang->sampled = busy;
}

bool uspi_hang_stands_still(struct uspi_hang *hang, const struct uspi_subject *subject) {
    uint64_t cpu;
    bool moved;
    if (subject->world->thread_cpu(subject->world->context, &subject->info.thread, &cpu) != USP_OK) return false;
    (void)uspi_clocked_look(&hang->clock, cpu, &moved);
    return !moved;
}

void uspi_hang_take_threads(struct uspi_hang *hang, const struct uspi_subject *subject) {
    const struct uspi_world *world = subject->world;
    const struct usp_snapshot_thread *thread;
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.max_frames = hang->max_frames;
    options.unwind.tail = hang->max_frames / 4;
    if (world->all_threads == NULL || world->all_threads(world->context, &options, &snapshot) != USP_OK) return;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        /* A thread that has ended is not listed. */
        if (thread->status == USP_ERROR_NO_THREAD || (thread->info.flags & USP_THREAD_REQUESTER) != 0) continue;
        if (thread->status != USP_OK || thread->stack.count == 0) {
            const int32_t status = thread->status != USP_OK ? thread->status : (int32_t)USP_ERROR_UNREADABLE;
            uspi_profile_list(hang->threads, &thread->info, status);
            continue;
        }
        const struct usp_profile_sample sample = {
            .thread = &thread->info, .stack = &thread->stack, .images = subject->images};
        (void)usp_profile_add(hang->threads, &sample);
    }
    usp_snapshot_free(snapshot);
}

void uspi_hang_report(const struct uspi_hang *hang, const struct usp_monitor_options *options,
                      const struct uspi_subject *subject, struct uspi_hang_report *report) {
    memset(report, 0, sizeof *report);
    report->hang = (struct usp_hang){.id = hang->id,
                                     .flags = hang->is_severe ? (uint32_t)USP_HANG_SEVERE : 0,
                                     .pid = hang->profile->options.pid,
                                     .program = hang->profile->program,
                                     .thread = subject->info.thread,
                                     .wall_start = hang->wall_start,
                                     .interval = options->interval,
                                     .samples = hang->samples,
                                     .first_after = hang->first_after,
                                     .profile = hang->profile,
                                     .threads = hang->threads,
                                     .capture_status = hang->capture_status};
    struct usp_profile *clone = uspi_profile_clone(hang->profile);
    if (clone != NULL && uspi_profile_marked(clone, &report->first) == USP_OK) report->hang.first = &report->first;
    usp_profile_free(clone);
}

void uspi_hang_report_end(struct uspi_hang_report *report) { free(report->first.frames); }
