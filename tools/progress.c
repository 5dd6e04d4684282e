/* SPDX-License-Identifier: MIT */
/* Implements progress.h. */
#include "tools/progress.h"

#include "tools/text.h"

#include <unspool/unwind.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND   UINT64_C(1000000)
#define DEFAULT_DELAY 1000
#define LONGEST_DELAY 86400000
#define BETWEEN_LINES (100 * MILLISECOND)
#define LONGEST_NAME  48

/* Returns to the first column and erases to the end of the line (ECMA-48: CR, EL). */
#define ERASE "\r\033[K"

static uint64_t delay(void) {
    const char *wanted = getenv("UNSPOOL_PROGRESS_DELAY");
    if (wanted == NULL || wanted[0] < '0' || wanted[0] > '9') return DEFAULT_DELAY * MILLISECOND;
    unsigned long milliseconds = strtoul(wanted, NULL, 10);
    return (milliseconds < LONGEST_DELAY ? milliseconds : LONGEST_DELAY) * MILLISECOND;
}

void progress_begin(struct progress *progress, FILE *out) {
    const char *terminal = getenv("TERM");
    bool can_erase = isatty(fileno(out)) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    *progress = (struct progress){.out = can_erase ? out : NULL, .due = usp_clock() + delay()};
}

bool progress_is_watched(const struct progress *progress) { return progress->out != NULL; }

bool progress_is_due(const struct progress *progress) { return progress->out != NULL && usp_clock() >= progress->due; }

void progress_put(struct progress *progress, const char *line) {
    if (!progress_is_due(progress)) return;
    fprintf(progress->out, ERASE "%s", line);
    fflush(progress->out);
    progress->is_visible = true;
    progress->due = usp_clock() + BETWEEN_LINES;
}

void progress_say(struct progress *progress, size_t done, size_t all, const char *what) {
    char name[LONGEST_NAME + 1];
    if (!progress_is_due(progress)) return;
    snprintf(name, sizeof name, "%s", what);
    fprintf(progress->out, ERASE "%zu of %zu: ", done, all);
    put_harmless(progress->out, name);
    fflush(progress->out);
    progress->is_visible = true;
    progress->due = usp_clock() + BETWEEN_LINES;
}

void progress_end(struct progress *progress) {
    if (progress->is_visible) {
        fputs(ERASE, progress->out);
        fflush(progress->out);
    }
    *progress = (struct progress){0};
}
