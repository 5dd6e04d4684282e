/* SPDX-License-Identifier: MIT */
/* A line that tells a person what is being waited for: on a terminal only, only when the work takes long, and gone when it
 * is done. Not for messages that are to stay. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;       /* NULL: no terminal is watching */
    uint64_t due;    /* when a line may be written next, by usp_clock */
    bool is_visible; /* a line stands on the terminal */
};

/* The work begins. Nothing is ever written unless `out` is a terminal that is not "dumb". The first line comes a second
 * from now; the environment's UNSPOOL_PROGRESS_DELAY says another number of milliseconds. */
void progress_begin(struct progress *progress, FILE *out);

/* Whether a terminal shows the progress, so that work is worth being counted. */
bool progress_is_watched(const struct progress *progress);

/* Whether a line may be written now. */
bool progress_is_due(const struct progress *progress);

/* The line itself, in which everything is harmless, when it is time for it. */
void progress_put(struct progress *progress, const char *line);

/* "done of all: what", when it is time for it. `what` may hold any bytes; long ones are cut. */
void progress_say(struct progress *progress, size_t done, size_t all, const char *what);

/* The work is done: erases the line. */
void progress_end(struct progress *progress);

#endif
