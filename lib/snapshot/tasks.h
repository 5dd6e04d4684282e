/* SPDX-License-Identifier: MIT */
/* Searches memory for Swift tasks, in a live process or a core. */
#ifndef USPI_SNAPSHOT_TASKS_H
#define USPI_SNAPSHOT_TASKS_H

#include "lib/snapshot/swift_runtime.h"
#include "lib/unwind/frame/walk.h"

struct usp_tasks {
    struct usp_tasks_options options; /* options of the search */
    struct usp_tasks_info info;
    struct usp_task *list;
    size_t *first_frames; /* index in `frames` of each task's first frame */
    struct usp_frame *frames;
    size_t capacity, first_capacity, frame_count, frame_capacity;
};

/* The input of a search. */
struct uspi_task_search {
    struct uspi_walk walk; /* of the process: walk.target.memory is searched, code may be read through a cache */
    const struct uspi_swift_runtime *runtime;
    const struct usp_images *images; /* images whose code tasks run */
    struct usp_memory_range *ranges; /* the caller's; the search sorts them by size */
    size_t range_count;
    const struct usp_tasks_options *options; /* complete */
};

/* Fills *tasks, whose lists are empty. Returns USP_OK or USP_ERROR_NO_MEMORY; the caller calls uspi_tasks_clear in both
 * cases. */
int uspi_tasks_search(struct uspi_task_search *search, struct usp_tasks *tasks);

/* Frees the lists. */
void uspi_tasks_clear(struct usp_tasks *tasks);

#endif
