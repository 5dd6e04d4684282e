/* SPDX-License-Identifier: MIT */
/* Writes JSON (RFC 8259) for the sub-commands whose JSON is not the library's: an object on one line, each element of an
 * array on a line of its own. Strings may hold any bytes (USP_ESCAPE_JSON). */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <unspool/unspool.h>

#include <stdio.h>

/* {FILE} is a fresh one. */
struct json {
    FILE *out;
    unsigned depth; /* of objects and arrays that are open */
    bool is_filled; /* something stands before the next value in the object or array that is open */
};

/* `brace` is '{' or '['; `key` is NULL in an array and for the outermost value. The outermost is followed by a newline by
 * the caller. */
void json_open(struct json *json, const char *key, char brace);
void json_close(struct json *json, char brace);

void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_true(struct json *json, const char *key);

/* A string, "0x…", because many readers take numbers for doubles. */
void json_address(struct json *json, const char *key, uint64_t value);

/* "uuid" or "build_id" with the digits of an image's, if it has one. */
void json_build_id(struct json *json, bool is_macho, const uint8_t *bytes, uint32_t size);

#endif
