/* SPDX-License-Identifier: MIT */
/* Cuts a text that arrives in pieces into lines, in any supported encoding. Lines that are too long for a report are
 * passed on in pieces. */
#ifndef USPI_REPORT_READ_SPLIT_H
#define USPI_REPORT_READ_SPLIT_H

#include "lib/base/span.h"

/* Maximum size of a line with its end, in bytes; longer lines contain no frame. */
#define USPI_LINE_MAX ((size_t)64 << 10)

enum uspi_encoding { USPI_ENCODING_UTF8, USPI_ENCODING_UTF16_LITTLE, USPI_ENCODING_UTF16_BIG };

/* Returns the encoding by the mark at the beginning of a text; *length is that of the mark, 0 if there is none. */
enum uspi_encoding uspi_encoding_of(struct uspi_span text, size_t *length);

struct uspi_split {
    enum uspi_encoding encoding;
    uint64_t position; /* position of the next byte in the text */
    char *kept;        /* the beginning of a line whose end has not arrived */
    size_t kept_size, capacity;
    bool is_in_long; /* the current line is too long */
};

/* Frees the buffer and begins again. */
void uspi_split_clear(struct uspi_split *split);

struct uspi_line {
    uint64_t position;
    struct uspi_span raw;       /* including the line's end */
    struct uspi_span following; /* text that has arrived after the line */
    bool is_piece;              /* it is a piece of a line that is too long */
    bool is_first_piece;        /* it is the first piece of such a line */
};

/* Gives the next line of `bytes`, of which *at were used before. Returns false when there is no further line; the rest
 * is then buffered. The line is valid until the next call. *status becomes USP_OK or USP_ERROR_NO_MEMORY. */
bool uspi_split_next(struct uspi_split *split, struct uspi_span bytes, size_t *at, struct uspi_line *line, int *status);

/* Gives the buffered rest at the end of the text as a line without an end. Returns false when there is none. */
bool uspi_split_last(struct uspi_split *split, struct uspi_line *line);

#endif
