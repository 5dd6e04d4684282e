/* SPDX-License-Identifier: MIT */
/* The capturing state of this process on Linux, the only one of this layer: what usp_prepare sets up, what requesters
 * and signal handlers share, and what each thread knows about itself. request.h and signal.h explain the parts.
 * lib/images/own_images.c and lib/capture/state.h have the state of their layers.
 *
 * No lock that a signal handler would take protects it. A child after a fork starts afresh (start_afresh in stop.c),
 * whatever the parent's other threads were doing, because every important change is one atomic step. usp_shutdown
 * resets each part; comments name those that stay. */
#ifndef USPI_OS_LINUX_CAPTURING_H
#define USPI_OS_LINUX_CAPTURING_H

#include "lib/os/linux/linux.h"

struct uspi_request;
struct uspi_posix_crash; /* lib/os/posix/crash.h */

/* Maximum number of requests at one time. Each capturing thread has one. */
#define USPI_REQUESTS 1024u
/* Maximum number of the program's signal actions that our handler can replace. */
#define USPI_LAYERS 8u
/* Maximum number of threads that are remembered because they could not answer. */
#define USPI_REMEMBERED 64u
/* Number of thread groups, by thread id. The handlers of a group are counted together. */
#define USPI_HANDLER_GROUPS 64u

/* A lock that a thread holds for a bounded time. Other threads wait for it until a deadline. 0: free; otherwise the
 * holder's thread id, and a bit that is set when another thread waits. */
struct uspi_turn {
    _Atomic(uint32_t) word;
};

/* The program's action for our signal before our handler replaced it. Immutable once it is used, also after
 * usp_shutdown: a handler of the program that was installed later may still call ours. */
struct uspi_signal_layer {
    _Atomic(bool) is_used;
    struct sigaction below;
};

struct uspi_capturing {
    _Atomic(bool) is_prepared;
    /* usp_prepare's options. */
    _Atomic(uint64_t) timeout;
    _Atomic(uint32_t) max_threads, stack_copy;
    /* Cached id of this process, for the requester; 0 before usp_prepare. Stays: it tells start_afresh that there may
     * be requests. */
    _Atomic(pid_t) pid;
    /* The top of the main thread's stack. Written when the library is loaded, and stays. */
    uintptr_t main_top;

    _Atomic(int) signal; /* signal that requests are sent with; 0: none */
    struct uspi_signal_layer layers[USPI_LAYERS];

    struct uspi_turn changes;   /* held by the thread that prepares, shuts down or reinstalls our handler */
    struct uspi_turn snapshots; /* held by the thread that stops all threads */

    /* Requests, by place. Place 0 is the snapshot's. Fields that handlers search are separate from the others. */
    _Atomic(uint32_t) places;                             /* number of places that were ever used */
    _Atomic(uint32_t) asked[USPI_REQUESTS];               /* the thread that is asked, USPI_EVERYONE, or 0: none */
    _Atomic(uint8_t) owners[USPI_REQUESTS];               /* USPI_OWNED, USPI_ABANDONED; 0: free */
    struct uspi_request *_Atomic requests[USPI_REQUESTS]; /* NULL: none yet */

    /* Running handlers of ours, by thread group. While any runs, no request's memory is unmapped. */
    _Atomic(uint32_t) handlers[USPI_HANDLER_GROUPS];
    struct uspi_request *_Atomic retired; /* requests to unmap when no handler runs */
    _Atomic(size_t) mapped;               /* bytes of all requests */

    _Atomic(pid_t) unanswering[USPI_REMEMBERED]; /* threads that could not answer the last time; 0: none */
    _Atomic(uint32_t) next_unanswering;

    struct uspi_posix_crash *_Atomic crash; /* NULL: crashes were never recorded. Stays. */
    _Atomic(int) crash_place;               /* place of the crash's request; 0: none */
};

#define USPI_EVERYONE  UINT32_MAX
#define USPI_OWNED     1u
#define USPI_ABANDONED 2u

extern struct uspi_capturing uspi_capturing;

/* Returns the handler count for a thread's group. */
static inline _Atomic(uint32_t) *uspi_handlers_of(pid_t tid) {
    return &uspi_capturing.handlers[(uint32_t)tid % USPI_HANDLER_GROUPS];
}

/* Takes the lock. Returns false when the deadline (usp_clock) has passed, or the calling thread holds it. If the
 * holder has ended, the lock is taken over. Async-signal-safe. */
bool uspi_turn_take(struct uspi_turn *turn, uint64_t deadline);
void uspi_turn_give(struct uspi_turn *turn);

/* Query, add and remove threads that are remembered because they could not answer. Async-signal-safe. */
bool uspi_is_unanswering(pid_t tid);
void uspi_remember_unanswering(pid_t tid);
void uspi_forget_unanswering(pid_t tid);
void uspi_forget_all_unanswering(void);

/* What the calling thread knows about itself, besides uspi_own_stack (os.h). Read and written by that thread and its
 * signal handlers only; stays until the thread ends. */
struct uspi_capturing_thread {
    /* With respect to the program's signals (lib/os/linux/undisturbed.c): while calls > 0, the thread is in a capture.
     * A call of the program's handler for our signal that becomes due then is deferred until the capture ends. */
    volatile unsigned calls;
    volatile bool owed;
    volatile unsigned handled; /* how often our handler ran */
    bool knows_stack;          /* uspi_own_stack has the bounds that libc reports */
    uintptr_t room_at; /* an address at which there was enough room below, so that later handlers need no probe there */
};
extern _Thread_local USPI_TLS_MODEL struct uspi_capturing_thread uspi_capturing_thread;

#endif
