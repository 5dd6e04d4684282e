/* SPDX-License-Identifier: MIT */
/* Raw captures: written at once, and symbolicated later on any host. doc/raw-format.md describes the format. */
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
    const struct usp_thread_info *info;    /* NULL: not known */
    const struct usp_registers *registers; /* NULL: not known */
    const struct usp_stack *stack;         /* NULL: none */
    int32_t status;                        /* USP_OK, or why there is no stack */
    uint32_t reserved0;
    uint64_t reserved[4];
};

/* Contents of a capture. Filled by usp_raw_capture_init, then by the caller. */
struct usp_raw_capture {
    uint32_t size;   /* size of this struct in bytes; set by usp_raw_capture_init */
    uint32_t arch;   /* enum usp_arch. Default: this host's */
    uint32_t os;     /* enum usp_os. Default: this host's */
    uint32_t signal; /* the signal that ended the process; 0: none. Default 0 */
    int64_t pid;     /* 0 unknown. Default 0 */
    uint64_t time;   /* ns since 1970-01-01 UTC; 0 unknown. Default 0 */
    /* Prepared beforehand; NULL: no images are written, and frames are plain addresses. */
    const struct usp_images *images;
    const struct usp_raw_thread *threads;
    size_t thread_count;
    const struct usp_snapshot *snapshot; /* if not NULL, it is written instead of all the above. Default NULL */
    uint64_t reserved[4];
};

/* Sets the defaults. Async-signal-safe. */
USP_API void usp_raw_capture_init(struct usp_raw_capture *raw);

/* Writes a capture to an open file, at its current position, also in a crash handler. It has what any host needs to
 * symbolicate it later: processor, threads with names and registers, frames, and each image's UUID or build id, load
 * address and path. Continues interrupted and partial writes, and preserves errno. Returns USP_OK, USP_ERROR_ARGUMENT,
 * or USP_ERROR_SYSTEM when a write failed; the file is then readable up to the last complete record. Allocates nothing
 * and takes no lock. Needs about 2 KB of stack. Async-signal-safe, thread-safe. */
USP_API int usp_raw_write(int fd, const struct usp_raw_capture *raw);

/* Reads a capture as a snapshot. usp_format_snapshot, usp_symbolizer_create (with usp_snapshot_images) and the
 * usp_snapshot_ functions accept it like any other. A capture does not contain memory: that of usp_snapshot_target is
 * unreadable.
 *   options  only `only_thread` is used; NULL: all threads
 *   error    may be NULL; `error_size` bytes for a sentence that names the file, the offset and what is wrong
 * A truncated capture gives its complete records, with the flag USP_SNAPSHOT_TRUNCATED and a message. On success the
 * caller frees *snapshot.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_FORMAT, USP_ERROR_NO_THREAD when there is no thread `only_thread`, USP_ERROR_TRUNCATED when not even the
 * process's record is complete, USP_ERROR_UNSUPPORTED when the file does not begin like a capture (`error` is then
 * empty, because it may have another format). Not async-signal-safe: it opens a file and allocates. */
USP_API int usp_snapshot_open_raw(const char *path, const struct usp_snapshot_options *options,
                                  struct usp_snapshot **snapshot, char *error, size_t error_size);

USP_END_DECLS

#endif
