/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "tools/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t utf8_decode(const char *bytes, size_t n, uint32_t *character) {
    /* By the number of bytes: the first one's fixed bits and its value bits, and the lowest number that needs so many. */
    static const struct {
        uint8_t mask, mark;
        uint32_t lowest;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    uint8_t first = (uint8_t)bytes[0];
    for (size_t length = 1; length <= 4 && length <= n; length++) {
        if ((first & forms[length - 1].mask) != forms[length - 1].mark) continue;
        uint32_t value = first & (uint8_t)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if (((uint8_t)bytes[i] & 0xc0) != 0x80) return 0;
            value = value << 6 | ((uint8_t)bytes[i] & 0x3f);
        }
        if (value < forms[length - 1].lowest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
        *character = value;
        return length;
    }
    return 0;
}

void put_harmless(FILE *out, const char *text) {
    size_t n = strlen(text);
    while (n > 0) {
        uint32_t character = 0;
        size_t length = utf8_decode(text, n, &character);
        /* C0, DEL and C1. */
        if (length == 0 || character < 0x20 || (character >= 0x7f && character < 0xa0)) {
            if (length == 0) length = 1;
            for (size_t i = 0; i < length; i++) fprintf(out, "\\x%02x", (uint8_t)text[i]);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length;
        n -= length;
    }
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
