/* SPDX-License-Identifier: MIT */
/* The interface of samplers and monitors to clocks, threads and captures. It is implemented for this process, for
 * another process, and by tests as a script. It makes no decisions. */
#ifndef USPI_SAMPLER_WORLD_H
#define USPI_SAMPLER_WORLD_H

#include "lib/os/os.h"
#include "lib/os/running.h"

#include <unspool/snapshot.h>

/* Maximum number of threads that are stopped together. With more, each would stay stopped too long while the others
 * are copied. */
#define USPI_STOPPED_TOGETHER 16u

struct uspi_world {
    void *context;

    /* clock: the time as usp_clock. wall_clock: ns since 1970-01-01 UTC, 0: unknown. */
    uint64_t (*clock)(void *context);
    uint64_t (*wall_clock)(void *context);

    /* Makes the sampling thread sleep until a time or until `wake` is called. Returns whether it was woken. */
    bool (*sleep)(void *context, uint64_t deadline);
    void (*wake)(void *context);

    /* Returns the processor time of the calling thread and of other threads that worked for it. */
    uint64_t (*own_cpu)(void *context);

    /* Announces that the processor times of many threads will be read. NULL: not needed. */
    void (*begin_look)(void *context);

    /* Gives a thread's processor time, like uspi_os_thread_cpu. */
    int (*thread_cpu)(void *context, const struct usp_thread *thread, uint64_t *ns);

    /* Like uspi_os_listing_count, uspi_os_listing_read and uspi_os_thread_describe. */
    int (*count_threads)(void *context, size_t *count);
    int (*list_threads)(void *context, struct usp_thread *threads, size_t capacity, size_t *count);
    int (*describe)(void *context, const struct usp_thread *thread, struct usp_thread_info *info);
    void (*release)(void *context, struct usp_thread *thread);

    /* Stops up to USPI_STOPPED_TOGETHER threads together, which are captured next. NULL: each capture stops its
     * thread. */
    int (*stop_together)(void *context, const struct usp_thread *threads, size_t count);

    /* Like usp_capture_thread. */
    int (*capture)(void *context, const struct usp_thread *thread, const struct usp_unwind_options *options,
                   struct usp_stack *stack);

    /* Returns what the thread that was captured last did when it was stopped. NULL: not known. */
    enum uspi_running (*running)(void *context);

    /* Returns the images that contain the last captured stack's addresses, valid until the next call; NULL: not
     * known. */
    const struct usp_images *(*images)(void *context);

    /* Captures all threads at one moment, like usp_snapshot_create_self. NULL: not supported. */
    int (*all_threads)(void *context, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot);

    /* Returns whether a debugger traces the process. */
    bool (*is_traced)(void *context);
};

/* The world of this process. */
struct uspi_own_world {
    struct uspi_event event; /* the first field */
    struct uspi_os_listing listing;
    struct usp_images *images;
    uint64_t generation; /* of the images */
};

/* Prepares the world: calls usp_prepare with its defaults if necessary. Returns USP_OK, or the result of usp_prepare.
 * After USP_OK the caller calls uspi_own_world_end. *own must not be moved. */
int uspi_own_world_begin(struct uspi_own_world *own, struct uspi_world *world);
void uspi_own_world_end(struct uspi_own_world *own);

/* The world of another process. */
struct uspi_process_world {
    struct uspi_event event; /* the first field */
    struct uspi_other_world *inner;
};

/* Prepares the world. `error` as in usp_sampler_create. Returns USP_OK, or why the process cannot be sampled. After
 * USP_OK the caller calls uspi_process_world_end. *process must not be moved. */
int uspi_process_world_begin(struct uspi_process_world *process, int64_t pid, struct uspi_world *world, char *error,
                             size_t error_size);
void uspi_process_world_end(struct uspi_process_world *process);

/* Functions that both worlds share: the clocks, and the sleep of the sampling thread. The context begins with the
 * event. */
void uspi_world_describe_time(struct uspi_world *world);
uint64_t uspi_world_own_cpu(void *context);

#endif
