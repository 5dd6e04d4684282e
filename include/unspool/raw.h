/* SPDX-License-Identifier: MIT */
/* Captures written down at once and named later, here or on any other host. The format is described in doc/raw-format.md. */
#ifndef UNSPOOL_RAW_H
#define UNSPOOL_RAW_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/registers.h>
#include <unspool/snapshot.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* A thread and its stack. */
struct usp_raw_thread {
    const struct usp_thread_info *info;    /* NULL: nothing is known of it */
    const struct usp_registers *registers; /* NULL: none */
    const struct usp_stack *stack;         /* NULL: none */
    int32_t status;                        /* USP_OK, or why there is no stack */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* What is to be written. Filled by usp_raw_capture_init, then by the caller. */
struct usp_raw_capture {
    uint32_t size;                   /* of this struct in bytes; set by usp_raw_capture_init */
    uint32_t arch;                   /* enum usp_arch. Default: this host's */
    uint32_t os;                     /* enum usp_os. Default: this host's */
    uint32_t signal;                 /* that ended the process; 0: none. Default 0 */
    int64_t pid;                     /* 0 unknown. Default 0 */
    uint64_t time;                   /* ns since 1970-01-01 UTC; 0 unknown. Default 0 */
    const struct usp_images *images; /* taken beforehand; NULL: none are written, and addresses stay addresses */
    const struct usp_raw_thread *threads;
    size_t thread_count;
    const struct usp_snapshot *snapshot; /* instead of all of the above, where it is not NULL. Default NULL */
    uint64_t reserved[4];
};

/* Async-signal-safe. */
USP_API void usp_raw_capture_init(struct usp_raw_capture *raw);

/* Writes a capture to an open file, at its position. Interrupted and partial writes are taken up again; errno stays as it
 * was. Returns USP_OK, USP_ERROR_ARGUMENT, or USP_ERROR_SYSTEM when a write failed: what was written can be read up to
 * its last whole record.
 * Allocates nothing, takes no lock, needs about 2 KB of stack; async-signal-safe, thread-safe. */
USP_API int usp_raw_write(int fd, const struct usp_raw_capture *raw);

/* Reads a capture as a snapshot: usp_format_snapshot, usp_symbolizer_create (for usp_snapshot_images) and the usp_snapshot_
 * functions take it like any other. Its memory is not in it: usp_snapshot_target gives one in which nothing can be read.
 *   options  only_thread counts; NULL: all
 *   error    may be NULL; `error_size` bytes for a sentence that names the file, the offset and what is wrong
 * A capture that was cut off gives what was whole of it, flagged USP_SNAPSHOT_TRUNCATED, with a message.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_UNSUPPORTED when the file does not begin as a capture does (`error` is empty then: it may be something else),
 * USP_ERROR_FORMAT, USP_ERROR_TRUNCATED when not even the process is there, USP_ERROR_NO_THREAD. On success *snapshot is
 * the caller's to free. Not async-signal-safe. */
USP_API int usp_snapshot_open_raw(const char *path, const struct usp_snapshot_options *options,
                                  struct usp_snapshot **snapshot, char *error, size_t error_size);

USP_END_DECLS

#endif
