/* SPDX-License-Identifier: MIT */
/* The tasks of a Swift process that no thread runs: suspended ones, those that wait for an executor, and those that have not
 * begun. Swift's runtime keeps no list of them, so they are searched for in the process's memory. */
#ifndef UNSPOOL_TASKS_H
#define UNSPOOL_TASKS_H

#include <unspool/base.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque; made by usp_tasks_create, freed with usp_tasks_free. Not changed after it is made, so any number of threads may
 * read it. */
struct usp_tasks;

struct usp_tasks_options {
    uint32_t size;       /* of this struct in bytes; set by usp_tasks_options_init */
    uint32_t max_frames; /* frames kept of each task's chain, the innermost. Default 512 */
    uint32_t max_tasks;  /* tasks that are listed. Default 65,536 */
    uint32_t reserved0;
    uint64_t max_bytes; /* bytes of memory that are searched; small mappings come first. Default 8 GiB */
    uint64_t timeout;   /* ns that the search may take. Default 10,000,000,000 */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_tasks_options_init(struct usp_tasks_options *options);

/* Searches for the tasks of a snapshot of another process or of a core file: x86_64 Linux, and the runtime's layout 1 (Swift
 * 6.1 to 6.3), which the runtime itself names.
 *
 * Each word that can be a task's first one is checked: the task's kind and state are possible ones, and its resume address and
 * those of its async contexts are code of an image, and the beginning of a function where an unwind table describes one. A task of a
 * live process is read while the process runs, and again afterwards; one that has changed in between is read twice more, and left
 * out when it keeps changing.
 *
 * options NULL: the defaults. On success *tasks is the caller's; it needs the snapshot no longer. On failure it is NULL, and
 * `error` (may be NULL, `error_size` bytes) receives a sentence that says what failed. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY; USP_ERROR_NOT_FOUND: the process has no Swift runtime with tasks; USP_ERROR_UNSUPPORTED: another system or
 * processor, another layout, a snapshot of this process or a raw capture; USP_ERROR_NO_THREAD: the process has ended;
 * USP_ERROR_PERMISSION, USP_ERROR_SYSTEM. Thread-safe. Not async-signal-safe. */
USP_API int usp_tasks_create(const struct usp_snapshot *snapshot, const struct usp_tasks_options *options,
                             struct usp_tasks **tasks, char *error, size_t error_size);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_tasks_free(struct usp_tasks *tasks);

enum usp_tasks_flags {
    USP_TASKS_CUT = 1 << 0 /* a limit of the options, or of all frames together (4,194,304), ended the search */
};

struct usp_tasks_info {
    uint32_t count;    /* in the list */
    uint32_t running;  /* that a thread runs; they are not in the list. 0 where the search ended before */
    uint32_t changed;  /* that changed whenever they were read; they are not in the list */
    uint32_t flags;    /* enum usp_tasks_flags */
    uint64_t searched; /* bytes of memory that were looked through */
    uint64_t reserved[4];
};

enum usp_task_state {
    USP_TASK_SUSPENDED = 1, /* it waits for what `wait` says */
    USP_TASK_ENQUEUED = 2,  /* it can run as soon as its executor (a thread pool, an actor) takes it */
    USP_TASK_CREATED = 3    /* it has not begun, and is in no queue yet: the runtime's timers are such tasks */
};

enum usp_task_wait {
    USP_TASK_WAIT_UNKNOWN = 0,
    USP_TASK_WAIT_TASK = 1,         /* for another task's end; `awaited` says which */
    USP_TASK_WAIT_CONTINUATION = 2, /* for a continuation to be resumed */
    USP_TASK_WAIT_GROUP = 3,        /* for the next child of a task group */
    USP_TASK_WAIT_EXECUTOR = 4      /* for its executor */
};

enum usp_task_flags {
    USP_TASK_CANCELLED = 1 << 0,
    USP_TASK_CHILD = 1 << 1,       /* of another task, structurally: `parent` says which */
    USP_TASK_GROUP_CHILD = 1 << 2, /* added to a task group */
    USP_TASK_ASYNC_LET = 1 << 3
};

struct usp_task {
    uint64_t id;       /* Swift's own number of the task: by the order in which tasks were made */
    usp_addr address;  /* of the task in the process */
    uint32_t state;    /* enum usp_task_state */
    uint32_t wait;     /* enum usp_task_wait */
    uint32_t flags;    /* enum usp_task_flags */
    uint32_t priority; /* Swift's TaskPriority.rawValue: 9, 17, 21, 25, …; 0: none was given */
    uint64_t parent;   /* its id; 0: there is none, or it cannot be read */
    uint64_t awaited;  /* likewise */
    /* Where it resumes, then who awaits that function. Every frame is a USP_FRAME_KIND_ASYNC_RESUME. The frames live as long as
     * the list. */
    struct usp_stack stack;
    uint64_t reserved[4];
};

/* What holds for the whole. Valid until the list is freed. Async-signal-safe, thread-safe. */
USP_API const struct usp_tasks_info *usp_tasks_get_info(const struct usp_tasks *tasks);

/* Task i, 0 … count − 1, by their ids. NULL behind the end. Async-signal-safe, thread-safe. */
USP_API const struct usp_task *usp_tasks_get(const struct usp_tasks *tasks, size_t i);

/* A word for an enum usp_task_state or usp_task_wait: "suspended", "continuation". Static lifetime, never NULL.
 * Async-signal-safe. */
USP_API const char *usp_task_state_string(uint32_t state);
USP_API const char *usp_task_wait_string(uint32_t wait);

USP_END_DECLS

#endif
