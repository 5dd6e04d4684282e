/* SPDX-License-Identifier: MIT */
/* Text for people: names from elsewhere made harmless, and colours where there is a terminal. */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* A usp_write_function of <unspool/format.h> to the FILE in `context`, and room for what uspi_text_through gathers for it. */
int write_to_file(void *context, const char *bytes, size_t n);
#define TEXT_ROOM 512

/* Before anything is written: a reader of standard output through a pipe is to be woken rarely. */
void gather_output(void);

/* For uspi_json.flat: one element a line in an array that the outermost object holds. */
#define JSON_FLAT_ELEMENTS 3

/* Writes a string of untrusted bytes (the name of a thread, a file, a symbol), as USP_ESCAPE_TERMINAL has it. */
void put_harmless(FILE *out, const char *text);

/* The same in another way of escaping: enum usp_escape_style. */
void put_escaped(FILE *out, uint32_t escape, const char *text);

enum colour { COLOUR_NONE, COLOUR_HEADING, COLOUR_QUIET, COLOUR_WARNING };

/* Whether colours are wanted on `out`: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). */
int colours_wanted(FILE *out);

/* Begins a colour, COLOUR_NONE ends it. Nothing is written unless `wanted`. */
void put_colour(FILE *out, int wanted, enum colour colour);

#endif
