/* SPDX-License-Identifier: MIT */
/* Text for people: names from elsewhere made harmless, and colours where there is a terminal. */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length in bytes of the UTF-8 character at the beginning of `bytes`, and its number; 0 when there is no well-formed
 * one (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). n > 0. */
size_t utf8_decode(const char *bytes, size_t n, uint32_t *character);

/* Writes a string whose bytes nobody vouches for (the name of a thread, a file, a symbol): control characters, which could
 * steer the terminal or break the line, and what is not UTF-8 become \xNN. */
void put_harmless(FILE *out, const char *text);

enum colour { COLOUR_NONE, COLOUR_HEADING, COLOUR_QUIET, COLOUR_WARNING };

/* Whether colours are wanted on `out`: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). */
int colours_wanted(FILE *out);

/* Begins a colour, COLOUR_NONE ends it. Nothing is written unless `wanted`. */
void put_colour(FILE *out, int wanted, enum colour colour);

#endif
