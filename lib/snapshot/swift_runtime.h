/* SPDX-License-Identifier: MIT */
/* Reads the variables that Swift's concurrency runtime has for debuggers, and the bytes of a task. It searches no
 * memory and follows no chain.
 *
 * Sources: Swift include/swift/ABI/Task.h (Job, AsyncTask), stdlib/public/Concurrency/TaskPrivate.h (PrivateStorage,
 * ActiveTaskStatus), include/swift/ABI/TaskStatus.h (TaskDependencyStatusRecord), include/swift/ABI/MetadataValues.h
 * (JobFlags), stdlib/public/Concurrency/Debug.h (the variables). */
#ifndef USPI_SNAPSHOT_SWIFT_RUNTIME_H
#define USPI_SNAPSHOT_SWIFT_RUNTIME_H

#include "lib/images/image_sources.h"

#include <unspool/tasks.h>

/* The only known layout (_swift_concurrency_debug_internal_layout_version), for processes with 64-bit words. */
#define USPI_SWIFT_LAYOUT 1u

/* Number of bytes of a task that are read. */
#define USPI_SWIFT_TASK_SIZE 168u

/* Functions of the runtime in which a task resumes in place of its own function. */
enum uspi_swift_adapter {
    USPI_SWIFT_NO_ADAPTER,
    USPI_SWIFT_START, /* the task has not begun: its function is stored before its context */
    USPI_SWIFT_WAIT   /* the task waits for another one: its context has the function in which it resumes */
};

struct uspi_swift_runtime {
    usp_addr metadata;  /* the first word of each task */
    uint64_t task_size; /* size in bytes of the task itself; a child's own part follows it */
    usp_addr start_adapters[2], wait_adapters[2];
    bool escalates; /* a running task stores its thread instead of a flag */
};

/* Returns the image that contains the runtime: its library, or the program if it was linked with the runtime statically
 * and not stripped. NULL: none. */
const struct usp_image *uspi_swift_runtime_image(const struct usp_images *images,
                                                 const struct uspi_image_sources *places,
                                                 const struct usp_memory *memory);

/* Finds the runtime in a process's images and memory. Returns USP_OK; USP_ERROR_NOT_FOUND: no image has it, or it
 * cannot be read; USP_ERROR_UNSUPPORTED: *layout is an unknown one. */
int uspi_swift_runtime_find(const struct usp_images *images, const struct uspi_image_sources *places,
                            const struct usp_memory *memory, struct uspi_swift_runtime *runtime, uint32_t *layout);

/* The state of bytes that may be a task. */
enum uspi_swift_verdict {
    USPI_SWIFT_NO_TASK, /* not a task, or a task that has ended */
    USPI_SWIFT_RUNNING, /* a thread runs it, or is changing its state */
    USPI_SWIFT_RESTING  /* a task that does not run */
};

struct uspi_swift_task {
    struct usp_task task; /* without wait, parent, awaited, address and stack */
    usp_addr resume, context;
    enum uspi_swift_adapter adapter; /* which adapter `resume` is */
    usp_addr dependency;             /* address of the record of what it waits for; 0: none */
};

/* Reads a task from its bytes. *task is complete only for USPI_SWIFT_RESTING. */
enum uspi_swift_verdict uspi_swift_task_read(const struct uspi_swift_runtime *runtime,
                                             const uint8_t bytes[USPI_SWIFT_TASK_SIZE], struct uspi_swift_task *task);

/* Returns the id of the task at an address; 0: no task can be read there. */
uint64_t uspi_swift_task_id(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory, usp_addr at);

/* Completes a task from other memory: its parent, and what it waits for. The task's address is set. */
void uspi_swift_task_relate(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory,
                            struct uspi_swift_task *task);

#endif
