/* SPDX-License-Identifier: MIT */
/* See log_json.h. */
#include "tools/log_json.h"

#include <string.h>

static struct log_json_token token(const struct log_json *json, enum log_json_kind kind, size_t from, size_t to) {
    return (struct log_json_token){kind, span_part(json->text, from, to), json->depth};
}

static struct log_json_token fail(struct log_json *json, size_t at) {
    json->at = json->text.length;
    json->state = LOG_JSON_HAS_VALUE;
    json->depth = 0;
    return token(json, LOG_JSON_ERROR, at, json->text.length);
}

static char peek(const struct log_json *json) {
    return json->at < json->text.length ? json->text.bytes[json->at] : '\0';
}

static void skip_blanks(struct log_json *json) {
    while (json->at < json->text.length && scan_is_in(" \t\r\n", json->text.bytes[json->at])) json->at++;
}

/* Behind the string's closing quote; 0 when it has none. json->at is at the opening one. */
static size_t end_of_string(const struct log_json *json) {
    for (size_t at = json->at + 1; at < json->text.length; at++) {
        if (json->text.bytes[at] == '\\') {
            at++;
        } else if (json->text.bytes[at] == '"') {
            return at + 1;
        } else if ((unsigned char)json->text.bytes[at] < ' ') {
            return 0;
        }
    }
    return 0;
}

static struct log_json_token read_string(struct log_json *json, enum log_json_kind kind) {
    size_t from = json->at, to = end_of_string(json);
    if (to == 0) return fail(json, from);
    json->at = to;
    if (kind == LOG_JSON_STRING) {
        json->state = LOG_JSON_HAS_VALUE;
        return token(json, kind, from + 1, to - 1);
    }
    skip_blanks(json);
    if (peek(json) != ':') return fail(json, json->at);
    json->at++;
    json->state = LOG_JSON_WANTS_VALUE;
    return token(json, kind, from + 1, to - 1);
}

static struct log_json_token open_one(struct log_json *json, bool is_array) {
    size_t from = json->at;
    if (json->depth == LOG_JSON_DEPTH) return fail(json, from);
    struct log_json_token opened = token(json, is_array ? LOG_JSON_ARRAY : LOG_JSON_OBJECT, from, from + 1);
    json->is_array[json->depth++] = is_array;
    json->state = is_array ? LOG_JSON_WANTS_VALUE : LOG_JSON_WANTS_KEY;
    json->is_fresh = true;
    json->at++;
    return opened;
}

static struct log_json_token close_one(struct log_json *json) {
    size_t from = json->at++;
    bool is_array = json->is_array[--json->depth];
    json->state = LOG_JSON_HAS_VALUE;
    return token(json, is_array ? LOG_JSON_ARRAY_END : LOG_JSON_OBJECT_END, from, from + 1);
}

static bool closes(const struct log_json *json) {
    return json->depth > 0 && peek(json) == (json->is_array[json->depth - 1] ? ']' : '}');
}

static struct log_json_token read_word(struct log_json *json) {
    static const char *const literals[] = {"true", "false", "null"};
    size_t from = json->at;
    while (json->at < json->text.length && !scan_is_in(" \t\r\n,:]}[{\"", json->text.bytes[json->at])) json->at++;
    struct span word = span_part(json->text, from, json->at);
    json->state = LOG_JSON_HAS_VALUE;
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        if (span_equals(word, (struct span){literals[i], strlen(literals[i])})) {
            return token(json, LOG_JSON_LITERAL, from, json->at);
        }
    }
    bool is_number = word.length > 0 && scan_is_in("-0123456789", word.bytes[0]);
    for (size_t i = 0; i < word.length; i++) is_number = is_number && scan_is_in("+-.0123456789eE", word.bytes[i]);
    return is_number ? token(json, LOG_JSON_NUMBER, from, json->at) : fail(json, from);
}

static struct log_json_token read_value(struct log_json *json) {
    switch (peek(json)) {
    case '"': return read_string(json, LOG_JSON_STRING);
    case '{': return open_one(json, false);
    case '[': return open_one(json, true);
    default: return read_word(json);
    }
}

struct log_json_token log_json_next(struct log_json *json) {
    skip_blanks(json);
    bool is_fresh = json->is_fresh;
    json->is_fresh = false;
    if (json->at == json->text.length) {
        return json->depth == 0 ? token(json, LOG_JSON_END, json->at, json->at) : fail(json, json->at);
    }
    if (json->depth == 0) return read_value(json);
    if ((json->state == LOG_JSON_HAS_VALUE || is_fresh) && closes(json)) return close_one(json);
    if (json->state == LOG_JSON_HAS_VALUE) {
        if (peek(json) != ',') return fail(json, json->at);
        json->at++;
        json->state = json->is_array[json->depth - 1] ? LOG_JSON_WANTS_VALUE : LOG_JSON_WANTS_KEY;
        skip_blanks(json);
    }
    if (json->state == LOG_JSON_WANTS_VALUE) return read_value(json);
    return peek(json) == '"' ? read_string(json, LOG_JSON_KEY) : fail(json, json->at);
}

/* ---- values ---- */

static bool read_unit(struct span text, size_t at, uint32_t *unit) {
    *unit = 0;
    if (text.length - at < 4) return false;
    for (size_t i = at; i < at + 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = text.bytes[i] >= 'A' && text.bytes[i] <= 'F' ? (char)(text.bytes[i] - 'A' + 'a') : text.bytes[i];
        const char *digit = memchr(digits, c, sizeof digits - 1);
        if (digit == NULL) return false;
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

static size_t put_utf8(uint32_t character, char *to) {
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    size_t n = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, character >>= 6) to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)((0xf00 >> n & 0xff) | character);
    return n;
}

size_t log_json_decode(struct span text, char *to) {
    static const char escapes[] = "bfnrt", resolved[] = "\b\f\n\r\t";
    size_t length = 0;
    for (size_t at = 0; at < text.length; at++) {
        uint32_t unit, low;
        if (text.bytes[at] != '\\' || at + 1 == text.length) {
            to[length++] = text.bytes[at];
            continue;
        }
        char c = text.bytes[++at];
        const char *escape = memchr(escapes, c, sizeof escapes - 1);
        if (c != 'u' || !read_unit(text, at + 1, &unit)) {
            to[length++] = escape != NULL ? resolved[escape - escapes] : c;
            continue;
        }
        at += 4;
        /* RFC 8259: what lies beyond U+FFFF is a pair of surrogates. */
        if (unit >> 10 == 0xd800 >> 10 && text.length - at > 6 && text.bytes[at + 1] == '\\' &&
            text.bytes[at + 2] == 'u' && read_unit(text, at + 3, &low) && low >> 10 == 0xdc00 >> 10) {
            unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
            at += 6;
        }
        length += put_utf8(unit, to + length);
    }
    return length;
}

bool log_json_number(struct span text, uint64_t *value) {
    size_t at = 0;
    return scan_decimal(text, &at, value) && at == text.length;
}
