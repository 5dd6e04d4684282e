/* SPDX-License-Identifier: MIT */
/* A profile: samples of stacks, kept as a call tree with counts and times, and written in the formats of other tools.
 * The samples come from a sampler (sampler.h) or from the caller. */
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

/* Opaque. Many threads may use one at the same time.
 *
 * Equal stacks are stored once, as paths in one tree. Two frames are equal when they have the same offset in the same
 * build of an image (or the same address outside all images), the same kind, and equal callers. So a library that is
 * loaded again at another address gives the same frames; another library at the same address gives different ones.
 *
 * Functions that read a profile copy it in one piece; a thread that adds samples waits no longer than that.
 *
 * Memory is bounded, except for the paths of images. When it is full, the oldest samples leave the time line but stay
 * in the totals, and a stack that does not fit is refused. In a rolling profile the oldest samples also leave the
 * totals and the tree. The profile counts all of these. */
struct usp_profile;

struct usp_profile_file; /* profile_file.h */

enum usp_profile_flags {
    USP_PROFILE_FIXED = 1 << 0,   /* all memory is allocated at creation; otherwise it grows up to the bound */
    USP_PROFILE_ROLLING = 1 << 1, /* only the newest samples, as many as fit; requires USP_PROFILE_FIXED */
    USP_PROFILE_TOTALS = 1 << 2   /* no time line: only the tree with its totals is kept */
};

struct usp_profile_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_profile_options_init */
    uint32_t flags;      /* enum usp_profile_flags. Default 0 */
    uint64_t memory;     /* memory limit in bytes, at least 65,536. Default 33,554,432 */
    int64_t pid;         /* of the sampled process; 0: not known. Default 0 */
    const char *program; /* path of the sampled process's program, copied; NULL: not known. Default NULL */
    uint32_t arch;       /* enum usp_arch of the stacks. Default: this host's */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_profile_options_init(struct usp_profile_options *options);

/* Makes an empty profile. options NULL: the defaults. On success the caller frees *profile. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_profile_create(const struct usp_profile_options *options, struct usp_profile **profile);

/* Frees a profile. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_profile_free(struct usp_profile *profile);

/* One sample. Fields that are not needed are 0. */
struct usp_profile_sample {
    const struct usp_thread_info *thread; /* the sampled thread: id, name and flags */
    const struct usp_stack *stack;        /* NULL: the stack of this thread's previous sample */
    const struct usp_images *images;      /* the images that contain the stack's addresses; NULL: not known */
    uint64_t time;                        /* when it was taken, as usp_clock; readers sort samples by it */
    uint64_t wall;                        /* the time that the sample represents, in ns */
    uint64_t cpu;                         /* the part of that time in which the thread ran, in ns */
    uint64_t count;                       /* number of samples with this stack that it represents; 0: one */
    uint64_t reserved[2];
};

/* Adds a sample. Only those images of `images` are kept that contain frames. Returns USP_OK, USP_ERROR_ARGUMENT (also
 * for an empty stack), USP_ERROR_NOT_FOUND when the thread's previous stack is not, or no longer, in the profile,
 * USP_ERROR_FULL when the stack does not fit (it is counted as refused), USP_ERROR_NO_MEMORY. Thread-safe, not
 * async-signal-safe: it takes the profile's lock and allocates. */
USP_API int usp_profile_add(struct usp_profile *profile, const struct usp_profile_sample *sample);

/* Records that a thread has ended: later samples with this id belong to another thread. Thread-safe, not
 * async-signal-safe: it takes the profile's lock. */
USP_API void usp_profile_end_thread(struct usp_profile *profile, uint64_t id);

/* How the samples were taken. Every format that has a place for it contains it. Filled by the sampler, or by the
 * caller with usp_profile_set_run. */
struct usp_profile_run {
    uint64_t wall_start;       /* when the run began, in ns since 1970-01-01 UTC; 0: not known */
    uint64_t start, end;       /* of the run, as usp_clock */
    uint64_t interval;         /* the requested interval in ns; 0: none */
    uint64_t longest_interval; /* the longest interval that the budget caused; at least `interval` */
    uint64_t ticks;            /* ticks at which samples were taken */
    uint64_t missed_ticks;     /* ticks that were skipped because they came too late */
    uint64_t slowed;           /* ticks and captures that were delayed to keep within the budget */
    /* Captured stacks; a thread that has not run since its last sample is not stopped again. */
    uint64_t captures;
    uint64_t failed;           /* captures without a stack */
    uint64_t truncated;        /* stacks with omitted frames */
    uint64_t threads_appeared; /* threads that appeared after the first tick */
    uint64_t threads_ended;
    uint64_t threads_left_out; /* threads for which there was no room */
    uint64_t stopped_ns;       /* time for which threads were stopped, over all threads and captures */
    uint64_t longest_stop_ns;  /* longest time for which one thread was stopped for one capture */
    uint64_t cpu_ns;           /* processor time that sampling itself used */
    uint64_t budget_cpu;       /* limit of cpu_ns, in thousandths of one processor; 0: none */
    uint64_t budget_stopped;   /* limit of the time a thread is stopped, in thousandths of its time; 0: none */
    uint64_t reserved[5];
};

/* Sets the description of the run. Thread-safe, not async-signal-safe: it takes the profile's lock. */
USP_API void usp_profile_set_run(struct usp_profile *profile, const struct usp_profile_run *run);

/* The contents of a profile, in numbers. */
struct usp_profile_info {
    uint64_t samples;      /* in the totals; in a rolling profile only those that it still has */
    uint64_t wall_ns;      /* time that these samples represent, over all threads */
    uint64_t cpu_ns;       /* the part of that time in which the threads ran */
    uint64_t first, last;  /* times of the oldest and the newest of these samples; 0: none */
    uint64_t in_time_line; /* the number of these samples that are on the time line */
    uint64_t evicted;      /* samples that left the time line; a rolling profile has lost them */
    uint64_t refused;      /* samples with a stack that did not fit */
    uint64_t threads;      /* threads with samples */
    uint64_t stacks;       /* different stacks, counted for each thread */
    uint64_t nodes;        /* nodes of the tree */
    uint64_t memory;       /* bytes that are allocated now, without the paths of images */
    struct usp_profile_run run;
    uint64_t reserved[4];
};

/* Fills *info. Thread-safe, not async-signal-safe: it takes the profile's lock. */
USP_API void usp_profile_get_info(struct usp_profile *profile, struct usp_profile_info *info);

/* Copies the samples of a time span, of one thread or all, to a new profile, which does not roll.
 *   from, to  usp_clock values: samples with from <= time < to. With the span 0 … UINT64_MAX, the copy's totals
 *             include samples that have left the time line
 *   thread    a thread id; 0: all threads
 * On success the caller frees *copy. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not
 * async-signal-safe: it takes the profile's lock and allocates. */
USP_API int usp_profile_copy(struct usp_profile *profile, uint64_t from, uint64_t to, uint64_t thread,
                             struct usp_profile **copy);

/* The weight of a sample. */
enum usp_profile_value {
    USP_PROFILE_SAMPLES = 0, /* 1 for each sample */
    USP_PROFILE_WALL = 1,    /* the time that it represents, in ns */
    USP_PROFILE_CPU = 2      /* the time that the thread ran, in ns */
};

/* Lists the images that contain frames. If images overlap because one was loaded at another one's place, some are
 * moved. On any host that has the files, a symbolizer for this list symbolicates the profile's frames. On success the
 * caller frees *images. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe: it
 * allocates and takes the profile's lock. */
USP_API int usp_images_create_profile(struct usp_profile *profile, struct usp_images **images);

/* One stack of a profile with the sums of its samples. */
struct usp_profile_entry {
    const struct usp_thread_info *thread; /* cpu_time is the sum of the samples */
    /* Its addresses are those of usp_images_create_profile's list, in which images are moved only when they overlap. */
    const struct usp_stack *stack;
    uint64_t samples, wall, cpu;
    uint64_t reserved[2];
};

/* Calls `visit` for each different stack of each thread, in no particular order, until it returns something other than
 * 0. It visits the profile as it is at the time of the call. The entry is valid during the callback. Returns USP_OK,
 * the result of `visit`, USP_ERROR_NO_MEMORY, USP_ERROR_ARGUMENT. Thread-safe, not async-signal-safe: it takes the
 * profile's lock and allocates. */
USP_API int usp_profile_visit(struct usp_profile *profile,
                              int (*visit)(void *context, const struct usp_profile_entry *entry), void *context);

/* Finds the heaviest stack. From the root, it follows the callee with the largest share of its caller's weight, as long
 * as that share exceeds the weight of samples that end in the caller itself.
 *   thread  a thread id; 0: all threads
 *   value   enum usp_profile_value
 *   stack   the caller's, after usp_stack_init; addresses as in usp_profile_entry
 *   share   receives the innermost frame's share of the total, in thousandths; may be NULL
 * Returns USP_OK, USP_ERROR_NOT_FOUND when there is no sample, USP_ERROR_FULL when the stack has too few frames (the
 * innermost ones are filled), USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it takes the
 * profile's lock and allocates. */
USP_API int usp_profile_heaviest(struct usp_profile *profile, uint64_t thread, uint32_t value, struct usp_stack *stack,
                                 uint32_t *share);

enum usp_profile_format {
    USP_PROFILE_TREE = 1,   /* a call tree for people, in the form of sample(1) */
    USP_PROFILE_FOLDED = 2, /* thread;outermost;…;innermost value: for flamegraph.pl and compatible tools */
    /* google/pprof's profile.proto in the gzip format, not compressed; totals only, no times. */
    USP_PROFILE_PPROF = 3,
    /* speedscope's JSON: each thread's samples in the order of time, weighted by processor time (USP_PROFILE_CPU) or
     * time. */
    USP_PROFILE_SPEEDSCOPE = 4,
    USP_PROFILE_FIREFOX = 5, /* Firefox Profiler's processed profile, version 66, JSON; newer viewers convert it */
    USP_PROFILE_JSON = 6,    /* all data, as described in doc/schema/profile.schema.json */
    /* A flame graph in one file. A browser zooms it (click a box) and searches it (Ctrl+F, or #TEXT after its address);
     * without scripts it is a picture. */
    USP_PROFILE_SVG = 7,
    /* OpenTelemetry's ProfilesData, as in opentelemetry-proto 1.10 and 1.11: a profile each for samples, time and
     * processor time, that of `value` first. Samples have their times if all samples of their stack are on the time
     * line, none of them has the time 0, and run.wall_start is known. */
    USP_PROFILE_OTLP = 8
};

/* Returns the format's name: "tree", "folded", "pprof", "speedscope", "firefox", "json", "svg", "otlp";
 * otherwise "unknown".
 * Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_profile_format_string(uint32_t format);

struct usp_profile_write_options {
    uint32_t size;   /* size of this struct in bytes; set by usp_profile_write_options_init */
    uint32_t format; /* enum usp_profile_format. Default USP_PROFILE_TREE */
    uint32_t value;  /* enum usp_profile_value: the weight in FOLDED, TREE and SVG. Default USP_PROFILE_SAMPLES */
    uint32_t flags;  /* enum usp_profile_write_flags. Default 0 */
    struct usp_symbolizer *symbolizer; /* symbolicates the frames; NULL: image + offset. Default NULL */
    /* The symbolizer's list of images. A frame is looked up where this list has the same build of the frame's image.
     * NULL: the symbolizer is for this process. Default NULL. */
    const struct usp_images *images;
    struct usp_demangler *demangler; /* NULL: names stay mangled. Default NULL */
    const char *title;               /* NULL: the program's name. Default NULL */
    /* The file from which the samples come (usp_profile_file_samples). Its names and lines are used where it has some,
     * in place of the symbolizer's. Default NULL. */
    const struct usp_profile_file *file;
    uint64_t reserved[5];
};

enum usp_profile_write_flags {
    USP_PROFILE_MERGE_THREADS = 1 << 0, /* TREE, FOLDED, SVG: one tree for all threads */
    USP_PROFILE_NATIVE_IDS = 1 << 1,    /* FOLDED, SVG, SPEEDSCOPE: named threads are shown with their ids too */
    /* Source files and lines where the format has a place for them, and inlined calls as separate frames, as
     * usp_symbolize_lines gives them for the symbolizer. Reading debug information takes time and memory. */
    USP_PROFILE_LINES = 1 << 2
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_profile_write_options_init(struct usp_profile_write_options *options);

/* Writes a profile as it is at the time of the call; other threads may add samples meanwhile.
 *   write    receives the bytes in pieces of up to some hundred
 *   context  passed to `write`
 * Names are escaped as the format requires. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or the status with
 * which `write` failed. Thread-safe, not async-signal-safe: it takes the profile's lock and allocates. */
USP_API int usp_profile_write(struct usp_profile *profile, const struct usp_profile_write_options *options,
                              usp_write_function write, void *context);

/* Writes a profile of this process to an open file, with demangled names and lines. Uses usp_symbolizer_default.
 *   fd      an open file descriptor
 *   format  enum usp_profile_format
 * Returns as usp_profile_write does, and USP_ERROR_SYSTEM when a write failed. Thread-safe, not async-signal-safe: it
 * allocates, opens files and takes locks. */
USP_API int usp_print_profile(int fd, struct usp_profile *profile, uint32_t format);

USP_END_DECLS

#endif
