/* SPDX-License-Identifier: MIT */
/* Cuts a text that comes in pieces into lines, whatever its encoding. What is too long to be a line of a report comes in
 * pieces of its own. */
#ifndef USPI_SPLIT_H
#define USPI_SPLIT_H

#include "lib/base/span.h"

/* A line with its end, in bytes; longer ones are no frame's. */
#define USPI_LINE_MAX ((size_t)64 << 10)

enum uspi_encoding { USPI_ENCODING_UTF8, USPI_ENCODING_UTF16_LITTLE, USPI_ENCODING_UTF16_BIG };

/* By the mark at the beginning of a text; *length is that of the mark, 0 if there is none. */
enum uspi_encoding uspi_encoding_of(struct uspi_span text, size_t *length);

struct uspi_split {
    enum uspi_encoding encoding;
    uint64_t position; /* in the text, of what comes next, in bytes */
    char *kept;        /* the beginning of a line whose end is still to come */
    size_t kept_size, room;
    bool is_in_long; /* the line that is being read is too long */
};

/* Frees what is kept, and begins anew. */
void uspi_split_clear(struct uspi_split *split);

struct uspi_line {
    uint64_t position;
    struct uspi_span raw;    /* with its end */
    struct uspi_span behind; /* what has come behind it */
    bool is_piece;           /* of a line that is too long */
    bool is_first_piece;     /* of such a line */
};

/* The next line out of `bytes`, of which *at were given already; false when there is none: what is left is kept then.
 * The line is valid until the next call. *status becomes USP_OK or USP_ERROR_NO_MEMORY. */
bool uspi_split_next(struct uspi_split *split, struct uspi_span bytes, size_t *at, struct uspi_line *line, int *status);

/* What is kept at the end of the text, as a line without an end; false when nothing is. */
bool uspi_split_last(struct uspi_split *split, struct uspi_line *line);

#endif
