/* SPDX-License-Identifier: MIT */
/* Writes JSON (RFC 8259) piece by piece. What the pieces mean is the caller's.
 *
 * Strings may hold any bytes: what is not UTF-8 becomes U+FFFD, one for each byte, because JSON has no way to say "these
 * bytes". Addresses are strings ("0x7f…"), because many readers take numbers for doubles, which lose bits above 2^53. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* All zero but `out` is a fresh one. */
struct json {
    FILE *out;
    unsigned depth;  /* of objects and arrays that are open; at most 31 */
    uint32_t filled; /* bit n: something stands already at depth n */
};

/* `key` is NULL inside an array and for the outermost value. */
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* "0x…" */
void json_address(struct json *json, const char *key, uint64_t value);

/* Hexadecimal digits, two for each byte. */
void json_bytes(struct json *json, const char *key, const uint8_t *bytes, size_t n);

#endif
