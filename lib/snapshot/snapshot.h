/* SPDX-License-Identifier: MIT */
/* How a snapshot is made of a process that was stopped, or that a core file holds: the narrow way in for both. */
#ifndef USPI_SNAPSHOT_H
#define USPI_SNAPSHOT_H

#include "lib/os/os.h"

#include <unspool/snapshot.h>

struct uspi_image_tables; /* lib/unwind/tables/image_tables.h */

/* A stopped process. Everything in it is taken over by uspi_snapshot_from_stopped, whether that succeeds or not. */
struct uspi_snapshot_source {
    /* time, stopped_ns, pid, os, flags, signal as they will be reported. arch and program are taken from the threads and the
     * images where they are 0; a program that is given must live as long as the source. thread_count and missed are
     * counted. */
    struct usp_snapshot_info info;
    struct uspi_stopped_process process; /* threads in any order; process.live reads what the threads' copies lack */
    struct usp_images *images;           /* may be NULL */
    struct uspi_image_tables *tables;    /* of these images; NULL: none, or `describe` gives them */
    char **messages;                     /* malloc'ed array of malloc'ed sentences; may be NULL with 0 */
    size_t message_count;

    bool is_live;       /* of a process that runs: what its images' files lack can be read through the system */
    const char *folder; /* beside which files may lie (a core's); NULL: none. The caller's, copied */

    /* Completes the surroundings of thread i, after os, arch, pac_mask, roots and stack bounds are set: the core reader
     * has its own code memory, image_at, address bits. May be NULL: text is read through process.live. */
    void (*describe)(void *context, const struct uspi_stopped_thread *thread, struct usp_target *target);
    void *context;
    /* Lists the memory that the process could write, as far as its bytes are there. NULL: the system is asked of a live process,
     * otherwise there is none. */
    int (*writable)(void *context, uspi_range_function each, void *each_context);
    void (*release)(void *context); /* may be NULL; called when the snapshot is freed */
};

/* The stack of the thread that asked, which is walked where it stands. */
struct uspi_own_capture {
    struct usp_registers registers;
    struct usp_stack stack; /* at most max_frames of them */
    usp_addr stack_low, stack_high;
};

/* Walks all threads and makes the snapshot. `options` are complete. The thread that is marked as the requester has its
 * stack in *own, if that is not NULL; it is copied. On success *snapshot is the caller's. USP_OK, USP_ERROR_NO_MEMORY. */
int uspi_snapshot_from_stopped(struct uspi_snapshot_source *source, const struct usp_snapshot_options *options,
                               const struct uspi_own_capture *own, struct usp_snapshot **snapshot);

/* Where a symbolizer for a snapshot finds what the image list does not hold. */
struct uspi_snapshot_origin {
    int64_t process;                 /* the live process; 0: none */
    const struct usp_memory *memory; /* of a core; NULL: none */
    uint64_t pac_mask;               /* of pointers in that memory; 0: not known */
    const char *program;             /* as the snapshot's options named them, NULL: not named; */
    const char *sysroot;
    const char *folder; /* beside the core, NULL: no core */
};

/* The origin's pointers live as long as the snapshot. */
void uspi_snapshot_get_origin(const struct usp_snapshot *snapshot, struct uspi_snapshot_origin *origin);

/* The surroundings of the process without any of its threads: memory is what it is when it is read. */
void uspi_snapshot_space(const struct usp_snapshot *snapshot, struct usp_target *target);

/* Lists the memory that the process can write (uspi_os_writable_memory). USP_ERROR_UNSUPPORTED of this process and of captures
 * that hold stacks alone. */
int uspi_snapshot_writable(const struct usp_snapshot *snapshot, uspi_range_function each, void *context);

/* Options as later versions know them, whatever size the caller's had. False when they make no sense. */
bool uspi_complete_snapshot_options(const struct usp_snapshot_options *given, struct usp_snapshot_options *options);

#endif
