/* SPDX-License-Identifier: MIT */
/* Text, piece by piece: into a buffer of the caller's, which may be too small, or through a function of the caller's.
 * Every style of lib/format.c and lib/report*.c is written with these; what the pieces mean is theirs. No stdio, no
 * allocation: what is written to a buffer may be written in a signal handler. */
#ifndef USPI_TEXT_H
#define USPI_TEXT_H

#include <unspool/format.h>

#include <string.h>

struct uspi_text {
    char *buffer; /* where the text goes, or where it is gathered for `write` */
    size_t size;
    size_t used;     /* of the buffer */
    uint64_t length; /* of the whole text so far, whether it fitted or not */
    usp_write write; /* NULL: what does not fit is counted only */
    void *context;
    int status; /* what `write` failed with; nothing is written after it */
};

/* A piece that need not end with a NUL. */
struct uspi_span {
    const char *bytes;
    size_t length;
};

/* Into a buffer, of which the last byte is kept for the NUL. */
struct uspi_text uspi_text_in(char *buffer, size_t size);

/* Ends that text with its NUL. Returns its length, or USP_ERROR_ARGUMENT when no int can tell it. */
int uspi_text_end(struct uspi_text *text);

/* Through `write`, gathered in a buffer. */
struct uspi_text uspi_text_through(usp_write write, void *context, char *buffer, size_t size);

/* Hands over what is gathered. Returns USP_OK or what `write` failed with. */
int uspi_text_flush(struct uspi_text *text);

void uspi_put(struct uspi_text *text, const char *bytes, size_t n);
void uspi_put_string(struct uspi_text *text, const char *string);

/* As many blanks as something of that length needs to be `width` wide. */
void uspi_put_blanks(struct uspi_text *text, uint64_t length, uint64_t width);

/* With blanks behind it, or before it, up to `width`. */
void uspi_put_padded(struct uspi_text *text, struct uspi_span span, size_t width);
void uspi_put_right(struct uspi_text *text, struct uspi_span span, size_t width);

/* "0x", and at least so many digits. */
void uspi_put_hex(struct uspi_text *text, uint64_t value, unsigned digits);

/* With blanks behind it up to `width`. */
void uspi_put_decimal(struct uspi_text *text, uint64_t value, size_t width);

/* 16 bytes as uuid_unparse(3) writes them on Darwin; and any bytes as lower-case digits. */
#define USPI_UUID_BYTES 16
void uspi_put_uuid(struct uspi_text *text, const uint8_t *uuid);
void uspi_put_bytes(struct uspi_text *text, const uint8_t *bytes, size_t n);

/* A string whose bytes nobody vouches for (the name of a thread, a file, a symbol) for a person's eyes: control characters,
 * which could steer a terminal or break the line, what is not UTF-8, and the characters in `also` (ASCII) become \xNN. */
void uspi_put_harmless(struct uspi_text *text, struct uspi_span span, const char *also);

/* The same for the inside of a JSON string (RFC 8259): what is not UTF-8 becomes U+FFFD, one for each byte, because JSON
 * has no way to say "these bytes". */
void uspi_put_json_text(struct uspi_text *text, struct uspi_span span);

static inline struct uspi_span uspi_span_of(const char *string) {
    return (struct uspi_span){string, string != NULL ? strlen(string) : 0};
}

/* The length in bytes of the UTF-8 character at the beginning of `bytes`, and its number; 0 when there is no well-formed
 * one (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). n > 0. */
size_t uspi_utf8_decode(const char *bytes, size_t n, uint32_t *character);

#endif
