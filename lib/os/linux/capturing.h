/* SPDX-License-Identifier: MIT */
/* The capturing state of this process: everything that usp_prepare sets up and that requesters and signal handlers share.
 * One object; request.h and signal.h explain what its parts mean to each other.
 *
 * Nothing here is guarded by a lock that a signal handler would take. A child after a fork begins afresh (start_afresh in
 * stop.c), whatever the parent's other threads were doing: every change that matters is one atomic step. */
#ifndef USPI_LINUX_CAPTURING_H
#define USPI_LINUX_CAPTURING_H

#include "lib/os/linux/linux.h"

struct uspi_request;

/* Requests that there can be at one time: each thread that captures has one. */
#define USPI_REQUESTS 1024u
/* Actions of the program's that our handler can have stood in for. */
#define USPI_LAYERS 8u
/* Threads that are remembered because they could not answer. */
#define USPI_REMEMBERED 64u
/* Groups of threads, by their ids, whose handlers are counted together. */
#define USPI_HANDLER_GROUPS 64u

/* A lock that a thread holds for a bounded time, and that others wait for until a deadline. 0: free; else the holder's
 * thread id, and a bit that says that another thread waits. */
struct uspi_turn {
    _Atomic(uint32_t) word;
};

/* What the program had installed for our signal when our handler took its place. Never changed once it is used. */
struct uspi_signal_layer {
    _Atomic(bool) is_used;
    struct sigaction below;
};

struct uspi_capturing {
    _Atomic(bool) is_prepared;
    /* usp_prepare's options. */
    _Atomic(uint64_t) timeout;
    _Atomic(uint32_t) max_threads, stack_copy;
    /* The requester's id of this process, so that it need not be asked for each time; 0 before usp_prepare. */
    _Atomic(pid_t) pid;

    _Atomic(int) signal; /* by which threads are asked; 0: none */
    struct uspi_signal_layer layers[USPI_LAYERS];

    struct uspi_turn changes;   /* of the thread that prepares, shuts down or puts our handler back */
    struct uspi_turn snapshots; /* of the thread that stops all threads */

    /* Requests, by place. Place 0 is that of the snapshot. What handlers search is apart from what they do not. */
    _Atomic(uint32_t) places;                             /* those that were ever used */
    _Atomic(uint32_t) asked[USPI_REQUESTS];               /* the thread that is asked, USPI_EVERYONE, 0: none */
    _Atomic(uint8_t) owners[USPI_REQUESTS];               /* USPI_OWNED, USPI_ABANDONED; 0: free */
    struct uspi_request *_Atomic requests[USPI_REQUESTS]; /* NULL: none yet */

    /* Handlers of ours that run now, by their threads' groups. While there are any, no request's memory is unmapped. */
    _Atomic(uint32_t) handlers[USPI_HANDLER_GROUPS];
    struct uspi_request *_Atomic retired; /* to be unmapped when there are none */
    _Atomic(size_t) mapped;               /* bytes of all requests */

    _Atomic(pid_t) unanswering[USPI_REMEMBERED]; /* threads that could not answer the last time; 0: none */
    _Atomic(uint32_t) next_unanswering;
};

#define USPI_EVERYONE  UINT32_MAX
#define USPI_OWNED     1u
#define USPI_ABANDONED 2u

extern struct uspi_capturing uspi_capturing;

/* The count of handlers to which a thread's belongs. */
static inline _Atomic(uint32_t) *uspi_handlers_of(pid_t tid) {
    return &uspi_capturing.handlers[(uint32_t)tid % USPI_HANDLER_GROUPS];
}

/* Takes the lock. False: not by the deadline (usp_clock), or the calling thread has it. A holder that has ended is
 * replaced. Async-signal-safe. */
bool uspi_turn_take(struct uspi_turn *turn, uint64_t deadline);
void uspi_turn_give(struct uspi_turn *turn);

/* Whether a thread is remembered as one that could not answer; `remember` and `forget` change that. Async-signal-safe. */
bool uspi_is_unanswering(pid_t tid);
void uspi_remember_unanswering(pid_t tid);
void uspi_forget_unanswering(pid_t tid);

/* How the calling thread stands to the program's signals (lib/os/linux/undisturbed.c): while calls > 0 it is in a capture,
 * and what the program's handler for our signal is due is owed to it until the capture is over. */
struct uspi_own_calls {
    volatile unsigned calls;
    volatile bool owed;
};
extern _Thread_local USPI_TLS_MODEL struct uspi_own_calls uspi_own_calls;

#endif
