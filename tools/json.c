/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "tools/json.h"
#include "tools/text.h"

#include <inttypes.h>

static void put_key(struct json *json, const char *key) {
    if (json->is_filled) fputc(',', json->out);
    if (key != NULL) {
        if (json->is_filled) fputc(' ', json->out);
        fprintf(json->out, "\"%s\": ", key);
    }
    json->is_filled = true;
}

void json_open(struct json *json, const char *key, char brace) {
    put_key(json, key);
    if (key == NULL && json->depth > 0) fputc('\n', json->out);
    fputc(brace, json->out);
    json->depth++;
    json->is_filled = false;
}

void json_close(struct json *json, char brace) {
    if (brace == ']' && json->is_filled) fputc('\n', json->out);
    fputc(brace, json->out);
    json->depth--;
    json->is_filled = true;
}

void json_string(struct json *json, const char *key, const char *value) {
    put_key(json, key);
    fputc('"', json->out);
    put_escaped(json->out, USP_ESCAPE_JSON, value);
    fputc('"', json->out);
}

void json_number(struct json *json, const char *key, uint64_t value) {
    put_key(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_true(struct json *json, const char *key) {
    put_key(json, key);
    fputs("true", json->out);
}

void json_address(struct json *json, const char *key, uint64_t value) {
    put_key(json, key);
    fprintf(json->out, "\"0x%" PRIx64 "\"", value);
}

void json_build_id(struct json *json, bool is_macho, const uint8_t *bytes, uint32_t size) {
    if (size == 0) return;
    put_key(json, is_macho ? "uuid" : "build_id");
    fputc('"', json->out);
    for (uint32_t i = 0; i < size && i < USP_BUILD_ID_MAX; i++) fprintf(json->out, "%02x", bytes[i]);
    fputc('"', json->out);
}
