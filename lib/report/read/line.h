/* SPDX-License-Identifier: MIT */
/* Functions that the shapes of lines share: words, columns, placeholders for names, formatting of answers. */
#ifndef USPI_REPORT_READ_LINE_H
#define USPI_REPORT_READ_LINE_H

#include "lib/base/trampoline.h"
#include "lib/report/read/read.h"

/* Return the enum uspi_line_bytes and the enum uspi_line_begins of a line. */
unsigned uspi_line_bytes_of(struct uspi_span line);
unsigned uspi_line_begins_of(struct uspi_span line);

/* Return whether a word begins or ends at `at`. */
bool uspi_begins_word(struct uspi_span text, size_t at);
bool uspi_ends_word(struct uspi_span text, size_t at);

/* Returns whether the text is exactly a UUID of 36 characters, which becomes the id of the frame's image. One of zeros
 * says that the image has none. */
bool uspi_take_uuid(struct uspi_span text, struct uspi_frame *frame);

/* Column at which callStackSymbols cuts an image's name (Libc gen/backtrace.c). */
#define USPI_IMAGE_WIDTH 35

/* Width of the column of a frame's number. The next column follows a longer number without a blank (Libc
 * gen/backtrace.c; also in crash reports and USP_FORMAT_PORTABLE). */
#define USPI_INDEX_WIDTH 4

/* Returns whether a number in a line, at `at`, is an offset in an image as Crashlytics writes it, not an address.
 * (crashlytics.c) */
bool uspi_is_crashlytics_offset(struct uspi_span line, size_t at, uint64_t number);

/* Returns the number of digits at the beginning of the text if they fill the column; otherwise 0. */
size_t uspi_length_of_long_index(struct uspi_span text);

/* Reads the frame's index: a number at the end of the text, preceded only by a blank, quote or bracket. */
void uspi_take_index_before(struct uspi_span text, struct uspi_frame *frame);

/* Reads "#", digits and a blank at *at, the frame number of debuggers. *at then moves past the blanks. */
bool uspi_take_hash_index(struct uspi_span line, size_t *at, struct uspi_frame *frame);

/* Read NAME + OFFSET at the beginning of `rest`, with the offset as 28 or as 0x1c: set frame->name and
 * frame->replaced. */
bool uspi_take_symbol(struct uspi_span rest, struct uspi_frame *frame, uint64_t *offset);
bool uspi_take_symbol_hex(struct uspi_span rest, struct uspi_frame *frame, uint64_t *offset);

/* Does what uspi_take_source does, and reads "+0x1c" or "+28" at the end of the name as its offset. */
void uspi_take_name_offset(struct uspi_span line, struct uspi_frame *frame);

/* If the whole text is FILE:LINE or FILE:LINE:COLUMN, sets the frame's source line. */
bool uspi_take_file_line(struct uspi_span text, struct uspi_frame *frame);

/* For a frame with a name: reads " [inlined]" and " (FILE:LINE)" after it, as uspi_put_source_name,
 * uspi_put_source_line and Apple's tools write them, and sets the flag and the source line. */
void uspi_take_source(struct uspi_span line, struct uspi_frame *frame);

/* Returns the position after " (FILE:LINE)" at `at`, or `at` if there is none. */
size_t uspi_end_of_source(struct uspi_span line, size_t at);

/* Reads "(BuildId: HEX)" at or after `from` as the id of the frame's image. */
void uspi_take_build_id(struct uspi_span line, size_t from, struct uspi_frame *frame);

/* Returns whether a name is that of the Mach header, as dyld and linkers call it. BSBacktraceLogger and its copies
 * report it as a function. */
bool uspi_is_header(struct uspi_span name);

/* Returns whether a name is one that lldb makes up for a function without a name: "___lldb_unnamed_symbol17$$App", in old
 * versions "___lldb_unnamed_function17$$App". */
bool uspi_is_invented(struct uspi_span name);

/* Returns whether a name is a placeholder: for a hidden symbol, for the image's header, or an address. */
bool uspi_is_placeholder(struct uspi_span name);

/* Write source frame `which` of an answer: its function and "[inlined]"; its file and line, if they are known. */
void uspi_put_source_name(struct uspi_text *out, const struct usp_answer *answer, uint32_t which);
void uspi_put_source_line(struct uspi_text *out, const struct usp_answer *answer, uint32_t which);

/* Returns whether an offset is written: for the function that contains the code, not for inlined ones. */
bool uspi_has_source_offset(const struct usp_answer *answer, uint32_t which);

/* Writes "name + 31 (file.c:12)" or "name [inlined] (file.c:12)". */
void uspi_put_symbol(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which);

/* Writes "name+0x1f" as Linux does, preceded by the source line. */
void uspi_put_symbol_hex(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                         uint32_t which);

/* Writes "name + 0x1f (file.c:12)". */
void uspi_put_symbol_spaced_hex(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                                uint32_t which);

/* ---- images ---- */

/* Sets the addresses of an image of `size` bytes at `base`. Size 0: not known. */
void uspi_set_range(struct uspi_read_image *image, uint64_t base, uint64_t size);

/* The size of an image in lists that state only where it begins: the next image, or at most this size ends it. Images
 * consist of pages, so none has this size. */
#define USPI_IMAGE_SIZE_MAX ((UINT64_C(1) << 32) - 1)

/* ---- headings ---- */

/* The beginning of lines with a field. */
struct uspi_field_label {
    struct uspi_span label;
    uint32_t field;   /* enum uspi_field */
    bool is_in_value; /* the label is part of the value */
};

/* Finds the field with whose label the line begins. */
bool uspi_take_field(struct uspi_span line, const struct uspi_field_label *labels, size_t count,
                     struct uspi_heading *heading);

/* Finds what programs and run-time libraries log about an exception or an error that ends the program: a field
 * (USPI_FIELD_IS_LOGGED), or the stack of its cause. (exceptions.c) */
bool uspi_logged_exception(struct uspi_span line, struct uspi_heading *heading);

#endif
