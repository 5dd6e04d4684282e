/* SPDX-License-Identifier: MIT */
/* Writes text for people: escapes untrusted names, and uses colours on a terminal. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Implements usp_write_function of <unspool/format.h>; `context` is a FILE. TEXT_ROOM: buffer size for
 * uspi_text_through. */
int write_to_file(void *context, const char *bytes, size_t n);
#define TEXT_ROOM 512

/* Buffers standard output, before anything is written: a reader at the other end of a pipe is then woken rarely. */
void gather_output(void);

/* For uspi_json.flat: one element per line in an array of the outermost object. */
#define JSON_FLAT_ELEMENTS 3

/* Writes a string of untrusted bytes (the name of a thread, a file, a symbol), escaped with USP_ESCAPE_TERMINAL. */
void put_harmless(FILE *out, const char *text);

/* Writes a string escaped in another way: enum usp_escape_style. */
void put_escaped(FILE *out, uint32_t escape, const char *text);

enum colour { COLOUR_NONE, COLOUR_HEADING, COLOUR_QUIET, COLOUR_WARNING };

/* Whether colours are wanted on `out`: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). */
int colours_wanted(FILE *out);

/* Begins a colour; COLOUR_NONE ends it. Writes nothing unless `wanted`. */
void put_colour(FILE *out, int wanted, enum colour colour);

#endif
