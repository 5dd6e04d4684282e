/* SPDX-License-Identifier: MIT */
/* Pieces of text that end where their length says, not at a NUL, and what can be read off them. Their bytes may be any. */
#ifndef USPI_SPAN_H
#define USPI_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct uspi_span {
    const char *bytes; /* may be NULL when length is 0 */
    size_t length;
};

/* Of a string literal: as a value, and for what is initialised statically. */
#define USPI_SPAN_INIT(literal) {literal, sizeof literal - 1}
#define USPI_SPAN(literal)      ((struct uspi_span)USPI_SPAN_INIT(literal))

static inline struct uspi_span uspi_span_of(const char *string) {
    return (struct uspi_span){string, string != NULL ? strlen(string) : 0};
}

/* Bytes `from` … `to` − 1 of a piece that has them. */
static inline struct uspi_span uspi_span_part(struct uspi_span text, size_t from, size_t to) {
    return (struct uspi_span){text.bytes != NULL ? text.bytes + from : NULL, to - from};
}

/* All behind the first `from` bytes, of which there are that many. */
static inline struct uspi_span uspi_span_behind(struct uspi_span text, size_t from) {
    return uspi_span_part(text, from, text.length);
}

static inline bool uspi_span_is(struct uspi_span a, struct uspi_span b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static inline bool uspi_span_begins(struct uspi_span text, struct uspi_span beginning) {
    return text.length >= beginning.length && uspi_span_is(uspi_span_part(text, 0, beginning.length), beginning);
}

static inline bool uspi_span_ends(struct uspi_span text, struct uspi_span end) {
    return text.length >= end.length && uspi_span_is(uspi_span_behind(text, text.length - end.length), end);
}

/* Whether `beginning` stands at `at`. */
static inline bool uspi_span_has_at(struct uspi_span text, size_t at, struct uspi_span beginning) {
    return at <= text.length && uspi_span_begins(uspi_span_behind(text, at), beginning);
}

/* Less than, equal to or greater than 0, as memcmp; a beginning of the other comes first. */
int uspi_span_compare(struct uspi_span a, struct uspi_span b);

/* Where `needle`, which is not empty, stands first at or behind `from`; text.length when nowhere. */
size_t uspi_span_find(struct uspi_span text, size_t from, struct uspi_span needle);
static inline bool uspi_span_has(struct uspi_span text, struct uspi_span needle) {
    return uspi_span_find(text, 0, needle) < text.length;
}

/* Where `needle` stands last; text.length when nowhere. */
size_t uspi_span_find_last(struct uspi_span text, struct uspi_span needle);

/* A blank, tab or line end. */
static inline bool uspi_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static inline bool uspi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* The value of a hexadecimal digit, -1 for what is none. */
static inline int uspi_hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Without blanks at its beginning, at its end, or at both. */
static inline struct uspi_span uspi_span_trim_left(struct uspi_span text) {
    size_t from = 0;
    while (from < text.length && uspi_is_blank(text.bytes[from])) from++;
    return uspi_span_behind(text, from);
}
static inline struct uspi_span uspi_span_trim_right(struct uspi_span text) {
    while (text.length > 0 && uspi_is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}
static inline struct uspi_span uspi_span_trim(struct uspi_span text) {
    return uspi_span_trim_left(uspi_span_trim_right(text));
}

/* The last part of a path. */
struct uspi_span uspi_span_file_name(struct uspi_span path);

/* Moves *at behind the blanks and tabs that stand there. */
static inline void uspi_skip_blanks(struct uspi_span text, size_t *at) {
    while (*at < text.length && (text.bytes[*at] == ' ' || text.bytes[*at] == '\t')) ++*at;
}

/* Moves *at behind `expected` when that stands there; otherwise returns false. */
static inline bool uspi_skip(struct uspi_span text, size_t *at, struct uspi_span expected) {
    if (!uspi_span_has_at(text, *at, expected)) return false;
    *at += expected.length;
    return true;
}

/* The word that begins at *at, up to a blank or the end; *at stands behind it then. Empty at a blank or the end. */
struct uspi_span uspi_scan_word(struct uspi_span text, size_t *at);

/* The number that begins at *at: at least one digit, no more than 64 bits hold. *at stands behind its digits then. */
bool uspi_scan_decimal(struct uspi_span text, size_t *at, uint64_t *value);

/* The same in hexadecimal, without and with 0x in front of it. */
bool uspi_scan_hex_digits(struct uspi_span text, size_t *at, uint64_t *value);
bool uspi_scan_hex(struct uspi_span text, size_t *at, uint64_t *value);

/* A build id or UUID as people write it: digits, two for each byte, with or without dashes, and nothing else. Returns its
 * size in bytes; 0 when it is none: less than USPI_ID_MIN bytes, more than `room`, or nothing but zeros. */
#define USPI_ID_MIN 8
size_t uspi_scan_id(struct uspi_span text, uint8_t *id, size_t room);

/* The processor that a word names (usp_arch_from_string); *variant becomes the enum usp_variant that it means. */
uint32_t uspi_scan_arch(struct uspi_span word, uint32_t *variant);

#endif
