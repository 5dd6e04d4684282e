/* SPDX-License-Identifier: MIT */
/* Stops a process by ptrace, copies its threads' registers and stacks at one moment, and resumes it. process.c
 * processes the copies.
 *
 *     caller   list, describe, ranges, room │ other preparations │ waits for the tracer's end
 *     tracer                                                     │ seize, stop, registers, copy │ ends
 *                                                                        └── threads stopped ─┘
 *
 * The tracer ends when the copies are made, which resumes the threads. The kernel detaches all of a tracer's threads
 * at once, in every case (ptrace(2); kernel/ptrace.c exit_ptrace): a thread that did not stop in time (it waits for
 * its vfork child) and could therefore not be detached, one that ended meanwhile, and all of them when the tracer is
 * killed. If a pending signal stopped a thread first, the signal is delivered, unless that stop has been waited for.
 * PTRACE_SEIZE by itself stops no thread, and leaves a process that a signal stopped in that state.
 *
 * The tracer of another process is a thread. The tracer of this process has to be a process; it shares the memory, and
 * the requesting thread waits until it ends, as with vfork. In both cases the tracer allocates nothing and takes no
 * lock, because a stopped thread may hold that lock.
 *
 * wait(2) is used only for a tracer that is a process. Otherwise it would take statuses from the rest of this process,
 * or lose them to it. A request for a thread's registers shows whether it has stopped.
 *
 * An exec of the process could stay incomplete, and the tracer blocked. The exec waits until all other threads are
 * released, and the kernel keeps a traced thread that has ended until its tracer's process has waited for it. Meanwhile
 * the tracer's calls wait for the exec (cred_guard_mutex in kernel/ptrace.c, ptrace_attach). So the caller waits for
 * ended threads while the tracer runs: by their ids, without the first thread, which may be a child of this process. A
 * tracer that is a process is killed, because the exec ends the requesting thread. */
#ifndef USPI_OS_LINUX_TRACER_H
#define USPI_OS_LINUX_TRACER_H

#include "lib/os/linux/limit.h"
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/ranges.h"
#include "lib/os/linux/refusal.h"

#include <stdatomic.h>

/* The current stack of a thread, and the one that a handler on an alternate stack interrupted. */
enum { USPI_OWN_STACK, USPI_INTERRUPTED_STACK, USPI_STACKS };

/* Memory for copies: for each kind of stack one arena for usual ones, then one for large ones. */
enum { USPI_ARENAS = 2 * USPI_STACKS };

/* The copied parts of a stack. A large stack (copies.h) has an outermost part too, and memory between the parts that is
 * not copied. */
struct uspi_stack_extent {
    usp_addr from, low, high; /* beginning of the live part, and bounds of the whole stack: 0, 0 not known */
    size_t capacity, copied;  /* of the innermost part */
    uint8_t *bytes;
    bool is_large;
    bool may_skip; /* pages that are not present were never written */
    struct {
        usp_addr from;
        size_t capacity, copied;
        uint8_t *bytes;
    } outer;
};

struct uspi_traced {
    bool seized, stopped;
    bool is_kernel;       /* it runs only in the kernel and is not stopped */
    bool is_asleep;       /* it sleeps uninterruptibly and is not stopped (sleepers.h) */
    uint64_t looked;      /* when it was first seen asleep; usp_clock; 0: it was not */
    uint64_t ran;         /* its processor time then */
    uint64_t running;     /* the last time when it had not stopped yet; usp_clock */
    usp_addr interrupted; /* stack pointer on the interrupted stack; 0: there is none */
    struct uspi_stack_extent extents[USPI_STACKS];
};

/* Number of sleeping threads that are remembered between stops. */
#define USPI_SLEEPERS 32u

struct uspi_tracing {
    /* The task: set before uspi_trace. */
    pid_t pid, only;   /* only: the only thread to stop; 0: all */
    pid_t except;      /* the requesting thread, in this process; 0: none */
    pid_t living;      /* the thread by which the process's memory is accessed */
    uint64_t timeout;  /* for the whole stop, in ns: waiting for the threads, and copying */
    bool whole_stacks; /* large stacks are copied as a whole */
    int memory;        /* descriptor */
    int pagemap;       /* descriptor; -1: it is not known which pages are present */
    struct uspi_proc_threads list;
    struct uspi_refusal refusal;
    struct uspi_images_found *images; /* this field and the next two: as in struct uspi_stop_options */
    struct usp_region (*before_stop)(void *context, int listed);
    void *context;
    void (*while_stopped)(void *watcher); /* the tracer calls this while the threads are stopped; NULL: nothing */
    void *watcher;

    /* The result. */
    struct uspi_stopped_thread *threads; /* the info, status and registers of each thread */
    struct uspi_traced *traced;          /* further data about each thread */
    pid_t *tids;                         /* each thread's id, for searching */
    size_t count;
    struct uspi_arena {
        uint8_t *bytes; /* memory for the extents' bytes; NULL: none */
        size_t size;
    } arenas[USPI_ARENAS];
    struct uspi_context_table contexts;
    uint32_t arch;
    uint64_t pac_mask; /* see struct usp_target */
    bool has_moved;    /* mappings have changed since they were read */
    struct uspi_limit limit;
    /* When the last thread was seen running again; usp_clock. After uspi_trace_given: when the tracer ended, which
     * resumes the threads. The caller itself may have to wait for a processor while they run, and would count that as
     * well. */
    uint64_t ended;

    /* Private. */
    struct uspi_ranges ranges;
    struct usp_region executor; /* result of before_stop */
    uint64_t mapped;            /* how much memory was mapped before the mappings were read; 0: not known */
    size_t capacity;            /* capacity of `threads`, `traced` and `tids` */
    bool is_short;              /* there were more threads than `capacity` */
    bool is_given;              /* the caller has listed the threads */
    bool has_unknown_stack;     /* a stack pointer was in none of the ranges */
    uint64_t spent;             /* processor time of tracers that were threads, in ns */
    size_t expected;            /* of the listing: index in `tids` of the next expected thread */
    size_t found;               /* new threads in the last listing */
    size_t page;                /* size of a page of memory */
    uint64_t left;              /* bytes that may still be copied of large stacks */
    pid_t tracer_id;
    _Atomic(uint32_t) has_ended; /* the tracer, if it is a thread, has made the copies */
    struct uspi_known_sleeper {
        pid_t tid; /* 0: none */
        uint64_t ran;
    } sleepers[USPI_SLEEPERS]; /* given threads that slept when they were to be stopped */
    char listing[65536];
};

/* Returns a tracing with all fields zero or invalid; NULL when memory is exhausted. */
struct uspi_tracing *uspi_tracing_create(void);

/* Stops, copies, resumes. When it returns, every thread runs again. Starts and ends a thread or a process; allocates
 * before and after, not in between. Returns USP_OK, or the refusal's status. */
int uspi_trace(struct uspi_tracing *tracing);

/* Does the same for `count` threads given by their ids: no threads are listed, and only their copies are filled in.
 * May be called repeatedly. The ranges of stacks are read when there are none, and again when `has_unknown_stack`
 * shows that they have changed. Memory is kept between calls. */
int uspi_trace_given(struct uspi_tracing *tracing, const struct usp_thread *threads, size_t count);

/* Copies threads of this process that sleep uninterruptibly, without stopping them: `ran` has the processor time of each
 * when it was known to sleep. Those that have run since get the status USP_ERROR_TIMEOUT. */
int uspi_trace_asleep(struct uspi_tracing *tracing, const struct uspi_known_sleeper *sleepers, size_t count);

/* Frees a tracing and its data, except the descriptor of memory and that of the page map. NULL is ignored. */
void uspi_tracing_free(struct uspi_tracing *tracing);

#endif
