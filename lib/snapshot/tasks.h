/* SPDX-License-Identifier: MIT */
/* The search for Swift tasks in memory, whatever process or bytes it is of. */
#ifndef USPI_TASKS_H
#define USPI_TASKS_H

#include "lib/snapshot/swift_runtime.h"
#include "lib/unwind/frame/walk.h"

struct uspi_range {
    usp_addr low;
    uint64_t size;
};

struct usp_tasks {
    struct usp_tasks_options options; /* as they were searched for */
    struct usp_tasks_info info;
    struct usp_task *list;
    size_t *first_frames; /* of each task, in `frames` */
    struct usp_frame *frames;
    size_t room, first_room, frame_count, frame_room;
};

/* What is searched. */
struct uspi_task_search {
    struct uspi_walk walk; /* of the process: walk.target.memory is what is searched, the code may be read by a cache */
    const struct uspi_swift_runtime *runtime;
    const struct usp_images *images; /* whose code tasks run */
    struct uspi_range *ranges;       /* the caller's; they are put in order of their sizes */
    size_t range_count;
    const struct usp_tasks_options *options; /* complete */
};

/* Fills *tasks, whose lists are empty. They are to be freed by uspi_tasks_clear, whatever is returned: USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_tasks_search(struct uspi_task_search *search, struct usp_tasks *tasks);

/* Frees the lists. */
void uspi_tasks_clear(struct usp_tasks *tasks);

#endif
