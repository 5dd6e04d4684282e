/* SPDX-License-Identifier: MIT */
/* The hang that a monitor observes: data collected while it lasts, and the report made of it. All memory that is
 * needed while the watched thread hangs is allocated beforehand. */
#ifndef USPI_MONITOR_HANG_H
#define USPI_MONITOR_HANG_H

#include "lib/sampler/clocked.h"
#include "lib/sampler/world.h"

#include <unspool/monitor.h>

struct uspi_hang {
    struct usp_profile *profile; /* fixed size: samples of the watched thread */
    struct usp_profile *threads; /* fixed size: one sample of each thread, or why it has none */
    struct usp_frame *frames;    /* for a capture: max_frames elements */
    uint32_t max_frames;
    uint64_t interval; /* the time that the first sample represents */
    uint64_t ids;      /* ids that were used */
    /* The turn that is late or hangs: */
    uint64_t id;         /* 0: it is not a hang yet */
    uint64_t wall_start; /* when it began */
    uint64_t samples, first_after;
    uint64_t sampled; /* how long the turn had lasted at the last sample */
    int32_t capture_status;
    struct uspi_clocked clock; /* clock of the watched thread */
    bool has_stack;            /* `stack` is the last sample's */
    bool is_severe;
    uint64_t updated;       /* how long it had lasted at the last report */
    struct usp_stack stack; /* the last captured stack, in `frames` */
};

/* options are complete. Returns USP_OK or USP_ERROR_NO_MEMORY; the caller calls uspi_hang_free in both cases. */
int uspi_hang_init(struct uspi_hang *hang, const struct usp_monitor_options *options, const struct uspi_world *world);
void uspi_hang_free(struct uspi_hang *hang);

/* Adds the images: allocates, and uses the loader. Called only while the watched thread waits. */
void uspi_hang_learn_images(struct uspi_hang *hang, const struct usp_images *images);

/* Forgets everything that was collected, for another turn. */
void uspi_hang_clear(struct uspi_hang *hang);

/* The watched thread, and what is needed to sample it. */
struct uspi_subject {
    const struct uspi_world *world;
    const struct usp_images *images; /* images that were added */
    struct usp_thread_info info;     /* the watched thread */
};
/* Takes a sample of the watched thread. Captures it unless it has not run since the last sample. *is_new: hang->stack
 * was captured now. */
void uspi_hang_sample(struct uspi_hang *hang, const struct uspi_subject *subject, uint64_t busy, bool *is_new);

/* Returns whether the watched thread has not run since its last capture. False also when its clock cannot be read. */
bool uspi_hang_stands_still(struct uspi_hang *hang, const struct uspi_subject *subject);

/* Takes one sample of every thread except the calling one. A thread without a stack is listed with its status.
 * Allocates. */
void uspi_hang_take_threads(struct uspi_hang *hang, const struct uspi_subject *subject);

/* The contents of a report. */
struct uspi_hang_report {
    struct usp_hang hang;
    struct usp_stack first;
};
/* Makes a report of the hang. The caller calls uspi_hang_report_end. */
void uspi_hang_report(const struct uspi_hang *hang, const struct usp_monitor_options *options,
                      const struct uspi_subject *subject, struct uspi_hang_report *report);
void uspi_hang_report_end(struct uspi_hang_report *report);

#endif
