/* SPDX-License-Identifier: MIT */
/* Stops many threads of a task at one moment, and reserves the memory for it. stop.c stops one thread of this
 * process. */
#ifndef USPI_OS_DARWIN_STOP_H
#define USPI_OS_DARWIN_STOP_H

#include "lib/os/darwin/window.h"

/* Maximum number of windows for one capture, each with more memory than the one before. The last one copies the
 * innermost parts that fit. */
#define USPI_DARWIN_WINDOWS 4u

/* Memory for copies. {NULL, 0}: none. */
struct uspi_arena {
    uint8_t *bytes;
    size_t size;
};

/* Makes an arena at least `size` bytes large. Its contents are lost if it grows. Returns false, without any change,
 * when memory is exhausted. Not called while threads are stopped. */
bool uspi_arena_grow(struct uspi_arena *arena, size_t size);
void uspi_arena_free(struct uspi_arena *arena);

/* How a task's threads are captured. */
struct uspi_collection {
    task_t task;
    bool is_own;              /* this process: the calling thread is not stopped */
    uint64_t only;            /* a thread's id; 0: all */
    uint64_t timeout;         /* ns */
    struct uspi_arena *arena; /* grows as needed */
};

/* Opens windows for given threads, with more memory each time, until their stacks are copied as a whole or the arena
 * cannot grow. held: as in struct uspi_window. The copies are in the collection's arena. */
void uspi_darwin_windows(const struct uspi_collection *collection, struct uspi_held *held, size_t count,
                         struct uspi_window *window);

/* Stops the threads, copies and resumes them. Fills in threads, stopped_ns, live and the owned memory. On USP_OK *out
 * takes over the right to another task. Returns USP_ERROR_NO_THREAD when `only` does not exist. */
int uspi_darwin_collect(const struct uspi_collection *collection, struct uspi_stopped_process *out);

#endif
