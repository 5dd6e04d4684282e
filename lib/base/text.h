/* SPDX-License-Identifier: MIT */
/* Writes text piece by piece, into the caller's buffer, which may be too small, or through the caller's function. All
 * report styles use it. It needs no stdio and no allocation: writing to a buffer is async-signal-safe. */
#ifndef USPI_BASE_TEXT_H
#define USPI_BASE_TEXT_H

#include "lib/base/span.h"

#include <unspool/format.h>

struct uspi_text {
    char *buffer; /* receives the text, or collects it for `write` */
    size_t size;
    size_t used;              /* bytes of the buffer that are used */
    uint64_t length;          /* length of the whole text so far, in bytes, including what did not fit */
    usp_write_function write; /* NULL: bytes that do not fit are only counted */
    void *context;
    int status; /* the status with which `write` failed; nothing is written after that */
};

/* Begins a text in a buffer; the last byte is kept for the NUL. */
struct uspi_text uspi_text_in(char *buffer, size_t size);

/* Ends that text with a NUL. Returns its length in bytes, or USP_ERROR_ARGUMENT when the length does not fit into an
 * int. */
int uspi_text_end(struct uspi_text *text);

/* Begins a text that goes through `write`, collected in a buffer. */
struct uspi_text uspi_text_through(usp_write_function write, void *context, char *buffer, size_t size);

/* Passes the collected bytes to `write`. Returns USP_OK or the status with which `write` failed. */
int uspi_text_flush(struct uspi_text *text);

void uspi_put(struct uspi_text *text, const char *bytes, size_t n);
/* Writes a string. Inline, so that the compiler knows the length of a literal. */
static inline void uspi_put_string(struct uspi_text *text, const char *string) {
    uspi_put(text, string, strlen(string));
}

/* Writes the blanks that a piece of `length` bytes needs to fill `width` columns. */
void uspi_put_blanks(struct uspi_text *text, uint64_t length, uint64_t width);

/* Writes a piece, padded with blanks on the right, or on the left, to `width` columns. */
void uspi_put_padded(struct uspi_text *text, struct uspi_span span, size_t width);
void uspi_put_right(struct uspi_text *text, struct uspi_span span, size_t width);

/* Writes "0x" and at least `digits` digits. */
void uspi_put_hex(struct uspi_text *text, uint64_t value, unsigned digits);

/* Writes a number, padded with blanks on the right to `width` columns. */
void uspi_put_decimal(struct uspi_text *text, uint64_t value, size_t width);

/* Writes 16 bytes as uuid_unparse(3) does on Darwin; writes any bytes as lower-case hexadecimal digits. */
#define USPI_UUID_BYTES 16
void uspi_put_uuid(struct uspi_text *text, const uint8_t *uuid);
void uspi_put_bytes(struct uspi_text *text, const uint8_t *bytes, size_t n);

/* Writes a build id: as a UUID if it has 16 bytes, otherwise as digits. */
void uspi_put_build_id(struct uspi_text *text, const uint8_t *bytes, uint32_t size);

/* Writes an untrusted string (the name of a thread, a file, a symbol) so that it is safe on a terminal. Written as \xNN
 * are control characters, which could steer the terminal or break the line, characters that change the direction of
 * text, bytes that are not UTF-8, and the ASCII characters in `also`. */
void uspi_put_harmless(struct uspi_text *text, struct uspi_span span, const char *also);

/* Writes an untrusted string as the inside of a JSON string (RFC 8259), which is safe on a terminal too: what
 * uspi_put_harmless escapes is written as \uNNNN. A byte that is not UTF-8 becomes U+FFFD, because JSON cannot express
 * it. */
void uspi_put_json_text(struct uspi_text *text, struct uspi_span span);

/* Decodes the UTF-8 character at the beginning of n > 0 bytes. Returns its length in bytes, or 0 when it is not
 * well-formed (RFC 3629: overlong forms, surrogates, characters above U+10FFFF). */
size_t uspi_utf8_decode(const char *bytes, size_t n, uint32_t *character);

/* Returns how many of n bytes remain without a UTF-8 character that their end cuts off. */
size_t uspi_utf8_whole(const char *bytes, size_t n);

/* Writes a character (at most U+10FFFF) as UTF-8 and returns its length in bytes. */
#define USPI_UTF8_MAX 4
size_t uspi_utf8_encode(uint32_t character, char bytes[USPI_UTF8_MAX]);

#endif
