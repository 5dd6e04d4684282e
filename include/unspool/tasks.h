/* SPDX-License-Identifier: MIT */
/* Tasks of a Swift process that no thread runs: suspended tasks, tasks that wait for an executor, and tasks that have
 * not begun. Swift's runtime keeps no list of them, so they are found by a search of the process's memory. */
#ifndef UNSPOOL_TASKS_H
#define UNSPOOL_TASKS_H

#include <unspool/base.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Made by usp_tasks_create, freed with usp_tasks_free. It never changes, so any number of threads may read
 * it. */
struct usp_tasks;

struct usp_tasks_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_tasks_options_init */
    uint32_t max_frames; /* innermost frames kept of each task's chain. Default 512 */
    uint32_t max_tasks;  /* maximum number of listed tasks. Default 65,536 */
    uint32_t reserved0;
    uint64_t max_bytes; /* bytes of memory to search at most; small mappings come first. Default 8 GiB */
    uint64_t timeout;   /* time limit of the search in ns. Default 10,000,000,000 */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_tasks_options_init(struct usp_tasks_options *options);

/* Searches for the tasks of a snapshot of another process or of a core file. Supported are x86_64 and arm64 Linux and
 * the runtime's layout 1 (Swift 6.1 to 6.3), a version number that the runtime itself exports.
 *
 * Each word that can be a task's first one is checked: the kind and state must be valid, and the resume addresses of
 * the task and of its async contexts must be code of an image, and a function's start where an unwind table describes
 * it. A task of a live process is read while the process runs, and once more afterwards. If it has changed in between,
 * it is read up to twice more, and left out if it keeps changing.
 *
 * options NULL: the defaults. On success the caller frees *tasks, which does not need the snapshot any longer. On
 * failure it is NULL, and `error` (may be NULL, `error_size` bytes) receives a sentence. Returns
 *   USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM
 *   USP_ERROR_NOT_FOUND    the process has no Swift runtime with tasks
 *   USP_ERROR_UNSUPPORTED  another system, processor or layout; a snapshot of this process or a raw capture
 *   USP_ERROR_NO_THREAD    the process has ended
 * Thread-safe, not async-signal-safe: it opens files, reads another process's memory and allocates. */
USP_API int usp_tasks_create(const struct usp_snapshot *snapshot, const struct usp_tasks_options *options,
                             struct usp_tasks **tasks, char *error, size_t error_size);

/* Frees a list of tasks. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_tasks_free(struct usp_tasks *tasks);

enum usp_tasks_flags {
    USP_TASKS_CUT = 1 << 0 /* the search reached a limit of the options, or that of all frames together (4,194,304) */
};

struct usp_tasks_info {
    uint32_t count; /* listed tasks */
    /* Tasks that a thread runs, which are not listed; 0 if the search ended before they were counted. */
    uint32_t running;
    uint32_t changed;  /* tasks that changed at each reading, which are not listed */
    uint32_t flags;    /* enum usp_tasks_flags */
    uint64_t searched; /* bytes of memory that were searched */
    uint64_t reserved[4];
};

enum usp_task_state {
    USP_TASK_SUSPENDED = 1, /* it waits for what `wait` states */
    USP_TASK_ENQUEUED = 2,  /* it runs as soon as its executor (a thread pool, an actor) takes it */
    USP_TASK_CREATED = 3    /* it has not begun and is in no queue; the runtime's timers are such tasks */
};

enum usp_task_wait {
    USP_TASK_WAIT_UNKNOWN = 0,
    USP_TASK_WAIT_TASK = 1,         /* for another task's end; `awaited` is its id */
    USP_TASK_WAIT_CONTINUATION = 2, /* for a continuation to be resumed */
    USP_TASK_WAIT_GROUP = 3,        /* for the next child of a task group */
    USP_TASK_WAIT_EXECUTOR = 4      /* for its executor */
};

enum usp_task_flags {
    USP_TASK_CANCELLED = 1 << 0,
    USP_TASK_CHILD = 1 << 1,       /* a structured child of the task `parent` */
    USP_TASK_GROUP_CHILD = 1 << 2, /* added to a task group */
    USP_TASK_ASYNC_LET = 1 << 3
};

struct usp_task {
    uint64_t id;       /* Swift's number of the task, in the order of creation */
    usp_addr address;  /* address of the task in the process */
    uint32_t state;    /* enum usp_task_state */
    uint32_t wait;     /* enum usp_task_wait */
    uint32_t flags;    /* enum usp_task_flags */
    uint32_t priority; /* Swift's TaskPriority.rawValue: 9, 17, 21, 25, …; 0: none */
    uint64_t parent;   /* id of the parent task; 0: there is none, or it cannot be read */
    uint64_t awaited;  /* id of the awaited task; 0: there is none, or it cannot be read */
    /* Where the task resumes, followed by its async callers. Every frame is USP_FRAME_KIND_ASYNC_RESUME. The frames
     * are valid as long as the list. */
    struct usp_stack stack;
    uint64_t reserved[4];
};

/* Returns data about the whole search. Valid until the list is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_tasks_info *usp_tasks_get_info(const struct usp_tasks *tasks);

/* Returns task i, 0 … count − 1, by ascending id. NULL past the end. Async-signal-safe, thread-safe. */
USP_API const struct usp_task *usp_tasks_get(const struct usp_tasks *tasks, size_t i);

/* Return a word for an enum usp_task_state or usp_task_wait, such as "suspended" or "continuation". Static lifetime,
 * never NULL. Async-signal-safe. */
USP_API const char *usp_task_state_string(uint32_t state);
USP_API const char *usp_task_wait_string(uint32_t wait);

USP_END_DECLS

#endif
