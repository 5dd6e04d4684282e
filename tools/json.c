/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "tools/json.h"

#include "tools/text.h"

#include <inttypes.h>
#include <string.h>

static void put_string(FILE *out, const char *text) {
    size_t n = strlen(text);
    fputc('"', out);
    while (n > 0) {
        uint32_t character = 0;
        size_t length = utf8_decode(text, n, &character);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (character == '"' || character == '\\') {
            fprintf(out, "\\%c", (char)character);
        } else if (character < 0x20 || character == 0x7f) {
            fprintf(out, "\\u%04" PRIx32, character);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length;
        n -= length;
    }
    fputc('"', out);
}

/* The comma, the line and the key before a value. */
static void begin_value(struct json *json, const char *key) {
    if (json->depth > 0) {
        if ((json->filled >> json->depth & 1) != 0) fputc(',', json->out);
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
        json->filled |= UINT32_C(1) << json->depth;
    }
    if (key != NULL) {
        put_string(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_brace(struct json *json, const char *key, char brace) {
    begin_value(json, key);
    fputc(brace, json->out);
    json->depth++;
    json->filled &= ~(UINT32_C(1) << json->depth);
}

static void close_brace(struct json *json, char brace) {
    bool filled = (json->filled >> json->depth & 1) != 0;
    json->depth--;
    if (filled) fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
    fputc(brace, json->out);
    if (json->depth == 0) fputc('\n', json->out);
}

void json_begin_object(struct json *json, const char *key) { open_brace(json, key, '{'); }

void json_end_object(struct json *json) { close_brace(json, '}'); }

void json_begin_array(struct json *json, const char *key) { open_brace(json, key, '['); }

void json_end_array(struct json *json) { close_brace(json, ']'); }

void json_string(struct json *json, const char *key, const char *value) {
    begin_value(json, key);
    put_string(json->out, value);
}

void json_number(struct json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, bool value) {
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key) {
    begin_value(json, key);
    fputs("null", json->out);
}

void json_address(struct json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    fprintf(json->out, "\"0x%" PRIx64 "\"", value);
}

void json_bytes(struct json *json, const char *key, const uint8_t *bytes, size_t n) {
    begin_value(json, key);
    fputc('"', json->out);
    for (size_t i = 0; i < n; i++) fprintf(json->out, "%02x", bytes[i]);
    fputc('"', json->out);
}
