/* SPDX-License-Identifier: MIT */
/* Spans: pieces of text with a length instead of a NUL at the end, and functions that read them. They may contain any
 * bytes. */
#ifndef USPI_BASE_SPAN_H
#define USPI_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct uspi_span {
    const char *bytes; /* may be NULL when length is 0 */
    size_t length;
};

/* A span of a string literal: as an initialiser of static data, and as a value. */
#define USPI_SPAN_INIT(literal) {literal, sizeof literal - 1}
#define USPI_SPAN(literal)      ((struct uspi_span)USPI_SPAN_INIT(literal))

static inline struct uspi_span uspi_span_of(const char *string) {
    return (struct uspi_span){string, string != NULL ? strlen(string) : 0};
}

/* Returns bytes `from` … `to` − 1 of a span, as far as it has them; an empty span if `to` is before `from`, as between
 * two marks of a damaged text that share characters. */
static inline struct uspi_span uspi_span_part(struct uspi_span text, size_t from, size_t to) {
    if (to > text.length) to = text.length;
    if (from > to) from = to;
    return (struct uspi_span){text.bytes != NULL ? text.bytes + from : NULL, to - from};
}

/* Returns the rest after the first `from` bytes. */
static inline struct uspi_span uspi_span_after(struct uspi_span text, size_t from) {
    return uspi_span_part(text, from, text.length);
}

static inline bool uspi_span_is(struct uspi_span a, struct uspi_span b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static inline bool uspi_span_begins(struct uspi_span text, struct uspi_span beginning) {
    return text.length >= beginning.length && uspi_span_is(uspi_span_part(text, 0, beginning.length), beginning);
}

static inline bool uspi_span_ends(struct uspi_span text, struct uspi_span end) {
    return text.length >= end.length && uspi_span_is(uspi_span_after(text, text.length - end.length), end);
}

/* Returns whether the text has `beginning` at position `at`. */
static inline bool uspi_span_has_at(struct uspi_span text, size_t at, struct uspi_span beginning) {
    return at <= text.length && uspi_span_begins(uspi_span_after(text, at), beginning);
}

/* Compares two spans. Returns less than, equal to or greater than 0, like memcmp; a span that is the other's beginning
 * comes first. */
int uspi_span_compare(struct uspi_span a, struct uspi_span b);

/* Returns the first position at or after `from` of `needle`, which must not be empty; text.length when there is
 * none. */
size_t uspi_span_find(struct uspi_span text, size_t from, struct uspi_span needle);
static inline bool uspi_span_has(struct uspi_span text, struct uspi_span needle) {
    return uspi_span_find(text, 0, needle) < text.length;
}

/* Returns the last position of `needle`; text.length when there is none. */
size_t uspi_span_find_last(struct uspi_span text, struct uspi_span needle);

/* Returns whether a byte is a blank, tab or line end. */
static inline bool uspi_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static inline bool uspi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the value of a hexadecimal digit; -1 for any other byte. */
static inline int uspi_hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Return a text without blanks at its beginning, at its end, or both. */
struct uspi_span uspi_span_trim_left(struct uspi_span text);
struct uspi_span uspi_span_trim_right(struct uspi_span text);
struct uspi_span uspi_span_trim(struct uspi_span text);

/* Returns the last component of a path. */
struct uspi_span uspi_span_file_name(struct uspi_span path);

/* Moves *at past blanks and tabs. */
static inline void uspi_skip_blanks(struct uspi_span text, size_t *at) {
    while (*at < text.length && (text.bytes[*at] == ' ' || text.bytes[*at] == '\t')) ++*at;
}

/* Moves *at past `expected`; false when the text has something else there. */
static inline bool uspi_skip(struct uspi_span text, size_t *at, struct uspi_span expected) {
    if (!uspi_span_has_at(text, *at, expected)) return false;
    *at += expected.length;
    return true;
}

/* Returns the word from *at up to a blank or the end, and moves *at past it. Empty at a blank or the end. */
struct uspi_span uspi_scan_word(struct uspi_span text, size_t *at);

/* Reads a decimal number at *at and moves *at past its digits. False without a digit, or when it exceeds 64 bits. */
bool uspi_scan_decimal(struct uspi_span text, size_t *at, uint64_t *value);

/* Read a hexadecimal number in the same way, without and with the prefix 0x. */
bool uspi_scan_hex_digits(struct uspi_span text, size_t *at, uint64_t *value);
bool uspi_scan_hex(struct uspi_span text, size_t *at, uint64_t *value);

/* Reads a text that is a build id or UUID as people write it: two digits for each byte, with or without dashes. Returns
 * its size in bytes; 0 when it is invalid: fewer than USPI_ID_MIN bytes, more than `capacity`, or only zeros. */
#define USPI_ID_MIN 8
size_t uspi_scan_id(struct uspi_span text, uint8_t *id, size_t capacity);

/* Returns the processor that a word names (usp_arch_from_string), and sets *variant to its enum usp_variant. */
uint32_t uspi_scan_arch(struct uspi_span word, uint32_t *variant);

#endif
