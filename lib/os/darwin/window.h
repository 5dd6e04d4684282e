/* SPDX-License-Identifier: MIT */
/* The window: threads of a task are stopped, their registers and stacks are copied, they run again. Which are stopped, with
 * what memory, and what becomes of the copies is stop.c's and collect.c's.
 *
 *     suspend … suspend │ registers … registers │ extents, copies │ other stacks │ resume … resume
 *
 * A thread that handles a signal on an alternate stack has a second live one. The frame that the kernel made for the signal
 * tells where, and lies in the first one's copy: it is looked for there, and costs other threads no call.
 *
 * Another task is suspended as a whole where the headers allow that, so that the kernel resumes it should this process end
 * meanwhile (xnu osfmk/kern/task.c, task_suspension_notify).
 *
 * Between the first suspension and the last resumption there are calls to the kernel only: thread_suspend,
 * thread_get_state, a read of the word that holds a thread's queue, the regions that hold stack pointers, one bulk read for
 * each stack, the clock, thread_resume. No allocation, no lock, no loader, no Objective-C, no libpthread: whatever a stopped thread holds does not matter. */
#ifndef USPI_OS_DARWIN_WINDOW_H
#define USPI_OS_DARWIN_WINDOW_H

#include "lib/os/darwin/darwin.h"

/* The live part of a stack. */
struct uspi_live {
    usp_addr sp;         /* 0: there is no such stack */
    usp_addr from, high; /* from == high: none; */
    usp_addr low;        /* and where the range begins that holds it */
    bool whole;          /* the stack surely ends at high */
    size_t offset;       /* of its copy in the arena, of */
    size_t copied;       /* bytes */
};

/* A thread that is stopped, or was. */
struct uspi_held {
    thread_act_t port;              /* in: the caller's right */
    struct uspi_darwin_place place; /* in: libpthread puts a thread's data above its stack */
    int32_t status;                 /* USP_OK: the registers and as much of the stack as was copied are there */
    bool suspended;
    bool on_queue; /* its queue is the one in `place` still */
    struct usp_registers registers;
    struct uspi_live stacks[2]; /* on which it stands, and from which a signal took it to that */
    uint64_t began, ended;
};

struct uspi_window {
    task_t task;
    bool is_own;               /* this process */
    struct uspi_held *threads; /* never the calling thread */
    size_t count;
    uint8_t *arena;
    size_t arena_size;
    uint64_t deadline;  /* usp_clock value: a thread that is not stopped by then gets USP_ERROR_TIMEOUT */
    bool all_that_fits; /* copy what there is room for, even when not all of it fits */
    mach_port_t token;  /* the window's own: of a task that is suspended as a whole */
    /* out: */
    size_t need;         /* bytes for all live parts */
    size_t copied;       /* bytes of the arena */
    uint64_t stopped_ns; /* from the first thread stopped to the last one running again */
};

/* Opens the window and closes it. When the arena is too small (need > arena_size) and not all_that_fits, the copies are not
 * complete: get more memory and open it again. A handler of the calling thread
 * would run while others are stopped: between uspi_os_undisturbed_begin and _end. Not async-signal-safe. */
void uspi_darwin_window(struct uspi_window *window);

/* Completes a copy by what a window found of a thread. `arena` is where its arena is, or a copy of that. */
void uspi_darwin_fill_copy(struct uspi_thread_copy *copy, const struct uspi_held *held, const uint8_t *arena);

#endif
