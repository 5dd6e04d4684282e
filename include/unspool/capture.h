/* SPDX-License-Identifier: MIT */
/* Stacks of this process: the calling thread, a signal handler's context, another thread.
 * All threads at one moment, other processes and cores are in snapshot.h; names are in symbolize.h. */
#ifndef UNSPOOL_CAPTURE_H
#define UNSPOOL_CAPTURE_H

#include <unspool/base.h>
#include <unspool/registers.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* ---- the calling thread, fast ----
 *
 * Return addresses as host pointers, innermost first; element 0 lies in the caller of the function. One pass over the
 * frame records: no allocation, no lock; async-signal-safe, on alternate signal stacks and coroutine stacks as well.
 * Once the thread and the code on its stack have been seen, no system call either, but behind a signal handler; a stack
 * that is not known is read page by page with a check that the page can be read. Return addresses have no signature and
 * no Thumb bit. A record whose return address does not follow a call in readable code ends the stack: it is a scratch
 * value, not a frame. Code that keeps no frame records hides its callers here; usp_capture_self can go on. Behind a
 * signal handler, after the address in what called it, stands where the thread was interrupted, + 1, so that a
 * consumer's − 1 finds the instruction (on 32-bit arm of Linux it is left out); the caller of a function that was
 * interrupted without a record of its own is hidden. */

/* Writes up to `size` return addresses to `buffer`. Returns how many; 0 for size <= 0, or where this host has no frame
 * records. The shape of backtrace(3). Async-signal-safe, thread-safe. */
USP_API int usp_backtrace(void **buffer, int size);

/* The same, beginning with the first frame record at or above `startfp` (a frame address, as
 * __builtin_frame_address(0) gives it in the function to start from): element 0 is that function's return address. NULL
 * begins as usp_backtrace does. Returns 0 when no record of the chain lies there. The shape of backtrace_from_fp(3).
 * Async-signal-safe, thread-safe. */
USP_API int usp_backtrace_from_fp(void *startfp, void **buffer, int size);

/* The same, but switches to the chain of async contexts at the first Swift async record, as Apple's does: its elements
 * are resume addresses + 1, so that a consumer's − 1 finds the function (Libc gen/backtrace.3). *task_id (may be NULL)
 * becomes the id of the Swift task, 0 where none was met or the platform does not tell. The shape of
 * backtrace_async(3). Async-signal-safe, thread-safe. */
USP_API size_t usp_backtrace_async(void **buffer, size_t length, uint32_t *task_id);

/* ---- getting ready ---- */

struct usp_prepare_options {
    uint32_t size;  /* of this struct in bytes; set by usp_prepare_options_init */
    int32_t signal; /* Linux: the signal by which another thread is asked for its stack: SIGURG or SIGWINCH, which are
                              ignored by default; 0: the first of them for which the program has no handler. A handler
                              that the program has, or installs later, is called with each request. Default 0 */
    uint32_t max_threads; /* threads whose stacks are held at one time without growing. Default 64 */
    uint32_t stack_copy;  /* bytes reserved for each thread's stack copy; grows between captures when a stack turns out
                              deeper. Default 65536 */
    /* ns that usp_capture_thread may take; at most half of it goes to a loader that changes its list without a pause. Default
     * 100,000,000 */
    uint64_t timeout;
    uint32_t kept_rules; /* unwind rules that captures in this process keep, one for each place in code that keeps no
                             frame records: 32 bytes each, rounded up to a power of two; at most 2^26, 0: none.
                             Default 4096 (128 KB) */
    uint32_t reserved0;
    uint64_t table_limit; /* bytes that the unwind tables of this process's images may take here, with copies of those
                             that are not loaded: an image beyond that has none. Default 67,108,864 */
    uint64_t reserved[2];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_prepare_options_init(struct usp_prepare_options *options);

/* Gets everything ready that later calls must not allocate or learn: lists this process's images with their unwind tables
 * (images.h), reserves the stack copies, installs the Linux signal handler (USP_ERROR_BUSY where the program's handler for the
 * signal may be called once only, SA_RESETHAND, or while other calls use what is to be replaced), learns the roots of stacks,
 * and warms the calling thread. options NULL: the defaults. Safe to call again (with the same options nothing happens, other
 * ones replace the reservation). Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_BUSY,
 * USP_ERROR_SYSTEM, or USP_ERROR_UNSUPPORTED where the platform has nothing to capture with (the calls for the calling
 * thread work without). Thread-safe, not async-signal-safe. */
USP_API int usp_prepare(const struct usp_prepare_options *options);

/* The memory that captures in this process hold beside the caller's, in bytes. */
struct usp_capture_usage {
    uint64_t copies; /* reserved for copies of threads' stacks and for text */
    uint64_t rules;  /* kept unwind rules; limited by kept_rules */
    uint64_t images; /* the list of this process's images (images.h) */
    uint64_t tables; /* what is known of their unwind tables, and copies of tables that are not loaded; limited by
                        table_limit */
    uint64_t reserved[4];
};

/* Fills *usage with what is held now. Returns USP_OK or USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe. */
USP_API int usp_capture_get_usage(struct usp_capture_usage *usage);

/* Whether usp_prepare has succeeded and usp_shutdown has not been called since. Async-signal-safe, thread-safe. */
USP_API bool usp_is_prepared(void);

/* Learns the calling thread's stack bounds and touches its thread-local state, so that a later call from a signal
 * handler finds them. Worth calling at a thread's start; not needed for correctness. Returns USP_OK,
 * USP_ERROR_SYSTEM when libc does not tell the bounds, or USP_ERROR_UNSUPPORTED. Thread-safe, not async-signal-safe. */
USP_API int usp_thread_prepare(void);

/* Gives back what usp_prepare took: the signal's handler (if it is still ours), buffers. No other call may be running.
 * Capturing another thread answers USP_ERROR_NOT_PREPARED afterwards. Not async-signal-safe. */
USP_API void usp_shutdown(void);

/* ---- typed capture ---- */

/* Makes *memory read this process's own memory: each read is checked, and a bad address gives USP_ERROR_UNREADABLE instead of
 * a crash. For usp_target.memory, and for pointers that cannot be trusted. `read` allocates nothing, takes no lock and keeps
 * errno; async-signal-safe, thread-safe, as this function is. */
USP_API void usp_memory_init_self(struct usp_memory *memory);

/* The calling thread. frames[0] lies in the caller (kind: return address). options NULL: the defaults. Of libraries that were
 * loaded after usp_prepare the unwind tables are used after usp_images_refresh (images.h). Returns as usp_unwind.
 * Allocates nothing, takes no lock; async-signal-safe; needs about 18 KB of stack. USP_ERROR_UNSUPPORTED where no
 * backend describes this host. */
USP_API int usp_capture_self(const struct usp_unwind_options *options, struct usp_stack *stack);

/* The stack that a signal interrupted.
 *   ucontext  the third argument of a SA_SIGINFO handler, on this host's own system
 * frames[0] is the interrupted pc. A pc of 0 or in unmapped memory (a call through a bad pointer) still gives its
 * caller. Returns as usp_unwind. Async-signal-safe; needs about 18 KB of stack. */
USP_API int usp_capture_context(const void *ucontext, const struct usp_unwind_options *options,
                                struct usp_stack *stack);

/* A thread of this process, as a value. Keep it as long as you like; on Apple systems usp_thread_release gives back the
 * port right that some functions obtain with it. */
struct usp_thread {
    uint64_t id;     /* the system-wide thread id: Linux gettid(), Darwin thread_identifier_info.thread_id */
    uint64_t native; /* Linux: the id again; Darwin: the thread's Mach port name, 0 if none is held */
};

/* The calling thread. Returns USP_OK or USP_ERROR_UNSUPPORTED. Async-signal-safe. */
USP_API int usp_thread_self(struct usp_thread *thread);

/* The process's main thread, whichever thread asks and wherever the library was loaded from. USP_OK,
 * USP_ERROR_NO_THREAD when it has exited, USP_ERROR_UNSUPPORTED. Async-signal-safe on Linux. */
USP_API int usp_thread_main(struct usp_thread *thread);

/* The thread behind a pthread_t, which must be a live one (as for every function of libpthread). USP_OK,
 * USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED. Thread-safe, not async-signal-safe. */
USP_API int usp_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread);

/* Gives back what `thread` holds (a port right on Apple systems, nothing on Linux) and clears it. NULL is ignored.
 * Thread-safe, not async-signal-safe. */
USP_API void usp_thread_release(struct usp_thread *thread);

enum usp_thread_flags {
    USP_THREAD_MAIN = 1 << 0,     /* the process's main thread */
    USP_THREAD_REQUESTER = 1 << 1 /* the thread that asked */
};

/* How a thread is called and what it does, without its stack. */
struct usp_thread_info {
    struct usp_thread thread;
    char name[64];   /* NUL-terminated, any bytes; empty when it has none */
    char queue[128]; /* Apple systems: label of the dispatch queue on which it works, cut at 127 bytes; empty when there
                           is none, when it is in doubt, and before usp_prepare */
    uint32_t flags;  /* enum usp_thread_flags */
    uint32_t run_state; /* Linux: the letter of /proc/…/stat ('R', 'S', 'D', …); Darwin: TH_STATE_*; 0 unknown */
    uint64_t cpu_time;  /* user and system time used so far, in ns; 0 unknown */
    usp_addr data; /* usp_threads: an address in the thread's control block, the same place in each thread; 0 unknown */
    uint64_t reserved[3];
};

/* Every thread of this process, the caller included.
 *   infos, capacity   the caller's array; may be NULL with 0
 *   count             becomes the number of threads, also when that is more than capacity
 * Returns USP_OK, USP_ERROR_FULL when the array was too small (the first `capacity` are filled),
 * USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM. Release each with usp_thread_release. Thread-safe, not async-signal-safe. */
USP_API int usp_threads(struct usp_thread_info *infos, size_t capacity, size_t *count);

/* Another thread of this process; the calling thread itself is walked directly.
 * The thread is stopped only while its registers and the live part of its stack are copied (stack->stopped_ns);
 * walking happens afterwards on the copy. Whatever fails, it runs on.
 *   thread   from usp_thread_main, usp_thread_from_pthread, usp_threads
 *   options  NULL for the defaults
 * Returns as usp_unwind, and USP_ERROR_NOT_PREPARED without usp_prepare, USP_ERROR_NO_THREAD when it does not exist or
 * ended, USP_ERROR_TIMEOUT when it did not answer (after 4 ms when the system says that it cannot: it sleeps with the signal
 * blocked or waits for it, or is stopped), USP_ERROR_STACK_FULL when its stack has no room for an answer,
 * USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED, USP_ERROR_BUSY when 1023 other threads capture at this moment (Apple systems:
 * 256, or when others stop threads for the whole timeout). Threads that capture do not wait for each other. The calling
 * thread's signals and cancellation wait until the call returns. Must not be called while holding a lock that a handler
 * of the target may need. Thread-safe, not async-signal-safe. */
USP_API int usp_capture_thread(const struct usp_thread *thread, const struct usp_unwind_options *options,
                               struct usp_stack *stack);

/* A stack in memory of its own, with as many frames as there are: where they do not fit, it is captured again with more room,
 * so that all frames are of one moment, the last one. Calls usp_prepare with its defaults where that has not been done;
 * libraries that were loaded since are noticed.
 *   thread   as for usp_capture_thread; NULL: the calling thread, from the caller on
 *   options  NULL for the defaults. `tail` has no effect; step_limit bounds the frames, and thereby the memory
 *   stack    becomes the caller's, to be freed with usp_stack_free; NULL on failure
 * Returns as usp_capture_self or usp_capture_thread, and USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_stack_create(const struct usp_thread *thread, const struct usp_unwind_options *options,
                             struct usp_stack **stack);

/* Frees what usp_stack_create gave, with its frames. NULL is ignored. Not async-signal-safe. */
USP_API void usp_stack_free(struct usp_stack *stack);

USP_END_DECLS

#endif
