/* SPDX-License-Identifier: MIT */
/* What Swift's concurrency runtime tells debuggers of itself, and what a task's bytes say. No memory is searched and no chain is
 * walked here.
 *
 * Sources: Swift include/swift/ABI/Task.h (Job, AsyncTask), stdlib/public/Concurrency/TaskPrivate.h (PrivateStorage,
 * ActiveTaskStatus), include/swift/ABI/TaskStatus.h (TaskDependencyStatusRecord), include/swift/ABI/MetadataValues.h (JobFlags),
 * stdlib/public/Concurrency/Debug.h (the variables). */
#ifndef USPI_SWIFT_RUNTIME_H
#define USPI_SWIFT_RUNTIME_H

#include "lib/images/image_file.h"

#include <unspool/tasks.h>

/* The layout that is read here (_swift_concurrency_debug_internal_layout_version), of processes with words of 64 bits. */
#define USPI_SWIFT_LAYOUT 1u

/* Bytes of a task that are read. */
#define USPI_SWIFT_TASK_SIZE 168u

/* Functions of the runtime that a task resumes in, in the name of another one. */
enum uspi_swift_adapter {
    USPI_SWIFT_NO_ADAPTER,
    USPI_SWIFT_START, /* the task has not begun: its function is noted before its context */
    USPI_SWIFT_WAIT   /* it waits for another task: its context says where it resumes */
};

struct uspi_swift_runtime {
    usp_addr metadata;  /* the first word of each task */
    uint64_t task_size; /* in bytes, without what follows it: the child's part begins there */
    usp_addr start_adapters[2], wait_adapters[2];
    bool escalates; /* a running task names its thread rather than having a flag */
};

/* The image that holds the runtime: its library, or the program when that was linked with it and not stripped. NULL: none. */
const struct usp_image *uspi_swift_runtime_image(const struct usp_images *images, const struct uspi_places *places,
                                                 const struct usp_memory *memory);

/* Learns it from a process's images and memory. USP_OK; USP_ERROR_NOT_FOUND: no image has it, or it cannot be read;
 * USP_ERROR_UNSUPPORTED: *layout is another one. */
int uspi_swift_runtime_find(const struct usp_images *images, const struct uspi_places *places,
                            const struct usp_memory *memory, struct uspi_swift_runtime *runtime, uint32_t *layout);

/* What can be told of bytes that begin as a task's. */
enum uspi_swift_verdict {
    USPI_SWIFT_NO_TASK, /* or one that has ended */
    USPI_SWIFT_RUNNING, /* a thread runs it, or is changing its state */
    USPI_SWIFT_RESTING
};

struct uspi_swift_task {
    struct usp_task task; /* but for wait, parent, awaited, address and stack */
    usp_addr resume, context;
    enum uspi_swift_adapter adapter; /* that `resume` is */
    usp_addr dependency;             /* the record that says what it waits for; 0: none */
};

enum uspi_swift_verdict uspi_swift_task_read(const struct uspi_swift_runtime *runtime,
                                             const uint8_t bytes[USPI_SWIFT_TASK_SIZE], struct uspi_swift_task *task);

/* The id of the task at an address; 0: none can be read there. */
uint64_t uspi_swift_task_id(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory, usp_addr at);

/* Completes a task whose address is set, by what other memory says: its parent, what it waits for. */
void uspi_swift_task_relate(const struct uspi_swift_runtime *runtime, const struct usp_memory *memory,
                            struct uspi_swift_task *task);

#endif
