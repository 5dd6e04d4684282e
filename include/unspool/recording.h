/* SPDX-License-Identifier: MIT */
/* Reads recordings of other profilers as samples with stacks. Today: perf.data of Linux perf, on any host. Stack dumps
 * are unwound with the images' files. profile.h keeps samples and writes them; symbolize.h finds names. */
#ifndef UNSPOOL_RECORDING_H
#define UNSPOOL_RECORDING_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* A sample of a recording. It is valid during the callback. */
struct usp_recording_sample {
    const struct usp_thread_info *thread; /* id and native: the kernel's id of the thread; name: its name then */
    /* Frames of the kernel first, then those of the process. stop is USP_STOP_NOT_COPIED when the recording has only a
     * part of the stack. It can be empty. */
    const struct usp_stack *stack;
    const struct usp_images *images; /* of the process and the kernel, as they were then */
    const char *event;               /* name of the event; "" when the recording has none */
    int64_t pid;                     /* of the process */
    uint64_t time;                   /* in ns, of the recording's clock; 0: not recorded */
    uint64_t period;                 /* number of events that the sample represents; 0: not recorded */
    uint64_t duration;               /* time that the sample represents, in ns; 0: not known */
    uint32_t event_index;            /* the event's position in the recording, from 0 */
    uint32_t flags;                  /* enum usp_recording_sample_flags */
    uint64_t count;                  /* number of samples that it represents; 0: one */
    uint64_t cpu; /* with USP_RECORDING_SAMPLE_CPU: the part of `duration` in which the thread ran, in ns */
    uint64_t reserved[2];
};

enum usp_recording_sample_flags {
    /* `cpu` is known; otherwise the thread ran for all of `duration`. */
    USP_RECORDING_SAMPLE_CPU = 1 << 0,
    /* From usp_profile_file_samples: `time` is not when the sample was taken, but the sum of its thread's durations. */
    USP_RECORDING_SAMPLE_SUMMED = 1 << 1
};

/* What a recording contains. */
struct usp_recording_info {
    uint32_t arch;        /* enum usp_arch; USP_ARCH_NONE: not known */
    uint32_t event_count; /* number of events */
    uint64_t samples;     /* samples that were read, before any choice */
    uint64_t lost;        /* records that the kernel dropped, as the recording says */
    uint64_t unwound;     /* samples whose stack dump was unwound */
    uint64_t short_dumps; /* those of them whose dump ends before the stack does */
    uint64_t first, last; /* times of the first and the last sample; 0: none */
    /* Maps of files that are missing, because a process has more than 65,536 of them or forks have copied more than 4
     * million: frames there have no image. */
    uint64_t maps_left_out;
    uint64_t wall_start; /* when it began, in ns since 1970-01-01 UTC; 0: not known */
    uint64_t length;     /* how long it lasted, in ns; 0: not known */
    uint64_t interval;   /* between two samples of a thread, in ns; 0: not known */
    uint64_t reserved[2];
};

struct usp_recording_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_recording_options_init */
    uint32_t max_frames; /* maximum number of frames of a stack, at least 4. Default 512 */
    int64_t pid;         /* only samples of this process. Default 0: all */
    uint64_t from, to;   /* only samples with from <= time < to. Default 0 … UINT64_MAX: all */
    /* Reads up to n bytes at `offset`. Returns their number, which is 0 at the end only, or a negative status. It is
     * required. */
    int64_t (*read)(void *context, uint64_t offset, void *to, size_t n);
    /* Size of the file in bytes. Default UINT64_MAX: not known, a pipe. `offset` then never decreases, and what a file
     * stores after its samples, such as build ids, is not used. */
    uint64_t file_size;
    /* Is called for each sample, in the order of time; a sample whose user part is in a later record comes when that
     * is read. A result other than 0 ends reading. It is required. */
    int (*sample)(void *context, const struct usp_recording_sample *sample);
    /* Is called when a thread's id is about to be used by another thread. Default NULL */
    void (*end_thread)(void *context, uint64_t id);
    void *context;       /* passed to the functions. Default NULL */
    const char *sysroot; /* folder below which the files of images are searched for first. Default NULL */
    /* Folder of files by build id, in which perf keeps those that a recording needs: $HOME/.debug, and what perf archive
     * packs. An image's file is taken from there if it is not at its path. Default NULL. */
    const char *build_ids;
    uint64_t reserved[5];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_recording_options_init(struct usp_recording_options *options);

/* Returns whether a file that begins with these bytes is a recording that usp_recording_read can read; 16 bytes are
 * enough. Async-signal-safe, thread-safe. */
USP_API int usp_recording_is(const void *bytes, size_t n);

/* Reads a recording from its beginning to its end. Memory does not grow with the recording's size.
 *   info   is filled, also on failure; may be NULL
 *   error  (may be NULL, `error_size` bytes) receives a sentence that says why reading failed; on success it is empty
 * Samples before a place that is damaged or cut off are passed to the callback. Returns USP_OK, the result of `sample`,
 * USP_ERROR_ARGUMENT, USP_ERROR_FORMAT (not a recording, or damaged), USP_ERROR_TRUNCATED, USP_ERROR_UNSUPPORTED (a
 * big-endian recording, or a compressed one without zstd), USP_ERROR_NO_MEMORY, or the status of `read`. Thread-safe,
 * not async-signal-safe: it opens files and allocates. */
USP_API int usp_recording_read(const struct usp_recording_options *options, struct usp_recording_info *info,
                               char *error, size_t error_size);

USP_END_DECLS

#endif
