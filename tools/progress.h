/* SPDX-License-Identifier: MIT */
/* A progress line: only on a terminal, only if the work takes long, and erased when it is done. Not for messages that
 * must remain. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;       /* NULL: there is no terminal */
    uint64_t due;    /* when the next line may be written, by usp_clock */
    bool is_visible; /* a line is on the terminal */
};

/* Begins the work. Nothing is ever written unless `out` is a terminal that is not "dumb". The first line appears after
 * a second, or after UNSPOOL_PROGRESS_DELAY milliseconds (environment). */
void progress_begin(struct progress *progress, FILE *out);

/* Whether a terminal shows the progress: otherwise the work need not be counted. */
bool progress_is_watched(const struct progress *progress);

/* Whether a line may be written now. */
bool progress_is_due(const struct progress *progress);

/* Writes a line of safe characters, if a line is due. */
void progress_put(struct progress *progress, const char *line);

/* Writes "done of all: what", if a line is due. `what` may have any bytes; long ones are cut. */
void progress_say(struct progress *progress, size_t done, size_t all, const char *what);

/* Ends the work: erases the line. */
void progress_end(struct progress *progress);

#endif
