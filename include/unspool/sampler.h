/* SPDX-License-Identifier: MIT */
/* A sampler: captures the stacks of selected threads of this or another process repeatedly and keeps them as a profile
 * (profile.h). The caller limits its cost. */
#ifndef UNSPOOL_SAMPLER_H
#define UNSPOOL_SAMPLER_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/profile.h>

USP_BEGIN_DECLS

/* Opaque. Many threads may use one at the same time; any number of samplers may run at once.
 *
 * A sampler has a thread of its own. At each tick it reads every selected thread's processor clock. A thread that has
 * not run since the last tick has the same stack and is not stopped again. The other threads are captured one after
 * another; in another process, up to 16 are stopped together. A sample states how much time it represents and for how
 * much of it the thread ran, so sums are right at any rate.
 *
 * In another process, the clocks are those of the scheduler (/proc/PID/task/TID/schedstat), which the kernel updates
 * when a thread is interrupted or waits. The sampler notices libraries that the process loads later, and a program that
 * replaces it by execve. The process may end at any time; its samples are kept.
 *
 * The sampler measures its own cost and delays ticks and captures to stay below its budgets. usp_profile_run.slowed
 * counts the delays, and longest_interval is the longest interval that they caused.
 *
 * Memory for samples is allocated at creation. When it is full, the oldest samples are dropped
 * (usp_profile_info.evicted). */
struct usp_sampler;

/* Which threads are sampled. The sampler's own thread never is. */
enum usp_sampler_threads {
    USP_SAMPLER_MAIN = 0,  /* the main thread */
    USP_SAMPLER_ALL = 1,   /* all threads, including later ones */
    USP_SAMPLER_GIVEN = 2, /* the threads in `threads` */
    /* Threads with a name that matches one of `names`, including threads that appear or are renamed later. One known
     * thread's name is reread every tenth of a second, in turn, so a new name is noticed after that time for each
     * known thread. */
    USP_SAMPLER_NAMED = 3
};

enum usp_sampler_flags {
    USP_SAMPLER_KEEP = 1 << 0, /* totals keep samples that leave the time line; memory grows up to the limit */
    USP_SAMPLER_ASYNC = 1 << 1 /* Swift: stacks include the async callers */
};

struct usp_sampler_options {
    uint32_t size;                    /* size of this struct in bytes; set by usp_sampler_options_init */
    uint32_t which;                   /* enum usp_sampler_threads. Default USP_SAMPLER_MAIN */
    const struct usp_thread *threads; /* USP_SAMPLER_GIVEN: copied. Default NULL */
    size_t thread_count;
    const char *const *names; /* USP_SAMPLER_NAMED: patterns with * and ?, copied. Default NULL */
    size_t name_count;
    uint64_t interval; /* between ticks, in ns; at least 100,000. Default 10,000,000 */
    /* Random shift of each tick in either direction, in thousandths of the interval, so that periodic work is not
     * always sampled at the same point. At most 1000. Default 250. */
    uint32_t jitter;
    /* Limit of the time that sampling uses, in thousandths of one processor. Ticks are delayed to stay below. 0: none.
     * Default 10. */
    uint32_t budget_cpu;
    /* Limit of the time for which any thread may be stopped, in thousandths of its time. Its captures are delayed to
     * stay below. 0: none. Default 5. */
    uint32_t budget_stopped;
    uint32_t max_frames;  /* frames kept of each stack; of deeper stacks the middle is left out. Default 256 */
    uint32_t max_threads; /* at one time; threads beyond it are left out and counted. Default 1024 */
    uint32_t flags;       /* enum usp_sampler_flags. Default 0 */
    uint64_t memory;      /* limit for samples in bytes, at least 65,536. Default 8,388,608 */
    int64_t process;      /* id of another process to sample; 0: this process. Default 0 */
    uint64_t reserved[6];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_sampler_options_init(struct usp_sampler_options *options);

/* Makes a sampler, which does not run yet. options NULL: the defaults. Calls usp_prepare with its defaults if
 * necessary, unless another process is sampled. Linux and macOS allow that; the threads are stopped as by
 * usp_snapshot_create_process (snapshot.h), on Linux once already here to check the permission. On success the caller
 * frees *sampler. `error` (may be NULL, `error_size` bytes) receives a sentence when another process cannot be sampled
 * and when an option is out of its range. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_NO_THREAD
 * (there is no such thread or process), USP_ERROR_PERMISSION, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or the result of
 * usp_prepare. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_sampler_create(const struct usp_sampler_options *options, struct usp_sampler **sampler, char *error,
                               size_t error_size);

/* Start and stop sampling, as often as wanted. When usp_sampler_stop returns, no thread is being captured any more.
 * Samples are kept. The sampler's own thread must not call them. Returns USP_OK (also when there is nothing to do),
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM. Thread-safe, not async-signal-safe: it takes locks, and
 * starts or ends a thread. */
USP_API int usp_sampler_start(struct usp_sampler *sampler);
USP_API int usp_sampler_stop(struct usp_sampler *sampler);

/* Stops and frees a sampler. In the child of a fork, where the sampler does not run, it is only freed. NULL is ignored.
 * Not async-signal-safe: it ends a thread and frees memory. */
USP_API void usp_sampler_free(struct usp_sampler *sampler);

/* Copies the samples of a time span and a thread, as usp_profile_copy does (0, UINT64_MAX and thread 0: all samples),
 * while the sampler runs or later. Any number of threads may call it. On success the caller frees *profile. Returns
 * USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it takes locks and allocates. */
USP_API int usp_sampler_read(struct usp_sampler *sampler, uint64_t from, uint64_t to, uint64_t thread,
                             struct usp_profile **profile);

/* Gives the state of the run without copying samples. Every profile of usp_sampler_read contains it too. Thread-safe,
 * not async-signal-safe: it takes locks. */
USP_API void usp_sampler_get_run(struct usp_sampler *sampler, struct usp_profile_run *run);

/* Returns whether anything is left to sample, once the sampler has begun (usp_profile_run.start is not 0): false when
 * the process, or every selected thread, has ended. Thread-safe, not async-signal-safe: it takes locks. */
USP_API bool usp_sampler_is_alive(struct usp_sampler *sampler);

USP_END_DECLS

#endif
