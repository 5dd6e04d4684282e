/* SPDX-License-Identifier: MIT */
/* The window: stops threads of a task, copies their registers and stacks, and resumes them. stop.c and collect.c decide
 * which threads are stopped, with what memory, and what becomes of the copies.
 *
 *     suspend … suspend │ registers … registers │ extents, copies │ other stacks │ resume … resume
 *
 * A thread that handles a signal on an alternate stack has two live stacks. The frame that the kernel made for the
 * signal says where the other one is. That frame is in the copy of the first stack, so the search costs other threads
 * no call.
 *
 * Another task is suspended as a whole where the headers allow that. Then the kernel resumes it if this process ends
 * meanwhile (xnu osfmk/kern/task.c, task_suspension_notify).
 *
 * Between the first suspension and the last resumption there are only calls to the kernel: thread_suspend,
 * thread_get_state, a read of the word that contains a thread's queue, the regions of stack pointers, one bulk read for
 * each stack, reads of the locks that threads wait for, the clock, thread_resume. There is no allocation, no lock, no
 * call of the loader, of Objective-C or of libpthread. So the locks that a stopped thread holds do not matter. */
#ifndef USPI_OS_DARWIN_WINDOW_H
#define USPI_OS_DARWIN_WINDOW_H

#include "lib/os/darwin/darwin.h"

/* The live part of a stack. */
struct uspi_live {
    usp_addr sp;         /* 0: there is no such stack */
    usp_addr from, high; /* the live part; from == high: none */
    usp_addr low;        /* beginning of the range that contains it */
    bool whole;          /* the stack surely ends at high */
    size_t offset;       /* offset of its copy in the arena */
    size_t copied;       /* number of copied bytes */
};

/* A thread that is stopped, or was. */
struct uspi_held {
    thread_act_t port;                    /* input: the caller's right */
    struct uspi_darwin_thread_data place; /* input: the thread's data, which libpthread puts above its stack */
    int32_t status;                       /* USP_OK: the registers, and as much of the stack as fit, were copied */
    bool suspended;
    bool on_queue; /* its queue is still the one in `place` */
    struct usp_registers registers;
    struct uspi_lock_wait lock; /* the lock that it waits for, with its owner */
    uint32_t self;              /* private: the name of its port in its task; 0: not known */
    struct uspi_live stacks[2]; /* the current one, and the one that a signal interrupted */
    uint64_t began, ended;
};

struct uspi_window {
    task_t task;
    bool is_own;               /* this process */
    struct uspi_held *threads; /* never the calling thread */
    size_t count;
    uint8_t *arena;
    size_t arena_size;
    uint64_t deadline;  /* usp_clock value; a thread that is not stopped by then gets USP_ERROR_TIMEOUT */
    bool all_that_fits; /* copy as much as fits, even if that is not all */
    bool is_live;       /* private: stacks are read where they are */
    uint64_t own_id;    /* private: the calling thread, if it is one of the task's */
    uint32_t own_port;  /* private */
    mach_port_t token;  /* private: of a task that is suspended as a whole */
    /* Output: */
    size_t need;         /* bytes for all live parts */
    size_t copied;       /* bytes of the arena in use */
    uint64_t stopped_ns; /* ns from the first thread's stop to the last one's resumption */
};

/* Opens the window and closes it. If the arena is too small (need > arena_size) and all_that_fits is not set, the
 * copies are incomplete: the caller gets more memory and calls this again. It is called between
 * uspi_os_undisturbed_begin and _end, because a handler of the calling thread would run while others are stopped. Not
 * async-signal-safe. */
void uspi_darwin_window(struct uspi_window *window);

/* Stops the threads, and finds their registers and the live parts of their stacks without copying them: stacks[].copied
 * is the size of the live part. uspi_darwin_window_release resumes the threads. The crash kit calls these in a signal
 * handler: they call the kernel only. */
void uspi_darwin_window_hold(struct uspi_window *window);
void uspi_darwin_window_release(struct uspi_window *window);

/* Completes a copy with a window's result for a thread. `arena` is the window's arena, or a copy of it. */
void uspi_darwin_fill_copy(struct uspi_thread_copy *copy, const struct uspi_held *held, const uint8_t *arena);

#endif
