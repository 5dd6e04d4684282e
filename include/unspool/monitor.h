/* SPDX-License-Identifier: MIT */
/* A hang monitor. It watches each turn of a thread's loop, notices a turn that takes too long, and samples the
 * thread's stack meanwhile. doc/monitor.md explains the contents of a report. */
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

/* Opaque. A process may have several, each for one thread. */
struct usp_monitor;

/* ---- hangs ---- */

enum usp_hang_state {
    USP_HANG_ONGOING = 0,
    USP_HANG_RECOVERED = 1, /* the turn ended */
    USP_HANG_KILLED = 2,    /* the process ended during the turn; a later process found the hang */
    USP_HANG_ABANDONED = 3  /* the monitor was stopped during the turn */
};

/* Returns the state as in reports: "ongoing", "recovered", "killed", "abandoned"; otherwise "unknown". Static
 * lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_hang_state_string(uint32_t state);

enum usp_hang_flags {
    USP_HANG_SEVERE = 1 << 0 /* it has lasted longer than usp_monitor_options.severe */
};

/* A hang. Filled by the library. */
struct usp_hang {
    uint64_t id;              /* number of this hang in this process, from 1; the same in all reports of one hang */
    uint32_t state;           /* enum usp_hang_state */
    uint32_t flags;           /* enum usp_hang_flags */
    int64_t pid;              /* the process */
    const char *program;      /* path of the program; "" unknown */
    struct usp_thread thread; /* the thread that hangs */
    uint64_t wall_start;      /* when the turn began, in ns since 1970-01-01 UTC; 0 unknown */
    uint64_t duration;        /* of the turn, so far or in total, in ns; without taken_off */
    uint64_t taken_off;       /* time in which the monitor did not run, in ns; it is not counted in `duration` */
    uint64_t interval;        /* between two samples at first, in ns; it grows */
    uint64_t samples;         /* number of samples of the thread's stack */
    uint64_t first_after;     /* how long the turn had lasted when the first sample was taken, in ns */
    /* The first sample: what the thread was doing when the turn became late. NULL without samples. Its addresses are
     * those of usp_images_create_profile(profile). */
    const struct usp_stack *first;
    struct usp_profile *profile; /* all samples, from the moment when the turn became late */
    /* One sample of every thread except the monitor's, taken when the turn became a hang. Empty when they could not be
     * taken. A thread without a stack, such as one that did not answer in time, has no sample: usp_hang_write writes
     * its id, name and state, and why it has none. */
    struct usp_profile *threads;
    int32_t capture_status; /* why there are no samples: the status of the last capture */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* Options for writing hangs. Filled by usp_hang_write_options_init, then by the caller. */
struct usp_hang_write_options {
    uint32_t size;                     /* size of this struct in bytes; set by usp_hang_write_options_init */
    uint32_t style;                    /* enum usp_hang_style. Default USP_HANG_TEXT */
    struct usp_symbolizer *symbolizer; /* as in struct usp_profile_write_options. Default NULL */
    const struct usp_images *images;   /* as in struct usp_profile_write_options. Default NULL */
    struct usp_demangler *demangler;   /* as in struct usp_profile_write_options. Default NULL */
    uint32_t flags;                    /* enum usp_hang_write_flags. Default 0 */
    uint32_t reserved0;
    uint64_t reserved[3];
};

enum usp_hang_write_flags {
    USP_HANG_LINES = 1 << 0, /* source files, lines and inlined calls, as with USP_PROFILE_LINES */
    USP_HANG_BRIEF = 1 << 1  /* USP_HANG_TEXT: without the tree of all samples */
};

enum usp_hang_style {
    USP_HANG_TEXT = 0, /* for people */
    USP_HANG_JSON = 1  /* as described in doc/schema/hang.schema.json */
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_hang_write_options_init(struct usp_hang_write_options *options);

/* Writes a hang: its duration, the heaviest stack, the first sample, the tree of all samples, all threads. options
 * NULL: the defaults. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or the status with which `write` failed.
 * Not async-signal-safe: it allocates. */
USP_API int usp_hang_write(const struct usp_hang *hang, const struct usp_hang_write_options *options,
                           usp_write_function write, void *context);

/* Writes a hang of this process as text to an open file, with demangled names and lines. A function for
 * usp_monitor_options.ended and the others. Uses usp_symbolizer_default.
 *   context  points to an int, the file's descriptor; NULL: standard error
 * What cannot be written is lost. Thread-safe, not async-signal-safe: it allocates, opens files and takes locks. */
USP_API void usp_print_hang(void *context, const struct usp_hang *hang);

/* Reads the hang during which a process was killed from the file of its monitor (usp_monitor_options.file). On success
 * the caller frees *hang. Its state is USP_HANG_KILLED, even if the process is still alive: this is not checked. A
 * symbolizer for this process symbolicates the stacks where it has the same builds loaded.
 *
 * Returns USP_OK, USP_ERROR_NOT_FOUND when there is no such file or it contains no unfinished hang, USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, USP_ERROR_PERMISSION, USP_ERROR_NO_MEMORY, USP_ERROR_SYSTEM, USP_ERROR_ARGUMENT. Not
 * async-signal-safe: it opens files and allocates. */
USP_API int usp_hang_open(const char *path, struct usp_hang **hang);

/* Frees a hang of usp_hang_open. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_hang_free(struct usp_hang *hang);

/* ---- the monitor ---- */

enum usp_monitor_flags {
    USP_MONITOR_WHILE_TRACED = 1 << 0, /* hangs are reported even while a debugger traces the process */
    /* Watches a queue instead of a thread. The queue's work runs on any thread. It is pinged every `late` ns and
     * answers with usp_monitor_answer. Its hangs have no samples, but one snapshot of all threads. */
    USP_MONITOR_QUEUE = 1 << 1
};

struct usp_monitor_options {
    uint32_t size;            /* size of this struct in bytes; set by usp_monitor_options_init */
    uint32_t flags;           /* enum usp_monitor_flags. Default 0 */
    struct usp_thread thread; /* the watched thread; id 0: the main thread. Default 0 */
    /* A turn that lasts this many ns is late; from then on the stack is sampled. Default 100,000,000. */
    uint64_t late;
    uint64_t hang;     /* a turn that lasts this many ns is a hang. More than `late`. Default 250,000,000 */
    uint64_t severe;   /* a hang that lasts this many ns is severe. Default 2,000,000,000 */
    uint64_t interval; /* between samples, in ns, at least 1,000,000, at most `late`. Default 20,000,000 */
    /* After this many ns without a turn, the monitor's thread sleeps until the next turn, which makes one system call
     * to wake it. Default 1,000,000,000. */
    uint64_t idle;
    uint64_t update;     /* time between two reports of an ongoing hang, in ns. Default 1,000,000,000 */
    uint32_t max_frames; /* frames kept of each stack; of deeper stacks the middle is left out. Default 128 */
    uint32_t reserved0;
    /* Bytes for a hang, allocated at creation: half of them for its samples, half for one stack of each thread, which
     * suffices for 256 threads by default. At least 262,144. Default 1,048,576. */
    uint64_t memory;
    /* Path of a file that preserves the hang during which the process is killed. It is recreated at each start. Only
     * one process and one monitor may use the file at a time: a second one would report the current hang as killed,
     * and take the file over. NULL (default): no file. */
    const char *file;
    /* Optional callbacks, on the monitor's own thread: a hang has begun, is ongoing (periodically, and when it becomes
     * severe), has ended. Each `began` is followed by an `ended`, also when the monitor is stopped in between. *hang
     * and what it points to are valid during the call. */
    void (*began)(void *context, const struct usp_hang *hang);
    void (*updated)(void *context, const struct usp_hang *hang);
    void (*ended)(void *context, const struct usp_hang *hang);
    /* Optional. Called once after the start if `file` contains a hang during which an earlier process was killed. */
    void (*killed)(void *context, const struct usp_hang *hang);
    /* Optional. Asks a loop that does not report its turns to call usp_monitor_answer. Called on the monitor's thread,
     * only when the thread has run since its last answer. Before the first answer there is no hang. It may wake the
     * loop and must do nothing else. */
    void (*ping)(void *context);
    /* Optional, in addition to usp_monitor_learn_wait. Returns whether a thread with this stack waits in its loop
     * although it has not reported so, such as in a run loop mode without an observer. Called on the monitor's thread,
     * for stacks of late turns. */
    bool (*is_waiting)(void *context, const struct usp_stack *stack);
    void *context; /* passed to all of these functions */
    uint64_t reserved[6];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_monitor_options_init(struct usp_monitor_options *options);

/* Makes a monitor, which does not run yet. options NULL: the defaults; strings are copied. Calls usp_prepare with its
 * defaults if necessary. On success the caller frees *monitor. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY,
 * USP_ERROR_NO_THREAD, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM, or the result of usp_prepare. Where threads cannot be
 * captured (watchOS, Rosetta), hangs have a duration but no stacks. Not async-signal-safe: it allocates. */
USP_API int usp_monitor_create(const struct usp_monitor_options *options, struct usp_monitor **monitor);

/* Start and stop watching, as often as wanted. When usp_monitor_stop returns, no callback is running any more. A
 * callback must not stop the monitor; it may start it, unless another thread is stopping it (both give USP_ERROR_BUSY).
 * Returns USP_OK, also when there is nothing to do, USP_ERROR_BUSY, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY,
 * USP_ERROR_SYSTEM, or the status with which creating the file failed (nothing is watched then). Thread-safe, not
 * async-signal-safe: it takes locks, allocates, and starts or ends a thread. */
USP_API int usp_monitor_start(struct usp_monitor *monitor);
USP_API int usp_monitor_stop(struct usp_monitor *monitor);

/* Stops and frees a monitor. The watched thread must not report turns any more. If a callback calls it, the monitor is
 * freed when that callback has returned. In the child of a fork, where the monitor does not run, it is only freed. NULL
 * is ignored. Not async-signal-safe: it ends a thread and frees memory. */
USP_API void usp_monitor_free(struct usp_monitor *monitor);

/* ---- reports from the watched thread ----
 *
 * Two calls watch any loop: usp_monitor_waiting before it waits, usp_monitor_turn_begin afterwards. A nested (modal)
 * loop makes the same calls, and when it has ended, usp_monitor_turn_begin continues the outer turn. A loop that does
 * not wait between turns calls usp_monitor_turn_begin for each turn. Watching begins with the first call.
 *
 * Time in which the monitor did not run is not counted: the process was suspended, a debugger held it, or the machine
 * slept. The time of the monitor's own work counts: captures, and up to usp_monitor_options.update of each callback.
 * Hangs in a process that a debugger traces are not reported, unless USP_MONITOR_WHILE_TRACED is set.
 *
 * A call takes some tens of nanoseconds and makes no system call, except when it has to wake the monitor's thread:
 * then it makes one. NULL is ignored. Async-signal-safe. Only one thread at a time may call them. */
USP_API void usp_monitor_turn_begin(struct usp_monitor *monitor);
USP_API void usp_monitor_turn_end(struct usp_monitor *monitor); /* the turn ends and no other begins yet */
USP_API void usp_monitor_waiting(struct usp_monitor *monitor);

/* Answers usp_monitor_options.ping. Async-signal-safe, thread-safe. */
USP_API void usp_monitor_answer(struct usp_monitor *monitor);

/* Returns a descriptor (on Linux an eventfd) for loops that wait for descriptors and do not report turns. When it is
 * readable, the loop calls usp_monitor_answer. It replaces usp_monitor_options.ping, and is closed with the monitor.
 * Call it before usp_monitor_start. Returns the descriptor, or USP_ERROR_SYSTEM, USP_ERROR_UNSUPPORTED,
 * USP_ERROR_ARGUMENT. For one thread at a time, not async-signal-safe: it opens a descriptor and writes data that
 * another call may be reading. */
USP_API int usp_monitor_open_ping(struct usp_monitor *monitor);

/* Learns from the calling stack how the run loop's library calls its wait function. The caller is a function that the
 * watched thread's run loop calls, such as an observer. The monitor then recognizes a thread that waits in such a loop
 * without having reported it (nested, or in another mode). The loop has to be in a library of its own, and has to wait
 * in mach_msg or in the C library. The first result is kept; later calls cost one comparison. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when the stack does not show it, the result of usp_capture_self, or USP_ERROR_ARGUMENT. Only one
 * thread at a time may call it. Not async-signal-safe: it writes data that an interrupted call may be writing. */
USP_API int usp_monitor_learn_wait(struct usp_monitor *monitor);

struct usp_monitor_statistics {
    uint64_t turns;     /* reported turns; wraps at 2^30 */
    uint64_t late;      /* late turns, including hangs */
    uint64_t hangs;     /* hangs, except those that a debugger excused */
    uint64_t looks;     /* how many times the monitor's thread checked */
    uint64_t sleeps;    /* how many times it went to sleep because nothing happened */
    uint64_t captures;  /* captures of the watched thread */
    uint64_t taken_off; /* ns in which the monitor did not run, in total */
    /* Late turns and hangs that turned out to be none: the thread waited in its loop, or a debugger held the
     * process. */
    uint64_t excused;
    uint64_t reserved[4];
};

/* Fills *statistics. Thread-safe, not async-signal-safe: it takes locks. */
USP_API void usp_monitor_get_statistics(struct usp_monitor *monitor, struct usp_monitor_statistics *statistics);

USP_END_DECLS

#endif
