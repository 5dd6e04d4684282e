/* SPDX-License-Identifier: MIT */
/* Reads the bytes of a log, in general twice, because images may be listed after the frames. A small file is kept in
 * memory, a large one is read again. A stream cannot be read again: its first LOG_KEPT_MAX bytes are kept, and the rest
 * is read once. Kept bytes beyond LOG_MEMORY_MAX go into an unnamed file in $TMPDIR or /var/tmp; if it cannot be
 * written, they stay in memory. */
#ifndef TOOLS_LOG_INPUT_H
#define TOOLS_LOG_INPUT_H

#include "lib/base/span.h"

#include <sys/stat.h>

#define LOG_KEPT_MAX   ((size_t)256 << 20)
#define LOG_MEMORY_MAX ((size_t)4 << 20)

/* Number of bytes that are read at once. */
#define LOG_PIECE ((size_t)64 << 10)

struct log_input {
    int fd;
    struct stat status; /* its owner, and its permissions: see log_input_mode */
    bool is_file;       /* it can be read again */
    bool is_small;      /* a file shorter than a piece */
    size_t piece;       /* room for the first read: for a small file, one byte more than its size */
    int64_t start;
    char *bytes; /* of a large file: one piece; otherwise all bytes read so far, until the rewind */
    size_t size, capacity;
    int spool;                /* descriptor of the file with the first kept bytes; -1: none */
    bool has_no_spool;        /* the spool cannot be written, or no further */
    size_t spooled, replayed; /* bytes in the spool; bytes of it that were read a second time */
    char *replay;             /* a piece of the spool */
    struct uspi_span rest;    /* what a caller has not taken of the piece that was read last */
    uint64_t skipped;         /* bytes of holes that were skipped since the beginning or the rewind */
    bool is_rewound, is_replayed;
    bool has_ended;  /* the kept bytes are the whole input */
    bool has_failed; /* reading has failed, or memory is exhausted: `error` is the errno */
    int error;
};

/* Opens an input. path "-": standard input. Returns false with errno, as log_input_take does. */
bool log_input_open(struct log_input *input, const char *path);

/* The same for an open descriptor, which the input owns from now on, unless it is standard input's. -1: errno is the
 * reason. Returns false with errno: EINVAL for the file to which standard output goes, which would have no end. */
bool log_input_take(struct log_input *input, int fd);

/* Returns the input's type and permissions. Those of the group are missing if the file has an access control list: then
 * they are the most that any user in the list can have. */
mode_t log_input_mode(const struct log_input *input);

void log_input_close(struct log_input *input);

/* Returns to the beginning; from now on a stream is no longer kept. Returns false with errno. */
bool log_input_rewind(struct log_input *input);

/* Whether the next bytes can be read again. */
bool log_input_is_kept(const struct log_input *input);

/* Skips a hole at the position of a file, if the hole is at least as long as a piece: it takes no space on a disk but
 * can have any size. Returns its size in bytes; 0: there is none, or this is a stream. */
uint64_t log_skip_hole(int fd);

/* Reads the next bytes, which are valid until the next call. Holes of a file are left out. Returns false at the end, or
 * if reading has failed. */
bool log_input_read(struct log_input *input, struct uspi_span *piece);

#endif
