/* SPDX-License-Identifier: MIT */
/* The bytes of a log, which is gone through twice: what tells the images may stand behind the frames. A small file is kept, a
 * large one is read again; of a stream that cannot be, the beginning is kept, up to LOG_KEPT_MAX. What lies behind that comes
 * once. What is kept beyond LOG_MEMORY_MAX goes into a file without a name in $TMPDIR or /var/tmp; where that cannot be
 * written, it stays in memory. */
#ifndef TOOL_LOG_INPUT_H
#define TOOL_LOG_INPUT_H

#include "lib/base/span.h"

#define LOG_KEPT_MAX   ((size_t)256 << 20)
#define LOG_MEMORY_MAX ((size_t)4 << 20)

/* What is read at once. */
#define LOG_PIECE ((size_t)64 << 10)

struct log_input {
    int fd;
    bool is_file;  /* it can be read again */
    bool is_small; /* a file shorter than a piece */
    size_t piece;  /* room for what is read at first: of a small file a byte more than it has */
    int64_t start;
    char *bytes; /* of a large file: a piece; otherwise what was read so far, until it is rewound */
    size_t size, room;
    int spool;                /* the file that was kept first of a stream; -1: none */
    bool has_no_spool;        /* it cannot be written, or not further */
    size_t spooled, replayed; /* bytes in it; of those, that came a second time */
    char *replay;             /* a piece of it */
    bool is_rewound, is_replayed;
    bool has_ended;  /* what is kept is all */
    bool has_failed; /* to be read, or memory lacks: `error` is the errno */
    int error;
};

/* path "-": standard input. False with errno: EINVAL for the file that standard output goes to, which would have no end. */
bool log_input_open(struct log_input *input, const char *path);

void log_input_close(struct log_input *input);

/* Back to the beginning; a stream is not kept any further. False with errno. */
bool log_input_rewind(struct log_input *input);

/* Whether the next bytes may be read again. */
bool log_input_is_kept(const struct log_input *input);

/* The next bytes, which are valid until the next call; false at the end, and when reading has failed. */
bool log_input_read(struct log_input *input, struct uspi_span *piece);

#endif
