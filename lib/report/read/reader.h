/* SPDX-License-Identifier: MIT */
/* The reader of <unspool/report.h>, shared by its own file and by report.c. */
#ifndef USPI_REPORT_READ_READER_H
#define USPI_REPORT_READ_READER_H

#include "lib/report/read/documents.h"
#include "lib/report/read/expand.h"
#include "lib/report/read/split.h"
#include "lib/report/read/xctrace.h"

enum uspi_input_kind { USPI_INPUT_UNDECIDED, USPI_INPUT_LINES, USPI_INPUT_JSON, USPI_INPUT_XCTRACE };

struct usp_reader {
    struct usp_reader_options options; /* complete */
    struct usp_reader_counts counts;
    struct uspi_line_choice choice;
    struct uspi_line_buffers buffers;
    struct uspi_line_reader lines;
    struct uspi_documents documents;
    struct uspi_split split;
    struct uspi_xctrace xctrace;
    enum uspi_input_kind kind;
    size_t mark_length; /* length of the byte order mark at the beginning of the text */
    bool is_rewound;    /* the text was learned before */
    bool is_cut;        /* the text is cut off, and was read as far as it is whole; `error` says so */
    char *kept;         /* buffered text: until its kind is known, and all of a JSON text */
    size_t kept_size, kept_capacity;
    char *held; /* a line whose result depends on the next line */
    size_t held_size, held_capacity;
    uint64_t held_position;
    char *decoded; /* UTF-16 text converted to UTF-8 */
    size_t decoded_size, decoded_capacity;
    struct uspi_gathered gathered;   /* a changed line before conversion to UTF-16 */
    struct uspi_expanded expanded;   /* a JSON text in which encoded Swift backtraces were expanded to frames */
    struct uspi_gathered translated; /* the text of a binary report */
    bool is_plcrash;                 /* it is PLCrashReporter's */
    struct uspi_text out;
    char out_buffer[1 << 15];
    char error[256];
};

/* For reports: determines the kind of a whole text, in reader->kind. *text loses its byte order mark and becomes
 * UTF-8, valid as long as the reader. Returns USP_OK, USP_ERROR_FORMAT for invalid UTF-16, USP_ERROR_NO_MEMORY. */
int uspi_reader_begin_whole(struct usp_reader *reader, struct uspi_span *text);

/* Return whether a status means that the text is damaged, and set reader->error to a sentence about it. */
bool uspi_reader_is_damage(int status);
void uspi_reader_set_error(struct usp_reader *reader, int status, size_t at);

/* Ends a text that is cut off at `at`. Without a readable frame it is damaged; otherwise reader->error only says that
 * it was cut off. Returns USP_OK or USP_ERROR_TRUNCATED. */
int uspi_reader_end_cut(struct usp_reader *reader, size_t at, bool is_readable);

/* Notes in reader->error that trees are not complete, because the text refers to the same stacks too often. */
void uspi_reader_cut_trees(struct usp_reader *reader);

/* A JSON document in a line of text. */
struct uspi_line_document {
    struct uspi_span before, after; /* the rest of the line */
    /* The document, with expanded Swift backtraces; valid as long as reader->expanded. */
    struct uspi_span text;
};

/* Returns whether a line, which has a '{' (USPI_HAS_BRACE), contains a document that looks like a report, beginning at
 * the first one. *status: USP_OK or USP_ERROR_NO_MEMORY. */
bool uspi_reader_find_document(struct usp_reader *reader, struct uspi_span line, struct uspi_line_document *found,
                               int *status);

/* Returns the images that a reader has learned. */
const struct uspi_text_tables *uspi_reader_tables(const struct usp_reader *reader);

#endif
