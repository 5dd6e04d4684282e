/* SPDX-License-Identifier: MIT */
/* A sampler: captures the stacks of chosen threads of this process, or of another one, again and again and keeps them as a profile
 * (profile.h), at a cost that the caller limits. */
#ifndef UNSPOOL_SAMPLER_H
#define UNSPOOL_SAMPLER_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/profile.h>

USP_BEGIN_DECLS

/* Opaque. Many threads may use one at a time; any number of samplers may run at once.
 *
 * A sampler has a thread of its own. At each tick it reads the processor clock of every chosen thread. One that has not run
 * since the last tick stands where it stood, and is not stopped again; of the others the stacks are captured, one after the
 * other; of another process up to 16 are stopped together. A sample says how much time it stands for and how much of it the thread ran, so that sums are right whatever the rate.
 *
 * Memory for samples is taken at creation; when it is full, the oldest go (usp_profile_info.evicted). */
struct usp_sampler;

/* Which threads. The sampler's own is never one. */
enum usp_sampler_threads {
    USP_SAMPLER_MAIN = 0,  /* the main thread */
    USP_SAMPLER_ALL = 1,   /* all, those that appear later too */
    USP_SAMPLER_GIVEN = 2, /* those in `threads` */
    USP_SAMPLER_NAMED = 3  /* those whose name matches one of `names`, also when they appear or get that name later: it
                                 is noticed within a tenth of a second for each thread that is known */
};

enum usp_sampler_flags {
    USP_SAMPLER_KEEP = 1 << 0, /* totals stay whole when samples leave the time line; memory grows up to the bound */
    USP_SAMPLER_ASYNC = 1 << 1 /* Swift: the async callers as well */
};

struct usp_sampler_options {
    uint32_t size;                    /* of this struct in bytes; set by usp_sampler_options_init */
    uint32_t which;                   /* enum usp_sampler_threads. Default USP_SAMPLER_MAIN */
    const struct usp_thread *threads; /* USP_SAMPLER_GIVEN: copied. Default NULL */
    size_t thread_count;
    const char *const *names; /* USP_SAMPLER_NAMED: patterns with * and ?, copied. Default NULL */
    size_t name_count;
    uint64_t interval;   /* between ticks, in ns; at least 100,000. Default 10,000,000 */
    uint32_t jitter;     /* by which a tick may be earlier or later, in thousandths of the interval, so that nothing
                                that is periodic itself is always met at the same place; at most 1000. Default 100 */
    uint32_t budget_cpu; /* what sampling may take, in thousandths of one processor: ticks are put off to stay
                                below. 0: no limit. Default 10 */
    uint32_t
        budget_stopped;  /* for how much of its time any thread may be stopped, in thousandths: its captures are put off
                                to stay below. 0: no limit. Default 5 */
    uint32_t max_frames; /* of a stack; of longer ones the middle is left out. Default 256 */
    uint32_t max_threads; /* at one time; more are left out, and counted. Default 1024 */
    uint32_t flags;       /* enum usp_sampler_flags. Default 0 */
    uint64_t memory;      /* for samples, in bytes, at least 65,536. Default 8,388,608 */
    int64_t process;      /* another process, by its id; 0: this one. Default 0 */
    uint64_t reserved[6];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_sampler_options_init(struct usp_sampler_options *options);

/* Makes a sampler, which does not run yet. options NULL: the defaults. Calls usp_prepare with its defaults where that has not
 * been done, unless another process is sampled, which Linux alone allows: threads are stopped as usp_snapshot_create_process
 * stops them (snapshot.h), once to see whether that is permitted. On success *sampler is the caller's to free; `error` (may be NULL, `error_size` bytes) receives a sentence when
 * another process cannot be sampled.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_NO_THREAD (no such thread or process),
 * USP_ERROR_PERMISSION, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or what usp_prepare returned.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_sampler_create(const struct usp_sampler_options *options, struct usp_sampler **sampler, char *error,
                               size_t error_size);

/* Begins to sample, and ends it; as often as wanted. usp_sampler_stop returns when no thread is being captured any more. What was
 * sampled stays. Not to be called by the sampler's own thread. Returns USP_OK (also when there is nothing to do),
 * USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM. Thread-safe, not async-signal-safe. */
USP_API int usp_sampler_start(struct usp_sampler *sampler);
USP_API int usp_sampler_stop(struct usp_sampler *sampler);

/* Stops it and frees it. In the child of a fork, where it does not run, it is only freed. NULL is ignored. Not
 * async-signal-safe. */
USP_API void usp_sampler_free(struct usp_sampler *sampler);

/* The samples of a span of time and of one thread, as usp_profile_copy has them, while the sampler runs or after. Any number of
 * readers may ask. On success *profile is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY.
 * Thread-safe, not async-signal-safe. */
USP_API int usp_sampler_read(struct usp_sampler *sampler, uint64_t from, uint64_t to, uint64_t thread,
                             struct usp_profile **profile);

/* How it goes, without a copy of the samples. Every profile that is read has it too. Thread-safe, not
 * async-signal-safe. */
USP_API void usp_sampler_get_run(struct usp_sampler *sampler, struct usp_profile_run *run);

/* Whether there is still something to be sampled, once the sampler has begun (usp_profile_run.start is not 0): false when the
 * process, or every chosen thread, has ended. Thread-safe, not async-signal-safe. */
USP_API bool usp_sampler_is_alive(struct usp_sampler *sampler);

USP_END_DECLS

#endif
