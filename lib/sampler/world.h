/* SPDX-License-Identifier: MIT */
/* What a sampler and a monitor ask of the world: clocks, threads, captures. This process as it is, another process, or a test's
 * script. No decision stands here. */
#ifndef USPI_WORLD_H
#define USPI_WORLD_H

#include "lib/os/os.h"

#include <unspool/snapshot.h>

/* More would each stand still for too long while the others are copied. */
#define USPI_STOPPED_TOGETHER 16u

struct uspi_world {
    void *context;

    /* By usp_clock; and ns since 1970-01-01 UTC, 0 unknown. */
    uint64_t (*clock)(void *context);
    uint64_t (*wall_clock)(void *context);

    /* The thread that samples sleeps until a time or until `wake`. Whether it was woken. */
    bool (*sleep)(void *context, uint64_t deadline);
    void (*wake)(void *context);

    /* The processor time that the calling thread has used, and other work for its sake. */
    uint64_t (*own_cpu)(void *context);

    /* The processor times of many threads are going to be asked for. NULL: each question is one of its own. */
    void (*begin_look)(void *context);

    /* The processor time of a thread, as uspi_os_thread_cpu. */
    int (*thread_cpu)(void *context, const struct usp_thread *thread, uint64_t *ns);

    /* As uspi_os_listing_count, uspi_os_listing_read, uspi_os_thread_describe. */
    int (*count_threads)(void *context, size_t *count);
    int (*list_threads)(void *context, struct usp_thread *threads, size_t capacity, size_t *count);
    int (*describe)(void *context, const struct usp_thread *thread, struct usp_thread_info *info);
    void (*release)(void *context, struct usp_thread *thread);

    /* Stops some threads together, which are captured next; up to USPI_STOPPED_TOGETHER. NULL: each is stopped by its capture. */
    int (*stop_together)(void *context, const struct usp_thread *threads, size_t count);

    /* As usp_capture_thread. */
    int (*capture)(void *context, const struct usp_thread *thread, const struct usp_unwind_options *options,
                   struct usp_stack *stack);

    /* The images in which a captured stack's addresses lie, until the next call; NULL: not known. */
    const struct usp_images *(*images)(void *context);

    /* All threads at one moment, as usp_snapshot_create_self. NULL: there is no such call. */
    int (*all_threads)(void *context, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot);

    /* Whether a debugger holds the process. */
    bool (*is_traced)(void *context);
};

/* This process. */
struct uspi_own_world {
    struct uspi_event event; /* the first field */
    struct uspi_os_listing listing;
    struct usp_images *images;
    uint64_t generation; /* of the images */
};

/* Gets ready: calls usp_prepare with its defaults where that has not been done. USP_OK, or what that returned;
 * uspi_own_world_end must follow on USP_OK. *own must stay where it is. */
int uspi_own_world_begin(struct uspi_own_world *own, struct uspi_world *world);
void uspi_own_world_end(struct uspi_own_world *own);

/* Another process. */
struct uspi_process_world {
    struct uspi_event event; /* the first field */
    struct uspi_other_world *inner;
};

/* `error` as in usp_sampler_create. USP_OK, or why the process cannot be sampled; uspi_process_world_end must follow on USP_OK.
 * *process must stay where it is. */
int uspi_process_world_begin(struct uspi_process_world *process, int64_t pid, struct uspi_world *world, char *error,
                             size_t error_size);
void uspi_process_world_end(struct uspi_process_world *process);

/* What both have in common: the clocks, and how the thread that samples sleeps. The context begins with the event. */
void uspi_world_describe_time(struct uspi_world *world);
uint64_t uspi_world_own_cpu(void *context);

#endif
