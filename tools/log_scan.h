/* SPDX-License-Identifier: MIT */
/* Pieces of text that end where they end, not at a NUL, and what is read off them. Bytes may be any. */
#ifndef TOOL_LOG_SCAN_H
#define TOOL_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *bytes;
    size_t length;
};

#define SPAN(literal) ((struct span){literal, sizeof literal - 1})

bool span_equals(struct span a, struct span b);
bool span_begins(struct span text, struct span beginning);
bool span_ends(struct span text, struct span end);

/* Bytes `from` … `to` − 1 of a piece that has them; of an empty piece `bytes` may be NULL. */
struct span span_part(struct span text, size_t from, size_t to);

/* Where `needle` stands first at or behind `from`; text.length when nowhere. */
size_t span_find(struct span text, size_t from, struct span needle);

/* Without the blanks, tabs and line ends at its beginning, at its end, or at both. */
struct span span_trim_left(struct span text);
struct span span_trim_right(struct span text);
struct span span_trim(struct span text);

/* The last part of a path. */
struct span span_file_name(struct span path);

/* Whether a byte is one of the set's. Unlike strchr, a NUL is in no set. */
bool scan_is_in(const char *set, char c);

/* The number that begins at *at, behind which *at stands then: at least one digit, no more than 64 bits hold. */
bool scan_decimal(struct span text, size_t *at, uint64_t *value);
/* The same with 0x in front of it. */
bool scan_hex(struct span text, size_t *at, uint64_t *value);

/* A build-id or UUID as people write it: digits, two for each byte, with or without dashes, and nothing else. Returns its
 * size in bytes, 0 when it is none: less than SCAN_ID_MIN bytes, more than `room`, or nothing but zeros. */
#define SCAN_ID_MIN 8
size_t scan_id(struct span text, uint8_t *id, size_t room);

#endif
