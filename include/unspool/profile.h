/* SPDX-License-Identifier: MIT */
/* A profile: samples of stacks, kept as a call tree with how often and how long, and written in the formats of other tools.
 * Taking samples is sampler.h's, from this process, or the caller's, from anywhere. */
#ifndef UNSPOOL_PROFILE_H
#define UNSPOOL_PROFILE_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/demangle.h>
#include <unspool/filter.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Many threads may use one at a time.
 *
 * Equal stacks are kept once, as paths in one tree: frames are the same when they have the same offset in the same build of
 * an image (or the same address outside of all images) and the same kind, and their callers are the same. A library that is
 * loaded again elsewhere gives the same frames; another one in its place does not.
 *
 * Its memory is bounded, the paths of images aside. When it is full, the oldest samples leave the time line while the totals
 * keep them, and a stack that no longer fits is refused. In a rolling profile the oldest samples go altogether, and their share
 * of the tree with them. All of it is counted. */
struct usp_profile;

enum usp_profile_flags {
    USP_PROFILE_FIXED = 1 << 0,   /* all memory is taken at creation; otherwise it grows up to the bound */
    USP_PROFILE_ROLLING = 1 << 1, /* the newest samples alone, as many as fit; with USP_PROFILE_FIXED only */
    USP_PROFILE_TOTALS = 1 << 2   /* no time line: the tree with its totals is all that is kept */
};

struct usp_profile_options {
    uint32_t size;       /* of this struct in bytes; set by usp_profile_options_init */
    uint32_t flags;      /* enum usp_profile_flags. Default 0 */
    uint64_t memory;     /* bytes, at least 65,536. Default 33,554,432 */
    int64_t pid;         /* of the process that is sampled; 0: not known. Default 0 */
    const char *program; /* its main program's path, copied; NULL: not known. Default NULL */
    uint32_t arch;       /* enum usp_arch of its stacks. Default: this host's */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_profile_options_init(struct usp_profile_options *options);

/* options NULL: the defaults. On success *profile is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_profile_create(const struct usp_profile_options *options, struct usp_profile **profile);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_profile_free(struct usp_profile *profile);

/* One sample. Zeros but for what is said. */
struct usp_profile_sample {
    const struct usp_thread_info *thread; /* whose stack it is: its id, name and flags */
    const struct usp_stack *stack;        /* NULL: the one that this thread's last sample had */
    const struct usp_images *images;      /* in which the stack's addresses lie; NULL: in none that are known */
    uint64_t time;                        /* when it was taken, by usp_clock; not decreasing for a thread */
    uint64_t wall;                        /* how much time it stands for, in ns */
    uint64_t cpu;                         /* how much of that the thread ran, in ns */
    uint32_t count;                       /* how many samples with the same stack this one is; 0: one */
    uint32_t reserved0;
    uint64_t reserved[2];
};

/* Adds a sample. Of `images` only those are remembered in which frames lie.
 * Returns USP_OK, USP_ERROR_ARGUMENT (also for an empty stack), USP_ERROR_NOT_FOUND when there is no last stack of the thread
 * (any more), USP_ERROR_FULL when the stack does not fit (it is counted as refused), USP_ERROR_NO_MEMORY. Thread-safe, not
 * async-signal-safe. */
USP_API int usp_profile_add(struct usp_profile *profile, const struct usp_profile_sample *sample);

/* The thread with this id has ended: a later sample with the same id is of another thread. Thread-safe, not
 * async-signal-safe. */
USP_API void usp_profile_end_thread(struct usp_profile *profile, uint64_t id);

/* How the samples were taken, for readers of the profile: every format that has a place for it says so. Filled by the
 * sampler, or by the caller with usp_profile_set_run. */
struct usp_profile_run {
    uint64_t wall_start;       /* when the run began: ns since 1970-01-01 UTC; 0 not known */
    uint64_t start, end;       /* of the run, by usp_clock */
    uint64_t interval;         /* that was asked for, in ns; 0: none */
    uint64_t longest_interval; /* that the budget led to; at least `interval` */
    uint64_t ticks;            /* at which samples were taken */
    uint64_t missed_ticks;     /* that came too late and were left out */
    uint64_t slowed;           /* ticks and captures that were put off to keep the budget */
    uint64_t captures;         /* stacks that were captured: a thread that has not run since is not stopped again */
    uint64_t failed;           /* captures that gave no stack */
    uint64_t truncated;        /* stacks with frames left out */
    uint64_t threads_appeared; /* after the first tick */
    uint64_t threads_ended;
    uint64_t threads_left_out; /* for which there was no room */
    uint64_t stopped_ns;       /* all threads, all captures */
    uint64_t longest_stop_ns;  /* of one thread for one capture */
    uint64_t cpu_ns;           /* that sampling itself took */
    uint64_t budget_cpu;       /* in thousandths of one processor; 0: none */
    uint64_t budget_stopped;   /* the same of each thread's time; 0: none */
    uint64_t reserved[5];
};

/* Thread-safe, not async-signal-safe. */
USP_API void usp_profile_set_run(struct usp_profile *profile, const struct usp_profile_run *run);

/* What a profile holds. */
struct usp_profile_info {
    uint64_t samples;      /* in the totals: for a rolling profile those that are still there */
    uint64_t wall_ns;      /* that they stand for, all threads together */
    uint64_t cpu_ns;       /* of that */
    uint64_t first, last;  /* times of the oldest and the newest of them; 0: none */
    uint64_t in_time_line; /* of these, those on the time line */
    uint64_t evicted;      /* samples that have left the time line; a rolling profile has lost them */
    uint64_t refused;      /* samples whose stack did not fit */
    uint64_t threads;      /* with samples */
    uint64_t stacks;       /* different ones, each thread's counted apart */
    uint64_t nodes;        /* of the tree */
    uint64_t memory;       /* bytes that are taken now, the paths of images aside */
    struct usp_profile_run run;
    uint64_t reserved[4];
};

/* Thread-safe, not async-signal-safe. */
USP_API void usp_profile_get_info(struct usp_profile *profile, struct usp_profile_info *info);

/* The samples of a time span and of one thread, or of all, as a profile of its own, which does not roll.
 *   from, to  usp_clock values: samples with from <= time < to. The totals of samples that have left the time line are in
 *             the copy when the span is 0 … UINT64_MAX
 *   thread    an id; 0: all
 * On success *copy is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not
 * async-signal-safe. */
USP_API int usp_profile_copy(struct usp_profile *profile, uint64_t from, uint64_t to, uint64_t thread,
                             struct usp_profile **copy);

/* By what samples are weighed. */
enum usp_profile_value {
    USP_PROFILE_SAMPLES = 0, /* how many there are */
    USP_PROFILE_WALL = 1,    /* ns that they stand for */
    USP_PROFILE_CPU = 2      /* ns that the threads ran */
};

/* The images in which frames lie, as a list of its own, in which none overlap: an image that was at another one's place is
 * put elsewhere. A symbolizer for this list names the profile's frames on any host that has the files. On success *images is
 * the caller's to free. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe. */
USP_API int usp_images_create_profile(struct usp_profile *profile, struct usp_images **images);

/* One stack of a profile with what its samples amount to. */
struct usp_profile_entry {
    const struct usp_thread_info *thread; /* cpu_time is what the samples amount to */
    const struct usp_stack *stack; /* its addresses are those of usp_images_create_profile's list, of which none has
                                             changed its place unless it had to */
    uint64_t samples, wall, cpu;
    uint64_t reserved[2];
};

/* Calls `visit` for each different stack of each thread, as they are when this is called, in no order, until it returns
 * something else than 0. The entry is valid during the call. Returns USP_OK, what `visit` returned, USP_ERROR_NO_MEMORY,
 * USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe. */
USP_API int usp_profile_visit(struct usp_profile *profile,
                              int (*visit)(void *context, const struct usp_profile_entry *entry), void *context);

/* The heaviest stack: from the root on, always the callee with the largest share of what its caller has, as long as that is more
 * than ended in the caller itself.
 *   thread  an id; 0: of all
 *   value   enum usp_profile_value
 *   stack   the caller's, after usp_stack_init; addresses as in usp_profile_entry
 *   share   may be NULL; how much of the total the innermost frame has, in thousandths
 * Returns USP_OK, USP_ERROR_NOT_FOUND when there is no sample, USP_ERROR_FULL when the frames do not suffice (the innermost ones
 * are there), USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_profile_heaviest(struct usp_profile *profile, uint64_t thread, uint32_t value, struct usp_stack *stack,
                                 uint32_t *share);

enum usp_profile_format {
    USP_PROFILE_TREE = 1,       /* a call tree for people, in the shape of sample(1) */
    USP_PROFILE_FOLDED = 2,     /* thread;outermost;…;innermost value: what flamegraph.pl and its kin read */
    USP_PROFILE_PPROF = 3,      /* google/pprof's profile.proto, gzip'd */
    USP_PROFILE_SPEEDSCOPE = 4, /* speedscope's JSON */
    USP_PROFILE_FIREFOX = 5,    /* Firefox Profiler's processed profile, JSON */
    USP_PROFILE_JSON = 6,       /* everything that is known, as doc/schema/profile.schema.json describes it */
    USP_PROFILE_SVG = 7         /* a flame graph in one file, to be looked at and searched in a browser */
};

/* The format's name: "tree", "folded", "pprof", "speedscope", "firefox", "json", "svg"; "unknown" otherwise. Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_profile_format_string(uint32_t format);

struct usp_profile_write_options {
    uint32_t size;   /* of this struct in bytes; set by usp_profile_write_options_init */
    uint32_t format; /* enum usp_profile_format. Default USP_PROFILE_TREE */
    uint32_t value;  /* enum usp_profile_value: what FOLDED, TREE and SVG count. Default USP_PROFILE_SAMPLES */
    uint32_t flags;  /* enum usp_profile_write_flags. Default 0 */
    struct usp_symbolizer *symbolizer; /* names the frames; NULL: image + offset. Default NULL */
    const struct usp_images
        *images; /* that the symbolizer is for: frames are looked for where the same build of their image lies in this
                    list. NULL: it is for this process. Default NULL */
    struct usp_demangler *demangler; /* NULL: names stay as they are. Default NULL */
    const char *title;               /* NULL: the program's name. Default NULL */
    uint64_t reserved[6];
};

enum usp_profile_write_flags {
    USP_PROFILE_MERGE_THREADS = 1 << 0, /* TREE, FOLDED, SVG: one tree for all threads */
    USP_PROFILE_NATIVE_IDS = 1 << 1,    /* FOLDED, SVG, SPEEDSCOPE: threads with names are shown with their ids too */
    /* Source files and lines where the format has a place for them, and inlined calls as frames of their own, as usp_symbolize_lines
     * finds them with the symbolizer. Reading debug information takes time and memory. */
    USP_PROFILE_LINES = 1 << 2
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_profile_write_options_init(struct usp_profile_write_options *options);

/* Writes a profile as it is when this is called; samples may be added meanwhile.
 *   write  receives the bytes in pieces of up to some hundred; context is handed to it
 * Names from elsewhere are made harmless in the way that the format has. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, or what `write` failed with. Thread-safe, not async-signal-safe. */
USP_API int usp_profile_write(struct usp_profile *profile, const struct usp_profile_write_options *options,
                              usp_write_function write, void *context);

USP_END_DECLS

#endif
