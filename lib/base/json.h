/* SPDX-License-Identifier: MIT */
/* Writes JSON (RFC 8259) piece by piece, for the library's reports and for the command, which links its own copy.
 *
 * Strings may contain any bytes (uspi_put_json_text). Addresses are strings ("0x7f…"), because many JSON readers store
 * numbers as doubles, which lose bits above 2^53. */
#ifndef USPI_BASE_JSON_H
#define USPI_BASE_JSON_H

#include "lib/base/text.h"

#include <unspool/images.h>

/* To begin, set `out` and leave the rest zero. */
struct uspi_json {
    struct uspi_text *out;
    unsigned depth;  /* open objects and arrays; at most 31 */
    uint32_t filled; /* bit n: a value has been written at depth n */
    unsigned flat;   /* values at this depth and deeper are written on one line; 0: each value has its own line */
};

/* `key` is NULL inside arrays and for the outermost value. */
void uspi_json_begin_object(struct uspi_json *json, const char *key);
void uspi_json_end_object(struct uspi_json *json);
void uspi_json_begin_array(struct uspi_json *json, const char *key);
void uspi_json_end_array(struct uspi_json *json);

void uspi_json_string(struct uspi_json *json, const char *key, const char *value);
void uspi_json_number(struct uspi_json *json, const char *key, uint64_t value);
void uspi_json_bool(struct uspi_json *json, const char *key, bool value);
void uspi_json_null(struct uspi_json *json, const char *key);

/* Writes a signed whole number. */
void uspi_json_integer(struct uspi_json *json, const char *key, int64_t value);

/* Writes the fraction value / 10^decimals with all its decimals (at most 19). */
void uspi_json_fraction(struct uspi_json *json, const char *key, uint64_t value, unsigned decimals);

/* Writes an address as the string "0x…". */
void uspi_json_address(struct uspi_json *json, const char *key, uint64_t value);

/* Writes bytes as a string of hexadecimal digits, two for each byte. */
void uspi_json_bytes(struct uspi_json *json, const char *key, const uint8_t *bytes, size_t n);

/* Writes a processor as "arch" and, if its variant has a name, that as "variant". */
void uspi_json_arch(struct uspi_json *json, uint32_t arch, uint32_t variant);

/* Writes an image's identity as "uuid" or "build_id"; nothing when it has none. */
void uspi_json_build_id(struct uspi_json *json, bool is_macho, const uint8_t *bytes, size_t n);

/* Writes an image as an element of the list "images": its path, addresses and identity. */
void uspi_json_image(struct uspi_json *json, const struct usp_image *image);

#endif
