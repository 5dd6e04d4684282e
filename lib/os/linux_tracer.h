/* SPDX-License-Identifier: MIT */
/* Stops another process by ptrace, copies its threads' registers and stacks at one moment, and lets it go. What is made of
 * the copies is linux_process.c's.
 *
 * A thread of its own does the tracing, and lets go by ending: the kernel then detaches all that a tracer held, at once and whatever has happened (ptrace(2); kernel/ptrace.c exit_ptrace): a thread that did not
 * stop in time (it waits for its vfork child) and could not be detached for that reason, one that ended meanwhile, all of
 * them when this process is killed. A signal that was on its way and stopped a thread first is delivered, as long as
 * nobody has waited for that stop. PTRACE_SEIZE stops nobody by itself, and leaves a process that was stopped by a signal
 * stopped.
 *
 * Nothing is waited for by wait(2): that would take statuses from the rest of this process, or lose them to it. Whether a
 * thread has stopped is seen by asking for its registers. */
#ifndef USPI_LINUX_TRACER_H
#define USPI_LINUX_TRACER_H

#include "lib/os/linux.h"
#include "lib/os/linux_proc.h"
#include "lib/os/linux_refusal.h"

#include <pthread.h>
#include <semaphore.h>

/* The stack that a thread stands on, and the one that a handler on an alternate stack interrupted. */
enum { USPI_OWN_STACK, USPI_INTERRUPTED_STACK, USPI_STACKS };

/* What is copied of a stack. */
struct uspi_extent {
    usp_addr from, low, high; /* the live part's beginning, and the whole stack: 0, 0 not known */
    size_t room, copied;
    uint8_t *bytes;
};

/* Of a stack whose end is not known, at most so much is copied: the usual limit of a stack's size. */
#define USPI_STACK_MAX ((uint64_t)8 << 20)

struct uspi_traced {
    bool seized, stopped;
    usp_addr interrupted; /* the other stack's pointer; 0: there is none */
    struct uspi_extent extents[USPI_STACKS];
};

/* A writable mapping. */
struct uspi_range {
    usp_addr low, high;
    bool grows; /* the first thread's stack */
};

struct uspi_tracing {
    /* What to do: all of it is set before uspi_trace. */
    pid_t pid, only;  /* only: one thread, 0 for all */
    pid_t living;     /* the thread by which the process's memory is known */
    uint64_t timeout; /* in ns */
    int memory;       /* descriptor */
    struct uspi_proc_threads list;
    struct uspi_refusal refusal;

    /* What has come of it. */
    struct uspi_stopped_thread *threads; /* of each the info, status and registers; */
    struct uspi_traced *traced;          /* what else there is to know of it; */
    pid_t *tids;                         /* its id, to be searched */
    size_t count;
    struct uspi_arena {
        uint8_t *bytes; /* what the extents' bytes are in; NULL: nothing is */
        size_t size;
    } arenas[USPI_STACKS];
    uint32_t arch;
    uint64_t pac_mask;         /* see struct usp_target */
    struct usp_images *images; /* as they were before anybody was stopped; NULL: not known */
    bool has_moved;            /* mappings have changed since: the images may not be those of the stacks */
    uint64_t began, ended;     /* when the first one was stopped, when the last one was seen to run again; usp_clock */

    /* The tracer's own. */
    struct uspi_range *ranges; /* writable mappings, ascending */
    size_t range_count, range_room;
    uint64_t mapped;   /* how much was, before the images were listed; 0: not known */
    size_t room;       /* in `threads`, `traced` and `tids` */
    size_t expected;   /* of the listing: the next one's place in `tids` */
    size_t found;      /* new threads in the last listing */
    int listing_error; /* why there is no listing */
    uint64_t deadline;
    _Atomic(size_t) uncopied[USPI_STACKS]; /* how far they have been taken by the tracer or its caller */
    _Atomic(bool) any_interrupted;
    int caller_cpu; /* negative: not known */
    bool is_running;
    pthread_t tracer;
    pid_t tracer_id;
    sem_t prepared, standing, laid_out, helped, copied; /* how far they are; see trace() */
    _Atomic(bool) is_helped;                            /* the caller may have taken stacks to copy */
    char listing[65536];
};

/* All zero but for what cannot be; NULL when memory lacks. */
struct uspi_tracing *uspi_tracing_create(void);

/* Stops, copies, lets go. When it returns, the copies are made, and the tracer is letting go. Starts and joins threads,
 * allocates. USP_OK, or the refusal's status; uspi_tracing_end must follow in any case. */
int uspi_trace(struct uspi_tracing *tracing);

/* Whether the kernel has let go of everybody, which sets tracing->ended. */
bool uspi_tracing_is_over(struct uspi_tracing *tracing);

/* Waits for that. Any number of times. */
void uspi_tracing_end(struct uspi_tracing *tracing);

/* Frees it and what it holds, but for the arenas and the descriptor of memory; after uspi_tracing_end. */
void uspi_tracing_free(struct uspi_tracing *tracing);

#endif
