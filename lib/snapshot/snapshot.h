/* SPDX-License-Identifier: MIT */
/* Makes a snapshot of a stopped process or of a core file: both provide a struct uspi_snapshot_source. */
#ifndef USPI_SNAPSHOT_SNAPSHOT_H
#define USPI_SNAPSHOT_SNAPSHOT_H

#include "lib/os/os.h"

#include <unspool/snapshot.h>

struct uspi_error;         /* lib/base/error.h */
struct uspi_image_sources; /* lib/images/image_sources.h */
struct uspi_image_tables;  /* lib/unwind/tables/image_tables.h */
struct uspi_raw_crash;     /* lib/snapshot/raw.h */

/* A stopped process. uspi_snapshot_from_stopped takes ownership of everything in it, also on failure. */
struct uspi_snapshot_source {
    /* Fields as they are reported, except: arch 0 is taken from the threads, program NULL from the images; thread_count
     * and missed are counted. A given program must live as long as the source. */
    struct usp_snapshot_info info;
    struct uspi_stopped_process process; /* threads in any order; process.live reads memory that was not copied */
    struct usp_images *images;           /* may be NULL */
    struct uspi_image_tables *tables;    /* unwind tables of the images; NULL: none, or `describe` gives them */
    struct uspi_image_tables *beside;    /* the same, where .debug_frame is searched; not owned; NULL: in `tables` */
    char **messages;                     /* malloc'ed array of malloc'ed sentences; may be NULL if message_count is 0 */
    size_t message_count;

    struct usp_snapshot_note *notes; /* malloc'ed, and so are their keys and texts */
    size_t note_count;
    struct uspi_raw_crash *crash; /* malloc'ed; NULL: not from a crash report */
    struct usp_stack *exception;  /* malloc'ed with its frames; NULL: none */
    char *crash_text;             /* malloc'ed; info.crash of such a report */

    bool is_live; /* the process is running: data that is not in the images' files can be read through the system */
    const char *folder; /* folder of a core, in which images' files may be; NULL: none. The caller's; copied */

    /* Completes the target of a thread after os, arch, pac_mask, roots and stack bounds are set: the core reader has
     * its own code memory, image_at and address bits. thread NULL: the process as a whole. May be NULL: text is read
     * through process.live. */
    void (*describe)(void *context, const struct uspi_stopped_thread *thread, struct usp_target *target);
    void *context;
    /* Lists the memory that the process could write, if its bytes are available. NULL: the system lists it for a live
     * process; other sources have none. */
    int (*writable)(void *context, uspi_range_function each, void *each_context);
    void (*release)(void *context); /* may be NULL; called when the snapshot is freed */
    /* uspi_goroutines_add (goroutines.h); NULL: such sources have none that are listed. A pointer, so that programs that
     * take only snapshots of themselves do not link it. */
    int (*add_goroutines)(const struct usp_images *images, const struct uspi_image_sources *places, bool is_live,
                          struct uspi_stopped_process *process, struct uspi_error *why);
};

/* Frees everything in a source. */
void uspi_snapshot_source_free(struct uspi_snapshot_source *source);

/* Fills in what is known of a live process that was stopped. */
void uspi_snapshot_source_is_live(struct uspi_snapshot_source *source);

/* Returns the text range of Swift's concurrency runtime in a process; all zero if there is none. images may be NULL. */
struct usp_region uspi_snapshot_executor(int64_t pid, const struct usp_images *images);

/* The stack of the requesting thread, which walks itself. */
struct uspi_own_capture {
    struct usp_registers registers;
    struct usp_stack stack; /* at most max_frames frames */
    usp_addr stack_low, stack_high;
};

/* Walks all threads and makes the snapshot. `options` are complete. If `own` is not NULL, it is copied as the stack of
 * the thread that is marked as the requester. After USP_OK the caller frees *snapshot. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_snapshot_from_stopped(struct uspi_snapshot_source *source, const struct usp_snapshot_options *options,
                               const struct uspi_own_capture *own, struct usp_snapshot **snapshot);

/* Where a symbolizer for a snapshot finds data that is not in the list of images. */
struct uspi_snapshot_origin {
    int64_t process;                 /* the live process; 0: none */
    const struct usp_memory *memory; /* memory of a core; NULL: none */
    uint64_t pac_mask;               /* signature bits of pointers in that memory; 0: not known */
    const char *program;             /* program in the snapshot's options; NULL: not given */
    const char *sysroot;             /* sysroot in the snapshot's options; NULL: not given */
    const char *folder;              /* folder of the core; NULL: no core */
};

/* Gets a snapshot's origin. Its pointers live as long as the snapshot. */
void uspi_snapshot_get_origin(const struct usp_snapshot *snapshot, struct uspi_snapshot_origin *origin);

/* Gives what a crash report says about the crash. Returns false for other snapshots. */
bool uspi_snapshot_crash(const struct usp_snapshot *snapshot, struct uspi_raw_crash *crash);

/* Describes the process without any of its threads. Reads give the memory's current contents, not the threads'
 * copies. */
void uspi_snapshot_space(const struct usp_snapshot *snapshot, struct usp_target *target);

/* Lists the memory that the process can write (uspi_os_writable_memory). Returns USP_ERROR_UNSUPPORTED for this process
 * and for captures that contain only stacks. */
int uspi_snapshot_writable(const struct usp_snapshot *snapshot, uspi_range_function each, void *context);

/* Completes options of any size that a caller of another version uses. Returns false if they are invalid: the sentence
 * says what is valid. */
#define USPI_SNAPSHOT_OPTIONS "an option is out of its range: max_frames is 1 to 16777216, sp_bytes at most 16777216"
bool uspi_complete_snapshot_options(const struct usp_snapshot_options *given, struct usp_snapshot_options *options);

#endif
