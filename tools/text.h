/* SPDX-License-Identifier: MIT */
/* Text for people: names from elsewhere made harmless, and colours where there is a terminal. */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Writes a string whose bytes nobody vouches for (the name of a thread, a file, a symbol), as USP_ESCAPE_TERMINAL has it. */
void put_harmless(FILE *out, const char *text);

/* The same in another way of escaping: enum usp_escape. */
void put_escaped(FILE *out, uint32_t escape, const char *text);

enum colour { COLOUR_NONE, COLOUR_HEADING, COLOUR_QUIET, COLOUR_WARNING };

/* Whether colours are wanted on `out`: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). */
int colours_wanted(FILE *out);

/* Begins a colour, COLOUR_NONE ends it. Nothing is written unless `wanted`. */
void put_colour(FILE *out, int wanted, enum colour colour);

#endif
