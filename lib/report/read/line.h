/* SPDX-License-Identifier: MIT */
/* What the shapes of lines have in common: words, columns, names that are none, how an answer is written. */
#ifndef USPI_LINE_H
#define USPI_LINE_H

#include "lib/base/trampoline.h"
#include "lib/report/read/read.h"

/* enum uspi_line_bytes of a line, and its enum uspi_line_begins. */
unsigned uspi_line_bytes_of(struct uspi_span line);
unsigned uspi_line_begins_of(struct uspi_span line);

/* Whether something begins at `at` that is no part of what stands in front of it; whether it ends there. */
bool uspi_begins_word(struct uspi_span text, size_t at);
bool uspi_ends_word(struct uspi_span text, size_t at);

/* The text is nothing but 36 characters of a UUID; takes it for the frame's. */
bool uspi_take_uuid(struct uspi_span text, struct uspi_frame *frame);

/* The column in which callStackSymbols cuts an image's name (Libc gen/backtrace.c). */
#define USPI_IMAGE_WIDTH 35

/* The column of a frame's number, behind which, if it is longer, the next one follows without a blank (Libc
 * gen/backtrace.c, as the crash reports and USP_FORMAT_PORTABLE have it). */
#define USPI_INDEX_WIDTH 4

/* How many digits the text begins with, if they are a number that fills its column; otherwise 0. */
size_t uspi_length_of_long_index(struct uspi_span text);

/* The number that ends the text, with nothing but a blank, a quote or a bracket in front of it: the frame's index. */
void uspi_take_index_before(struct uspi_span text, struct uspi_frame *frame);

/* "#", digits and a blank at *at, as debuggers number frames; *at stands behind the blanks then. */
bool uspi_take_hash_index(struct uspi_span line, size_t *at, struct uspi_frame *frame);

/* NAME + OFFSET at the beginning of `rest`: frame->name and frame->replaced. */
bool uspi_take_symbol(struct uspi_span rest, struct uspi_frame *frame, uint64_t *offset);

/* uspi_take_source (below), and "+0x1c" or "+28" at the end of the name, which becomes its offset. */
void uspi_take_name_offset(struct uspi_span line, struct uspi_frame *frame);

/* The whole text is FILE:LINE or FILE:LINE:COLUMN: the frame's source line. */
bool uspi_take_file_line(struct uspi_span text, struct uspi_frame *frame);

/* Of a frame with a name: what uspi_put_source_name and uspi_put_source_line, and Apple's tools, write behind it, " [inlined]" and
 * " (FILE:LINE)", become a flag and the frame's source line. */
void uspi_take_source(struct uspi_span line, struct uspi_frame *frame);

/* "(BuildId: HEX)" at or behind `from`: the frame's identity. */
void uspi_take_build_id(struct uspi_span line, size_t from, struct uspi_frame *frame);

/* What dyld and linkers call the Mach header. BSBacktraceLogger and its copies take it for a function. */
bool uspi_is_header(struct uspi_span name);

/* Whether a name is none: what stands for a symbol that is hidden, for the image's header, an address. */
bool uspi_is_placeholder(struct uspi_span name);

/* Source frame `which` of an answer: its function, "[inlined]", its file and line, as far as they are known. */
void uspi_put_source_name(struct uspi_text *out, const struct usp_answer *answer, uint32_t which);
void uspi_put_source_line(struct uspi_text *out, const struct usp_answer *answer, uint32_t which);

/* The function that holds the code is written with an offset, inlined ones without. */
bool uspi_has_source_offset(const struct usp_answer *answer, uint32_t which);

/* "name + 31 (file.c:12)"; "name [inlined] (file.c:12)". */
void uspi_put_symbol(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which);

/* "name+0x1f", as Linux has it; with the source line in front of what follows. */
void uspi_put_symbol_hex(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                         uint32_t which);

/* ---- headings ---- */

/* How lines with a field begin. */
struct uspi_field_label {
    struct uspi_span label;
    uint32_t field;   /* enum uspi_field */
    bool is_in_value; /* the label belongs to the value */
};

/* The field whose label the line begins with. */
bool uspi_take_field(struct uspi_span line, const struct uspi_field_label *labels, size_t count,
                     struct uspi_heading *heading);

#endif
