/* SPDX-License-Identifier: MIT */
/* Stops a process by ptrace, copies its threads' registers and stacks at one moment, and lets it go. What is made of the
 * copies is process.c's.
 *
 *     caller   list, describe, ranges, room │ what else is to be known │ waits for the tracer's end
 *     tracer                                                           │ seize, stop, registers, copy │ ends
 *                                                                              └── threads stand ──┘
 *
 * The tracer ends when the copies are made, and that resumes the threads: the kernel detaches all that a tracer held, at once and
 * whatever has happened (ptrace(2); kernel/ptrace.c exit_ptrace): a thread that did not stop in time (it waits for its vfork
 * child) and could not be detached for that reason, one that ended meanwhile, all of them when the tracer is killed. A signal
 * that was on its way and stopped a thread first is delivered, unless that stop has been waited for. PTRACE_SEIZE
 * stops no thread by itself, and leaves a process that was stopped by a signal stopped.
 *
 * The tracer of another process is a thread. That of this process has to be a process: it shares the memory, and the thread
 * that asked waits until it ends, as with vfork. Either way the tracer allocates nothing and takes no lock, because a
 * stopped thread may hold what it would wait for.
 *
 * Nothing is waited for by wait(2) but a tracer that is a process: that would take statuses from the rest of this process,
 * or lose them to it. Whether a thread has stopped is seen by asking for its registers. */
#ifndef USPI_LINUX_TRACER_H
#define USPI_LINUX_TRACER_H

#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/ranges.h"
#include "lib/os/linux/refusal.h"

/* The stack that a thread runs on, and the one that a handler on an alternate stack interrupted. */
enum { USPI_OWN_STACK, USPI_INTERRUPTED_STACK, USPI_STACKS };

/* What is copied of a stack. */
struct uspi_stack_extent {
    usp_addr from, low, high; /* the live part's beginning, and the whole stack: 0, 0 not known */
    size_t room, copied;
    uint8_t *bytes;
};

struct uspi_traced {
    bool seized, stopped;
    usp_addr interrupted; /* the other stack's pointer; 0: there is none */
    struct uspi_stack_extent extents[USPI_STACKS];
};

struct uspi_tracing {
    /* What to do: all of it is set before uspi_trace. */
    pid_t pid, only; /* only: one thread, 0 for all */
    pid_t except;    /* the thread that asks, of this process; 0: none */
    pid_t living;    /* the thread by which the process's memory is known */
    uint64_t timeout;
    int memory; /* descriptor */
    struct uspi_proc_threads list;
    struct uspi_refusal refusal;
    struct usp_region (*before_stop)(void *context); /* as in struct uspi_stop_options */
    void *context;

    /* What has come of it. */
    struct uspi_stopped_thread *threads; /* of each the info, status and registers; */
    struct uspi_traced *traced;          /* what else there is to know of it; */
    pid_t *tids;                         /* its id, to be searched */
    size_t count;
    struct uspi_arena {
        uint8_t *bytes; /* what the extents' bytes are in; NULL: nothing is */
        size_t size;
    } arenas[USPI_STACKS];
    struct uspi_context_table contexts;
    uint32_t arch;
    uint64_t pac_mask;     /* see struct usp_target */
    bool has_moved;        /* mappings have changed since before_stop */
    uint64_t began, ended; /* when the first one was stopped, when the last one was seen to run again; usp_clock */

    /* Its own. */
    struct uspi_ranges ranges;
    struct usp_region executor; /* as before_stop says */
    uint64_t mapped;            /* how much was, before before_stop; 0: not known */
    size_t room;                /* in `threads`, `traced` and `tids` */
    bool is_short;              /* of that room: there were more threads */
    bool is_given;              /* the threads are those that the caller gave, and no others */
    bool has_unknown_stack;     /* a stack pointer lay in none of the ranges */
    uint64_t spent;             /* processor time of the tracers that were threads, in ns */
    size_t expected;            /* of the listing: the next one's place in `tids` */
    size_t found;               /* new threads in the last listing */
    uint64_t deadline;
    pid_t tracer_id;
    char listing[65536];
};

/* All zero but for what cannot be; NULL when memory lacks. */
struct uspi_tracing *uspi_tracing_create(void);

/* Stops, copies, resumes; when it returns, every thread runs again. Starts and ends a thread or a process, allocates before
 * and after. USP_OK, or the refusal's status. */
int uspi_trace(struct uspi_tracing *tracing);

/* The same for `count` threads that are given by their ids: nothing is listed, and nothing but their copies is filled in. May be
 * called again and again; the ranges of stacks are read when there are none, and again when `has_unknown_stack` says that they have changed. Room
 * is kept. */
int uspi_trace_given(struct uspi_tracing *tracing, const struct usp_thread *threads, size_t count);

/* Frees it and what it holds, but for the descriptor of memory. NULL is ignored. */
void uspi_tracing_free(struct uspi_tracing *tracing);

#endif
