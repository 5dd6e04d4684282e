/* SPDX-License-Identifier: MIT */
/* Writes JSON (RFC 8259) piece by piece, for the library's reports and for the command, which has a copy of its own. What
 * the pieces mean is the caller's.
 *
 * Strings may hold any bytes (uspi_put_json_text). Addresses are strings ("0x7f…"), because many readers take numbers for
 * doubles, which lose bits above 2^53. */
#ifndef USPI_JSON_H
#define USPI_JSON_H

#include "lib/text.h"

/* All zero but `out` is a fresh one. */
struct uspi_json {
    struct uspi_text *out;
    unsigned depth;  /* of objects and arrays that are open; at most 31 */
    uint32_t filled; /* bit n: something stands already at depth n */
    unsigned flat;   /* values at this depth and deeper share a line with what holds them; 0: each value has its own */
};

/* `key` is NULL inside an array and for the outermost value. */
void uspi_json_begin_object(struct uspi_json *json, const char *key);
void uspi_json_end_object(struct uspi_json *json);
void uspi_json_begin_array(struct uspi_json *json, const char *key);
void uspi_json_end_array(struct uspi_json *json);

void uspi_json_string(struct uspi_json *json, const char *key, const char *value);
void uspi_json_number(struct uspi_json *json, const char *key, uint64_t value);
void uspi_json_bool(struct uspi_json *json, const char *key, bool value);

/* "0x…" */
void uspi_json_address(struct uspi_json *json, const char *key, uint64_t value);

/* Hexadecimal digits, two for each byte. */
void uspi_json_bytes(struct uspi_json *json, const char *key, const uint8_t *bytes, size_t n);

/* Those of an image, as "uuid" or "build_id"; nothing when it has none. */
void uspi_json_build_id(struct uspi_json *json, bool is_macho, const uint8_t *bytes, size_t n);

#endif
