/* SPDX-License-Identifier: MIT */
/* Implements text.h. */
#include "tools/text.h"

#include <unspool/unspool.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int write_to_file(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

void gather_output(void) {
    /* glibc ignores the size unless a buffer is given. */
    static char buffer[1 << 15];
    /* A stream that is not a file keeps its own buffer. */
    if (fileno(stdout) >= 0) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

/* Size that suffices for most names. */
#define USUAL_ROOM 1024

void put_escaped(FILE *out, uint32_t escape, const char *text) {
    char usual[USUAL_ROOM], *buffer = usual;
    size_t length = strlen(text);
    int needed = usp_format_escaped(usual, sizeof usual, escape, text, length);
    if (needed >= USUAL_ROOM) {
        buffer = malloc((size_t)needed + 1);
        if (buffer != NULL) needed = usp_format_escaped(buffer, (size_t)needed + 1, escape, text, length);
    }
    /* If memory is exhausted, only the beginning is shown. */
    if (needed >= 0) fputs(buffer != NULL ? buffer : usual, out);
    if (buffer != usual) free(buffer);
}

void put_harmless(FILE *out, const char *text) { put_escaped(out, USP_ESCAPE_TERMINAL, text); }

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
