/* SPDX-License-Identifier: MIT */
/* Stacks of this process: the calling thread, a signal handler's context, another thread. Captures of all threads at
 * one moment, of other processes and of core files are in snapshot.h; symbolication is in symbolize.h. */
#ifndef UNSPOOL_CAPTURE_H
#define UNSPOOL_CAPTURE_H

#include <unspool/base.h>
#include <unspool/registers.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* ---- the calling thread, fast ----
 *
 * Return addresses as host pointers, innermost first. Element 0 lies in the function's caller. Each function makes one
 * pass over the frame records; usp_backtrace goes on by unwind rules where there are none. It allocates nothing, takes
 * no lock, and is async-signal-safe, also on alternate signal stacks and coroutine stacks.
 *
 * System calls: none once the thread and the code on its stack have been seen, except past a signal handler. An
 * unknown stack is read page by page, after a check that the page is readable.
 *
 * Return addresses have no signature and no Thumb bit. To look up the call, subtract 1 (on armv7, clear bit 0 first),
 * or use usp_capture_self and usp_frame_call_site. A stack ends when the buffer is full, or when the chain of records
 * ends, goes backwards, is misaligned or leaves the stack. A record whose return address does not follow a call in
 * readable code is a scratch value, not a frame, and ends the stack. Where only records are used, functions without one
 * hide their callers; usp_capture_self can continue past them.
 *
 * Past a signal handler, the interrupted pc + 1 follows the handler's return address, so that a consumer that
 * subtracts 1 finds the instruction (32-bit ARM Linux: it is omitted). If the interrupted function had no frame
 * record, its caller is missing. */

/* Writes up to `size` return addresses to `buffer`. Returns how many it wrote; 0 when size <= 0 or where this host has
 * no frame records. Has the prototype of backtrace(3).
 *
 * On Linux on x86_64 and i386, where compilers leave out frame records, usp_backtrace goes on past a function without
 * one as usp_capture_self does, by the compiler's unwind tables, whose rules are cached. That requires usp_prepare and
 * 24 KB of the thread's own stack. Before usp_prepare, with less stack, on an alternate signal stack or on a
 * coroutine's, it uses frame records alone. Async-signal-safe, thread-safe. On a stopped thread: it walks the calling
 * thread. */
USP_API int usp_backtrace(void **buffer, int size);

/* Like usp_backtrace, but always by frame records alone: it needs little stack. Async-signal-safe, thread-safe. On a
 * stopped thread: it walks the calling thread. */
USP_API int usp_backtrace_records(void **buffer, int size);

/* Like usp_backtrace, but begins with the first frame record at or above `startfp`, a frame address such as
 * __builtin_frame_address(0) returns. Element 0 is the return address of the function with that frame. With NULL, it
 * begins as usp_backtrace does. Returns 0 when the chain has no such record. Has the prototype of backtrace_from_fp(3).
 * Async-signal-safe, thread-safe. On a stopped thread: it walks the calling thread. */
USP_API int usp_backtrace_from_fp(void *startfp, void **buffer, int size);

/* Like usp_backtrace, but switches to the chain of async contexts at the first Swift async record, as Apple's
 * backtrace_async(3) does. Its elements are resume addresses + 1, so that a consumer that subtracts 1 finds the
 * function (Libc gen/backtrace.3). *task_id (may be NULL) becomes the id of the Swift task; 0 when there is no async
 * record or the platform does not reveal the id. Has the prototype of backtrace_async(3). Async-signal-safe,
 * thread-safe. On a stopped thread: it walks the calling thread. */
USP_API size_t usp_backtrace_async(void **buffer, size_t length, uint32_t *task_id);

/* ---- getting ready ---- */

struct usp_prepare_options {
    uint32_t size; /* size of this struct in bytes; set by usp_prepare_options_init */
    /* Linux: the signal that requests another thread's stack: SIGURG or SIGWINCH, which are ignored by default. 0: that
     * of another copy of the library, else the first for which the program has no handler. If the program has a handler
     * for it, or installs one later, each request calls that one too, because signals that are pending together become
     * one. The library keeps up to eight different actions for the signal, including the one that it found. If there is
     * a ninth, the library's own handler stays replaced. Captures of other threads then return USP_ERROR_TIMEOUT, and
     * usp_prepare USP_ERROR_BUSY, until the program installs one of the eight again. Default 0. */
    int32_t signal;
    uint32_t max_threads; /* number of threads whose stacks can be held at once without growing. Default 64 */
    /* Bytes reserved for each thread's stack copy. The reservation grows between captures when a stack is deeper.
     * Default 65536. */
    uint32_t stack_copy;
    /* Time limit of usp_capture_thread in ns. At most half of it is spent waiting for a loader that keeps changing its
     * list; then the last list is used. It does not interrupt reading the unwind tables of newly loaded libraries.
     * Default 100,000,000. */
    uint64_t timeout;
    /* Number of unwind rules that captures in this process keep: one for each place in code without frame records. Each
     * is looked up once. Rules that do not fit replace others. Rules for libraries that can be unloaded are valid until
     * the next list of images is made, and only while their code is unchanged. A rule takes 32 bytes. The number is
     * rounded up to a power of two, at most 2^26. 0: none. Default 4096 (128 KB). */
    uint32_t kept_rules;
    uint32_t reserved0;
    /* Bytes that data about this process's unwind tables may take: some hundred for each image, and copies of tables
     * that are not loaded or not sorted. An image whose copies would exceed the limit has no unwind tables. When the
     * limit changes, the list of images is made again. Default 67,108,864. */
    uint64_t table_limit;
    uint64_t reserved[2];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_prepare_options_init(struct usp_prepare_options *options);

/* Prepares everything that later calls must not allocate or look up. Async-signal-safe functions need it for complete
 * stacks, since they cannot call it; other functions call it with its defaults when it was not called. Call it early in
 * a program with a signal handler that captures stacks, or to set options. It does the following:
 *   - lists this process's images with their unwind tables (images.h)
 *   - reserves memory for stack copies
 *   - installs the Linux signal handler
 *   - finds the roots of stacks
 *   - prepares the calling thread (usp_thread_prepare)
 * options NULL: the defaults. No other call is needed to capture whole stacks through code without frame pointers. May
 * be called again: with the same options it does nothing, other options replace the reservation.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM; USP_ERROR_BUSY when the program's handler
 * for the signal has SA_RESETHAND (it can be called only once) or is the ninth (usp_prepare_options.signal), or while
 * other calls use what would be replaced; USP_ERROR_UNSUPPORTED when the platform cannot capture other threads (the
 * calls for the calling thread still work). Thread-safe, not async-signal-safe: it allocates, installs a signal handler
 * and takes locks. */
USP_API int usp_prepare(const struct usp_prepare_options *options);

/* Memory that captures in this process hold, in bytes, in addition to the caller's. */
struct usp_capture_usage {
    uint64_t copies; /* reserved for copies of threads' stacks and of code */
    uint64_t rules;  /* kept unwind rules; limited by kept_rules */
    uint64_t images; /* the list of this process's images (images.h) */
    /* Data about the images' unwind tables, and copies of tables that are not loaded; limited by table_limit. */
    uint64_t tables;
    uint64_t reserved[4];
};

/* Fills *usage with the memory held now. Returns USP_OK or USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe. */
USP_API int usp_capture_get_usage(struct usp_capture_usage *usage);

/* Returns whether usp_prepare has succeeded and usp_shutdown has not been called since. Async-signal-safe,
 * thread-safe. */
USP_API bool usp_is_prepared(void);

/* Finds the calling thread's stack bounds and touches its thread-local state, so that a later call from a signal
 * handler has them. Call it at a thread's start. It is needed only when more than 64 MB of a stack are in use at its
 * first capture. Returns USP_OK, USP_ERROR_SYSTEM when libc does not report the bounds, or USP_ERROR_UNSUPPORTED.
 * Thread-safe, not async-signal-safe: it calls the thread library for the stack's bounds. */
USP_API int usp_thread_prepare(void);

/* Releases what usp_prepare and captures acquired: the signal handler, if no other handler has replaced it, the
 * buffers, the list of images, what was learned for later captures, and usp_symbolizer_default. No other call may be
 * running. Afterwards, the next call that needs usp_prepare calls it again. Not async-signal-safe: it frees memory and
 * takes locks. */
USP_API void usp_shutdown(void);

/* ---- typed capture ---- */

/* Makes *memory read this process's own memory. Each read is checked: a bad address gives USP_ERROR_UNREADABLE instead
 * of a crash. Use it for usp_target.memory and for untrusted pointers. `read` allocates nothing, takes no lock and
 * preserves errno. Both `read` and this function are async-signal-safe and thread-safe. */
USP_API void usp_memory_init_self(struct usp_memory *memory);

/* Captures the calling thread. frames[0] lies in the caller (kind: return address), or with options->start_fp in the
 * caller of the function that has that frame. usp_stack_init gives the stack its frames beforehand. options NULL: the
 * defaults. Libraries that were loaded after usp_prepare have unwind tables only after usp_images_refresh (images.h).
 * Returns as usp_unwind does, and USP_ERROR_UNSUPPORTED on hosts without a backend. Allocates nothing and takes no
 * lock. Async-signal-safe. On a stopped thread: it walks the calling thread. Needs about 19 KB of stack. */
USP_API int usp_capture_self(const struct usp_unwind_options *options, struct usp_stack *stack);

/* Captures the stack that a signal interrupted.
 *   ucontext  the third argument of an SA_SIGINFO handler, in this host's own layout
 * frames[0] is the interrupted pc. When the pc is 0 or in unmapped memory (a call through a bad pointer), the caller is
 * still found. Returns as usp_unwind does. Async-signal-safe. On a stopped thread: it walks the calling thread. Needs
 * about 19 KB of stack. */
USP_API int usp_capture_context(const void *ucontext, const struct usp_unwind_options *options,
                                struct usp_stack *stack);

/* A thread of this process, as a value that may be copied and kept. On Apple systems some functions obtain a port
 * right with it, which usp_thread_release releases. */
struct usp_thread {
    uint64_t id;     /* the system-wide thread id: Linux gettid(), Darwin thread_identifier_info.thread_id */
    uint64_t native; /* Linux: the id again; Darwin: the thread's Mach port name, 0 if none is held */
};

/* Gives the calling thread. Returns USP_OK or USP_ERROR_UNSUPPORTED. Async-signal-safe. */
USP_API int usp_thread_self(struct usp_thread *thread);

/* Gives the process's main thread, from any calling thread and however the library was loaded. Returns USP_OK,
 * USP_ERROR_NO_THREAD when it has exited, or USP_ERROR_UNSUPPORTED. Async-signal-safe on Linux: on Apple systems it
 * obtains port rights and frees the kernel's list of threads. */
USP_API int usp_thread_main(struct usp_thread *thread);

/* Gives the thread of a pthread_t, which must be alive (as for every function of libpthread). Returns USP_OK,
 * USP_ERROR_NO_THREAD or USP_ERROR_UNSUPPORTED. Thread-safe, not async-signal-safe: it reads /proc on Linux and obtains
 * port rights on Apple systems. */
USP_API int usp_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread);

/* Releases what `thread` holds (a port right on Apple systems, nothing on Linux) and clears it. NULL is ignored.
 * Thread-safe, not async-signal-safe: it releases port rights on Apple systems. */
USP_API void usp_thread_release(struct usp_thread *thread);

enum usp_thread_flags {
    USP_THREAD_MAIN = 1 << 0,      /* the process's main thread */
    USP_THREAD_REQUESTER = 1 << 1, /* the calling thread */
    /* Linux: it slept uninterruptibly and could not be stopped. Its stack is that of its system call. */
    USP_THREAD_NOT_STOPPED = 1 << 2,
    USP_THREAD_KERNEL = 1 << 3,   /* Linux, another process: it runs only in the kernel (io_uring) and has no stack */
    USP_THREAD_CRASHED = 1 << 4,  /* cores: it got the signal that ended the process */
    USP_THREAD_GOROUTINE = 1 << 5 /* snapshots: a goroutine of Go that no thread runs; its id is Go's number */
};

/* A thread's name and state, without its stack. */
struct usp_thread_info {
    struct usp_thread thread;
    char name[64]; /* NUL-terminated, arbitrary bytes; empty when the thread has no name */
    /* Apple systems: label of the dispatch queue that the thread works for, cut at 127 bytes. Empty when there is
     * none, when it cannot be determined, and before usp_prepare. */
    char queue[128];
    uint32_t flags;     /* enum usp_thread_flags */
    uint32_t run_state; /* Linux: the letter of /proc/…/stat ('R', 'S', 'D', …); Darwin: TH_STATE_*; 0 unknown */
    uint64_t cpu_time;  /* user and system time used so far, in ns; 0 unknown */
    /* usp_threads: an address in the thread's control block, at the same offset in each thread; 0 unknown. */
    usp_addr data;
    /* Snapshots: id of the thread that held the lock for which this thread waited; 0: it waited for none, or the lock
     * does not say who held it. doc/stopping.md says which locks do. */
    uint64_t lock_owner;
    uint32_t lock_kind; /* enum usp_lock_kind; USP_LOCK_NONE without lock_owner */
    /* The number of threads of the deadlock that this thread is part of: each of them holds a lock for which another
     * one of them waits without a time limit. 1: it waits for a lock that it holds itself. 0: none was seen. */
    uint32_t deadlock;
    uint64_t reserved[1];
};

enum usp_lock_kind {
    USP_LOCK_NONE = 0,
    USP_LOCK_MUTEX = 1,
    USP_LOCK_READ_WRITE = 2 /* a read-write lock that another thread holds for writing */
};

/* Returns the kind in words: "mutex", "read-write lock"; otherwise "lock". Static lifetime. Async-signal-safe,
 * thread-safe. */
USP_API const char *usp_lock_kind_string(uint32_t kind);

/* Lists every thread of this process, including the caller.
 *   infos, capacity   the caller's array; may be NULL with 0
 *   count             becomes the number of threads, even when that exceeds capacity
 * Returns USP_OK, USP_ERROR_FULL when the array was too small (its `capacity` elements are filled), USP_ERROR_ARGUMENT,
 * USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM. Release each thread with usp_thread_release. Thread-safe, not
 * async-signal-safe: it reads /proc on Linux and obtains port rights on Apple systems. */
USP_API int usp_threads(struct usp_thread_info *infos, size_t capacity, size_t *count);

/* Captures another thread of this process. If `thread` is the calling thread, it is walked directly. Another thread is
 * stopped only while its registers and the live part of its stack are copied (stack->stopped_ns); then the copy is
 * walked. The thread resumes even if the capture fails. Calls usp_prepare with its defaults if necessary; the time that
 * takes is not part of usp_prepare_options.timeout.
 *   thread   from usp_thread_main, usp_thread_from_pthread, usp_threads
 *   options  NULL for the defaults
 * Returns as usp_unwind and usp_prepare do, and
 *   USP_ERROR_NO_THREAD     the thread does not exist or has ended
 *   USP_ERROR_TIMEOUT       the thread did not answer. Returned after 4 ms when the system says that it cannot: it is
 *                           stopped, or sleeps with the signal blocked, or blocks it and has run since, or waits for
 *                           the signal
 *   USP_ERROR_STACK_FULL    the thread's stack has no room for an answer
 *   USP_ERROR_BUSY          1023 other threads are capturing (Apple systems: 256, or others stopped threads for the
 *                           whole timeout)
 *   USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED
 * Capturing threads do not wait for each other, except on Apple systems while another one has stopped a thread. The
 * calling thread's signals and cancellation are deferred until the call returns. Not async-signal-safe: it may
 * allocate, and waits for the thread's answer. On a stopped thread: it stops the thread itself. Do not call it while
 * holding a lock that a signal handler of the target may need. */
USP_API int usp_capture_thread(const struct usp_thread *thread, const struct usp_unwind_options *options,
                               struct usp_stack *stack);

/* Captures a stack into memory of its own, with all frames. When the frames do not fit, the stack is captured again
 * with more room, so that all frames are from one moment: the last capture's. Calls usp_prepare with its defaults if
 * necessary, and includes libraries that were loaded since.
 *   thread   as for usp_capture_thread; NULL: the calling thread, beginning with the caller
 *   options  NULL for the defaults. `tail` has no effect; step_limit bounds the number of frames and thereby the memory
 *   stack    receives the stack, which the caller frees with usp_stack_free; NULL on failure
 * Returns as usp_capture_self or usp_capture_thread does, and USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe:
 * it allocates before the thread is stopped and after it runs again. On a stopped thread: it stops the thread
 * itself. */
USP_API int usp_stack_create(const struct usp_thread *thread, const struct usp_unwind_options *options,
                             struct usp_stack **stack);

/* Frees a stack of usp_stack_create and its frames. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_stack_free(struct usp_stack *stack);

USP_END_DECLS

#endif
