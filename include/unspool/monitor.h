/* SPDX-License-Identifier: MIT */
/* A hang monitor: it watches each turn of a thread's loop, notices a turn that does not end, and finds out where the thread
 * stands meanwhile. What a report says is explained in doc/monitor.md. */
#ifndef UNSPOOL_MONITOR_H
#define UNSPOOL_MONITOR_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/demangle.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/profile.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Several may run in a process, each for one thread. */
struct usp_monitor;

/* ---- hangs ---- */

enum usp_hang_state {
    USP_HANG_GOES_ON = 0,
    USP_HANG_RECOVERED = 1, /* the turn ended */
    USP_HANG_KILLED = 2,    /* the process ended meanwhile: found by a later one */
    USP_HANG_ABANDONED = 3  /* the monitor was stopped meanwhile */
};

/* The state as reports have it: "goes on", "recovered", "killed", "abandoned"; "unknown" otherwise. Static lifetime.
 * Async-signal-safe, thread-safe. */
USP_API const char *usp_hang_state_string(uint32_t state);

enum usp_hang_flags {
    USP_HANG_SEVERE = 1 << 0 /* it has lasted for longer than usp_monitor_options.severe */
};

/* A hang. Filled by the library. */
struct usp_hang {
    uint64_t id;              /* of this hang in this process, from 1 on: all reports of one hang have the same */
    uint32_t state;           /* enum usp_hang_state */
    uint32_t flags;           /* enum usp_hang_flags */
    int64_t pid;              /* of the process */
    const char *program;      /* its path, "" unknown */
    struct usp_thread thread; /* that hangs */
    uint64_t wall_start;      /* when the turn began: ns since 1970-01-01 UTC, 0 unknown */
    uint64_t duration;        /* since then, so far or in all, in ns: without taken_off */
    uint64_t taken_off;       /* time in which the monitor did not run, and which therefore is not counted, in ns */
    uint64_t interval;        /* between two samples in the beginning, in ns; it grows */
    uint64_t samples;         /* of the thread's stack */
    uint64_t first_after;     /* how long the turn had lasted when the first one was taken, in ns */
    const struct usp_stack
        *first; /* that one: what the thread was doing when it was late, NULL without samples. Its addresses
                                      are those of usp_images_create_profile(profile) */
    struct usp_profile *profile; /* all of them: from the moment on at which the turn was late */
    struct usp_profile
        *threads;           /* one sample of every thread but the monitor's, taken when the turn became a hang; without
                                    samples where that could not be done */
    int32_t capture_status; /* why there are no samples: what the last capture returned */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* How hangs are written. Filled by usp_hang_write_options_init, then by the caller. */
struct usp_hang_write_options {
    uint32_t size;                     /* of this struct in bytes; set by usp_hang_write_options_init */
    uint32_t style;                    /* enum usp_hang_style. Default USP_HANG_TEXT */
    struct usp_symbolizer *symbolizer; /* as in struct usp_profile_write_options; so are the next two. Default NULL */
    const struct usp_images *images;   /* Default NULL */
    struct usp_demangler *demangler;   /* Default NULL */
    uint32_t flags;                    /* enum usp_hang_write_flags. Default 0 */
    uint32_t reserved0;
    uint64_t reserved[3];
};

enum usp_hang_write_flags {
    USP_HANG_LINES = 1 << 0, /* source files and lines, and inlined calls, as with USP_PROFILE_LINES */
    USP_HANG_BRIEF = 1 << 1  /* USP_HANG_TEXT: without the tree of all samples */
};

enum usp_hang_style {
    USP_HANG_TEXT = 0, /* for people */
    USP_HANG_JSON = 1  /* as doc/schema/hang.schema.json describes it */
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_hang_write_options_init(struct usp_hang_write_options *options);

/* Writes a hang: how long, the heaviest stack, what the thread was doing at first, the tree of all samples, all threads. options
 * NULL: the defaults. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or what `write` failed with.
 * Not async-signal-safe. */
USP_API int usp_hang_write(const struct usp_hang *hang, const struct usp_hang_write_options *options,
                           usp_write_function write, void *context);

/* The hang that a process was in when it was killed, out of the file of its monitor (usp_monitor_options.file). On success *hang
 * is the caller's to free; its state is USP_HANG_KILLED, also when the process still lives: that is not looked up. Names are found by a symbolizer for this process as far as it has the
 * same builds loaded. Returns USP_OK, USP_ERROR_NOT_FOUND when there is no such file or no hang was going on, USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_ARGUMENT.
 * Not async-signal-safe. */
USP_API int usp_hang_open(const char *path, struct usp_hang **hang);

/* Frees what usp_hang_open gave. NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_hang_free(struct usp_hang *hang);

/* ---- the monitor ---- */

enum usp_monitor_flags {
    USP_MONITOR_WHILE_TRACED = 1 << 0, /* hangs are reported although a debugger holds the process */
    /* What is watched is a queue whose work runs on any thread, and which answers pings: it is asked every `late`. Its hangs have no
     * samples, but all threads once. */
    USP_MONITOR_QUEUE = 1 << 1
};

struct usp_monitor_options {
    uint32_t size;            /* of this struct in bytes; set by usp_monitor_options_init */
    uint32_t flags;           /* enum usp_monitor_flags. Default 0 */
    struct usp_thread thread; /* that is watched; id 0: the main thread. Default 0 */
    uint64_t late;            /* a turn that lasts for so long is late, and its stack is sampled from then on. Default
                                 100,000,000 ns */
    uint64_t hang;            /* one that lasts for so long is a hang. More than `late`. Default 250,000,000 ns */
    uint64_t severe;          /* and for so long a severe one. Default 2,000,000,000 ns */
    uint64_t interval;        /* between samples, in ns, at least 1,000,000, at most `late`. Default 20,000,000 */
    uint64_t idle;            /* without a turn for so long, the monitor's thread sleeps until the next one. Default
                                 1,000,000,000 ns */
    uint64_t update;          /* between two reports of a hang that goes on, in ns. Default 1,000,000,000 */
    uint32_t max_frames;      /* of a stack; of longer ones the middle is left out. Default 128 */
    uint32_t reserved0;
    uint64_t memory; /* for the samples and stacks of a hang, in bytes, at least 262,144: taken at creation. Default
                         1,048,576 */
    /* The path of a file in which a hang is kept whose process was killed; made anew at each start. One process and one monitor at
     * a time: another one would report the hang that goes on as killed, and take the file. NULL: none. Default NULL */
    const char *file;
    /* Called on the monitor's own thread, all optional: a hang begins, goes on (from time to time, and when it becomes severe),
     * has ended. Each that begins ends, also when the monitor is stopped meanwhile. *hang and what it points to are valid during
     * the call. */
    void (*began)(void *context, const struct usp_hang *hang);
    void (*updated)(void *context, const struct usp_hang *hang);
    void (*ended)(void *context, const struct usp_hang *hang);
    /* Called once after the start if `file` holds a hang in which an earlier process was killed. */
    void (*killed)(void *context, const struct usp_hang *hang);
    /* Optional: asks the loop, from the monitor's thread, for usp_monitor_answer, where no call reports turns: it may wake the
     * loop and do no more. It is called only when the thread has run since it answered last. */
    void (*ping)(void *context);
    /* Optional, beside usp_monitor_learn_wait: whether a thread with this stack waits in its loop although no call has said so, as
     * in a mode of a run loop in which there is no observer. Called on the monitor's thread for stacks of turns that are late. */
    bool (*is_waiting)(void *context, const struct usp_stack *stack);
    void *context; /* of all of them */
    uint64_t reserved[6];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_monitor_options_init(struct usp_monitor_options *options);

/* Makes a monitor, which does not run yet. options NULL: the defaults; strings are copied. Calls usp_prepare with its defaults
 * where that has not been done. On success *monitor is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or what usp_prepare returned. Where threads
 * cannot be captured (watchOS, Rosetta) hangs have a duration and no stacks. Not async-signal-safe. */
USP_API int usp_monitor_create(const struct usp_monitor_options *options, struct usp_monitor **monitor);

/* Starts and stops watching, as often as wanted. usp_monitor_stop returns when no function of the options runs any more. A function of
 * the options may not stop the monitor; it may start it, unless another thread is stopping it (both: USP_ERROR_BUSY). Returns USP_OK,
 * also when there is nothing to do, USP_ERROR_BUSY, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, or why the file cannot
 * be made (then nothing is watched). Thread-safe, not async-signal-safe. */
USP_API int usp_monitor_start(struct usp_monitor *monitor);
USP_API int usp_monitor_stop(struct usp_monitor *monitor);

/* Stops it and frees it. The thread that is watched may not report turns any more. Called by a function of the options, it is
 * freed when that has returned. In the child of a fork, where it does not run, it is only freed. NULL is ignored. Not
 * async-signal-safe. */
USP_API void usp_monitor_free(struct usp_monitor *monitor);

/* ---- what the watched thread tells ----
 *
 * Any loop is watched by two calls: usp_monitor_waiting before it waits, usp_monitor_turn_begin after. A loop inside a turn (a
 * modal one) does the same, and the turn in which it runs goes on with usp_monitor_turn_begin when it has ended. A loop that does
 * not wait between turns calls usp_monitor_turn_begin for each of them. Nothing is watched before the first call.
 *
 * They cost some tens of nanoseconds and no system call, but for the turn that wakes the monitor's thread out of its sleep: that
 * makes one. NULL is ignored. Async-signal-safe; of one thread at a time. */
USP_API void usp_monitor_turn_begin(struct usp_monitor *monitor);
USP_API void usp_monitor_turn_end(struct usp_monitor *monitor); /* and nothing else begins yet */
USP_API void usp_monitor_waiting(struct usp_monitor *monitor);

/* The answer to usp_monitor_options.ping. Async-signal-safe, thread-safe. */
USP_API void usp_monitor_answer(struct usp_monitor *monitor);

/* For loops that wait for descriptors and do not report turns: a descriptor to be waited for (an eventfd on Linux). When
 * it is readable, the loop calls usp_monitor_answer. It takes the place of usp_monitor_options.ping, and is closed with the
 * monitor. To be called before usp_monitor_start. Returns the descriptor, or USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED,
 * USP_ERROR_ARGUMENT. Of one thread at a time, not async-signal-safe. */
USP_API int usp_monitor_open_ping(struct usp_monitor *monitor);

/* Called by a function that the watched thread's run loop calls, such as an observer: learns by the stack how the loop's library
 * calls, so that the monitor knows when a thread that has not said so waits in such a loop (nested, or in another mode). The loop has
 * to lie in a library of its own, and to wait in mach_msg or in the C library. Whatever was learned first stays; later calls cost a
 * comparison. Returns USP_OK, USP_ERROR_NOT_FOUND when the stack tells nothing, what usp_capture_self returned, USP_ERROR_ARGUMENT.
 * Of one thread at a time, not async-signal-safe. */
USP_API int usp_monitor_learn_wait(struct usp_monitor *monitor);

struct usp_monitor_statistics {
    uint64_t turns;     /* that were reported; wraps at 2^30 */
    uint64_t late;      /* turns that were late, hangs included */
    uint64_t hangs;     /* of these, hangs; those that a debugger excused are not counted */
    uint64_t looks;     /* times that the monitor's thread looked */
    uint64_t sleeps;    /* times that it went to sleep because nothing happened */
    uint64_t captures;  /* of the watched thread */
    uint64_t taken_off; /* ns in which the monitor did not run, altogether */
    uint64_t excused;   /* hangs that were none: the thread waited in its loop, or a debugger held the process */
    uint64_t reserved[4];
};

/* Thread-safe, not async-signal-safe. */
USP_API void usp_monitor_get_statistics(struct usp_monitor *monitor, struct usp_monitor_statistics *statistics);

USP_END_DECLS

#endif
