/* SPDX-License-Identifier: MIT */
/* The parts of a report as text, which pages and comparisons of reports show, too. (translated_text.c) */
#ifndef USPI_REPORT_READ_TRANSLATED_H
#define USPI_REPORT_READ_TRANSLATED_H

#include "lib/report/read/model.h"

/* Deeper nodes of a tree are not indented any further. */
#define USPI_LEVELS_SHOWN 64

/* Writes the fields of a report, with an empty line after each group. */
void uspi_translate_header(struct uspi_text *out, const struct uspi_model_part *part);

/* Writes the value of a field, whose lines (uspi_field_has_lines) are separated so. */
void uspi_translate_value(struct uspi_text *out, struct uspi_span value, const char *separator);

/* Write what a thread is, as "Thread 0 Crashed"; its name and queue. The second returns false if it has neither. */
void uspi_translate_title(struct uspi_text *out, const struct uspi_model_thread *thread);
bool uspi_translate_name(struct uspi_text *out, const struct uspi_model_thread *thread);

/* Returns the place of a thread in the order of display, below USPI_RANKS: stacks that are not threads, as an
 * exception's backtrace; the thread that crashed; the others. */
#define USPI_RANKS 3
unsigned uspi_translate_rank(const struct uspi_model_thread *thread);

/* Write a frame's address; the function of its source frame `which` with the offset, or its place if it has no name; a
 * source frame's file and line. */
void uspi_translate_address(struct uspi_text *out, const struct uspi_model_frame *frame);
void uspi_translate_function(struct uspi_text *out, const struct uspi_model *model,
                             const struct uspi_model_frame *frame, size_t which);
void uspi_translate_line(struct uspi_text *out, const struct uspi_model_source *source);

/* Writes the line of an image: addresses, name, processor, id, path. */
void uspi_translate_image(struct uspi_text *out, const struct uspi_image_entry *image);

#endif
