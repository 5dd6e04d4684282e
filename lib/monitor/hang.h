/* SPDX-License-Identifier: MIT */
/* The hang that a monitor is looking at: what is gathered while it lasts, and the report that is made of it. All memory that is
 * needed while the watched thread stands is taken before. */
#ifndef USPI_HANG_H
#define USPI_HANG_H

#include "lib/sampler/clocked.h"
#include "lib/sampler/world.h"

#include <unspool/monitor.h>

struct uspi_hang {
    struct usp_profile *profile; /* fixed: samples of the watched thread */
    struct usp_profile *threads; /* fixed: one sample of each thread */
    struct usp_frame *frames;    /* of a capture: max_frames */
    uint32_t max_frames;
    uint64_t interval; /* for which the first sample stands */
    uint64_t ids;      /* that were given out */
    /* Of the turn that is late, or hangs: */
    uint64_t id;         /* 0: no hang yet */
    uint64_t wall_start; /* when it began */
    uint64_t samples, first_after;
    uint64_t sampled; /* how long the turn had lasted at the last sample */
    int32_t capture_status;
    struct uspi_clocked clock; /* of the watched thread */
    bool has_stack;            /* its last sample's */
    bool is_severe;
    uint64_t updated;       /* how long it had lasted when it was reported last */
    struct usp_stack stack; /* that was captured last, in `frames` */
};

/* options are complete. USP_OK or USP_ERROR_NO_MEMORY; uspi_hang_free must follow in any case. */
int uspi_hang_init(struct uspi_hang *hang, const struct usp_monitor_options *options, const struct uspi_world *world);
void uspi_hang_free(struct uspi_hang *hang);

/* Learns the images: allocates, and asks the loader. Only while the watched thread waits. */
void uspi_hang_learn_images(struct uspi_hang *hang, const struct usp_images *images);

/* Another turn: everything that was gathered is forgotten. */
void uspi_hang_clear(struct uspi_hang *hang);

/* A sample of the watched thread. Captures it unless it has not run since the last one. *is_new: hang->stack was captured now. */
struct uspi_subject {
    const struct uspi_world *world;
    const struct usp_images *images; /* learned */
    struct usp_thread_info info;     /* of the watched thread */
};
void uspi_hang_sample(struct uspi_hang *hang, const struct uspi_subject *subject, uint64_t busy, bool *is_new);

/* Whether the watched thread has not run since it was captured last. False also when its clock cannot be read. */
bool uspi_hang_stands_still(struct uspi_hang *hang, const struct uspi_subject *subject);

/* One sample of every thread but the calling one. Allocates. */
void uspi_hang_take_threads(struct uspi_hang *hang, const struct uspi_subject *subject);

/* What the report says. uspi_report_end must follow. */
struct uspi_hang_report {
    struct usp_hang hang;
    struct usp_stack first;
};
void uspi_hang_report(const struct uspi_hang *hang, const struct usp_monitor_options *options,
                      const struct uspi_subject *subject, struct uspi_hang_report *report);
void uspi_hang_report_end(struct uspi_hang_report *report);

#endif
