/* SPDX-License-Identifier: MIT */
/* Stopping many threads of a task at one moment, and the memory for it. One thread of this process is stop.c's. */
#ifndef USPI_OS_DARWIN_STOP_H
#define USPI_OS_DARWIN_STOP_H

#include "lib/os/darwin/window.h"

/* A window is opened so often at most, each time with more memory; then the innermost parts have to do. */
#define USPI_DARWIN_WINDOWS 4u

/* Room for copies. {NULL, 0} is none. */
struct uspi_arena {
    uint8_t *bytes;
    size_t size;
};

/* Makes it at least so large; what was in it is lost. False: it is as it was. Not while threads are stopped. */
bool uspi_arena_grow(struct uspi_arena *arena, size_t size);
void uspi_arena_free(struct uspi_arena *arena);

/* What a capture of a task's threads is to do. */
struct uspi_collection {
    task_t task;
    bool is_own;              /* this process: the calling thread is not stopped */
    uint64_t only;            /* a thread's id; 0: all */
    uint64_t timeout;         /* ns */
    struct uspi_arena *arena; /* grows as needed */
};

/* Stops, copies, resumes; fills threads, stopped_ns, live and what is owned. The task's right, if it is not this one's,
 * goes over to *out on USP_OK. USP_ERROR_NO_THREAD when `only` is not there. */
int uspi_darwin_collect(const struct uspi_collection *collection, struct uspi_stopped_process *out);

#endif
