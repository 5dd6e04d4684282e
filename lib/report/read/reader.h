/* SPDX-License-Identifier: MIT */
/* What a reader of <unspool/report.h> is, for its own file and for the reports that are made by one. */
#ifndef USPI_READER_H
#define USPI_READER_H

#include "lib/report/read/documents.h"
#include "lib/report/read/expand.h"
#include "lib/report/read/split.h"

enum uspi_text_kind { USPI_TEXT_UNDECIDED, USPI_TEXT_LINES, USPI_TEXT_JSON };

struct usp_reader {
    struct usp_reader_options options; /* complete */
    struct usp_reader_counts counts;
    struct uspi_line_choice choice;
    struct uspi_lines lines;
    struct uspi_documents documents;
    struct uspi_split split;
    enum uspi_text_kind kind;
    size_t mark_length; /* of the mark of its encoding, at the text's beginning */
    bool is_rewound;    /* the text was learned */
    char *kept;         /* of a text of which it is not known what it is, and of JSON */
    size_t kept_size, kept_room;
    char *held; /* a line that waits for the next one */
    size_t held_size, held_room;
    uint64_t held_position;
    char *decoded; /* what was UTF-16, as UTF-8 */
    size_t decoded_size, decoded_room;
    struct uspi_gathered gathered; /* a changed line, before it is UTF-16 again */
    struct uspi_expanded expanded; /* a text of JSON in which backtraces that Swift has encoded are frames */
    struct uspi_text out;
    char out_room[1 << 15];
    char error[256];
};

/* For reports: finds out what a whole text is, in reader->kind; *text loses its mark, and becomes UTF-8 that lives as long as
 * the reader. Returns USP_OK, USP_ERROR_FORMAT for what is no UTF-16, USP_ERROR_NO_MEMORY. */
int uspi_reader_begin_whole(struct usp_reader *reader, struct uspi_span *text);

/* Whether a status says that the text is damaged; and a sentence about it, in reader->error. */
bool uspi_reader_is_damage(int status);
void uspi_reader_set_error(struct usp_reader *reader, int status, size_t at);

/* A document that stands in a line of text. */
struct uspi_line_document {
    struct uspi_span before, behind; /* the rest of the line */
    struct uspi_span text;           /* the document, with what Swift has encoded in it; as long as reader->expanded */
};

/* Whether a line has a document that looks like a report, from the line's first '{' on. *status: USP_OK,
 * USP_ERROR_NO_MEMORY. */
bool uspi_reader_find_document(struct usp_reader *reader, struct uspi_span line, struct uspi_line_document *found,
                               int *status);

/* What a reader has learned of images. */
const struct uspi_tables *uspi_reader_tables(const struct usp_reader *reader);

#endif
