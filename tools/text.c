/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "tools/text.h"

#include <unspool/format.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for a path of PATH_MAX bytes, each of which may become four. What is longer is cut. */
#define HARMLESS_ROOM (4 * 4096 + 1)

void put_harmless(FILE *out, const char *text) {
    char room[HARMLESS_ROOM];
    if (usp_format_escaped(room, sizeof room, USP_ESCAPE_TERMINAL, text, strlen(text)) >= 0) fputs(room, out);
}

int colours_wanted(FILE *out) {
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (no_colour != NULL && no_colour[0] != '\0') return 0;
    return isatty(fileno(out)) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void put_colour(FILE *out, int wanted, enum colour colour) {
    /* ECMA-48 SGR: 0 reset, 1 bold, 2 faint, 33 yellow. */
    static const char *const sequences[] = {
        [COLOUR_NONE] = "\033[0m",
        [COLOUR_HEADING] = "\033[1m",
        [COLOUR_QUIET] = "\033[2m",
        [COLOUR_WARNING] = "\033[33m",
    };
    if (wanted) fputs(sequences[colour], out);
}
