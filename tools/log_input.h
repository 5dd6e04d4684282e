/* SPDX-License-Identifier: MIT */
/* The bytes of a log, which is gone through twice: what tells the images may stand behind the frames. A file is read again;
 * of a stream that cannot be, the beginning is kept, up to LOG_KEPT_MAX. What lies behind that comes once. */
#ifndef TOOL_LOG_INPUT_H
#define TOOL_LOG_INPUT_H

#include "tools/log_scan.h"

#define LOG_KEPT_MAX ((size_t)256 << 20)

struct log_input {
    int fd;
    bool is_file; /* it can be read again */
    int64_t start;
    char *kept; /* of a stream: what was read of it so far, unless it is `forgetful` */
    size_t kept_size, kept_room, replayed;
    bool is_forgetful;
    bool has_failed; /* to be read, or memory lacks: `error` is the errno */
    int error;
};

/* path "-": standard input. False with errno. */
bool log_input_open(struct log_input *input, const char *path);

void log_input_close(struct log_input *input);

/* Back to the beginning. `is_last`: it is not done again, so a stream is not kept any further. False with errno. */
bool log_input_rewind(struct log_input *input, bool is_last);

/* Whether the next byte that is asked for may come again: from a file, or from what is kept or may still be kept. */
bool log_input_is_kept(const struct log_input *input);

/* Up to n bytes; 0 at the end, and when reading has failed. */
size_t log_input_read(struct log_input *input, char *bytes, size_t n);

/* The whole log from where it stands, with room for one byte more; the caller's to free. A stream is read up to a bit more
 * than LOG_KEPT_MAX. NULL when memory lacks. */
char *log_input_read_all(struct log_input *input, size_t *n);

/* A line of a log with its line end; or, if it is longer than LOG_LINE_MAX, a piece of it. */
#define LOG_LINE_MAX ((size_t)64 << 10)

struct log_lines {
    struct log_input *input;
    uint64_t position;           /* in the log, of what was given last, in bytes */
    size_t given;                /* its length */
    bool is_piece;               /* it did not end its line */
    char *bytes;                 /* LOG_LINE_MAX of them */
    size_t begin, end, searched; /* what is read and not given; up to where it has no line end */
};

bool log_lines_begin(struct log_lines *lines, struct log_input *input);
void log_lines_end(struct log_lines *lines);

/* False at the end. The line is valid until the next call. *is_whole is false for a piece. */
bool log_lines_next(struct log_lines *lines, struct span *line, bool *is_whole);

/* Whether the next line is not there yet, so that it may take its time. */
bool log_lines_is_drained(struct log_lines *lines);

#endif
