/* SPDX-License-Identifier: MIT */
/* See log_scan.h. */
#include "tools/log_scan.h"

#include <string.h>

bool span_equals(struct span a, struct span b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool span_begins(struct span text, struct span beginning) {
    return text.length >= beginning.length && span_equals(span_part(text, 0, beginning.length), beginning);
}

bool span_ends(struct span text, struct span end) {
    return text.length >= end.length && span_equals(span_part(text, text.length - end.length, text.length), end);
}

struct span span_part(struct span text, size_t from, size_t to) {
    return (struct span){text.bytes != NULL ? text.bytes + from : NULL, to - from};
}

size_t span_find(struct span text, size_t from, struct span needle) {
    while (from < text.length) {
        const char *found = memchr(text.bytes + from, needle.bytes[0], text.length - from);
        if (found == NULL) break;
        from = (size_t)(found - text.bytes);
        if (span_begins(span_part(text, from, text.length), needle)) return from;
        from++;
    }
    return text.length;
}

bool scan_is_in(const char *set, char c) { return c != '\0' && strchr(set, c) != NULL; }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct span span_trim_left(struct span text) {
    size_t from = 0;
    while (from < text.length && is_blank(text.bytes[from])) from++;
    return span_part(text, from, text.length);
}

struct span span_trim_right(struct span text) {
    while (text.length > 0 && is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}

struct span span_trim(struct span text) { return span_trim_left(span_trim_right(text)); }

struct span span_file_name(struct span path) {
    size_t from = path.length;
    while (from > 0 && path.bytes[from - 1] != '/') from--;
    return span_part(path, from, path.length);
}

bool scan_decimal(struct span text, size_t *at, uint64_t *value) {
    size_t begin = *at;
    *value = 0;
    for (; *at < text.length && text.bytes[*at] >= '0' && text.bytes[*at] <= '9'; ++*at) {
        unsigned digit = (unsigned)(text.bytes[*at] - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return *at > begin;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool scan_hex(struct span text, size_t *at, uint64_t *value) {
    if (*at >= text.length || !span_begins(span_part(text, *at, text.length), SPAN("0x"))) return false;
    size_t begin = *at += 2;
    *value = 0;
    for (; *at < text.length && hex_digit(text.bytes[*at]) >= 0; ++*at) {
        if (*value >> 60 != 0) return false;
        *value = *value << 4 | (unsigned)hex_digit(text.bytes[*at]);
    }
    return *at > begin;
}

size_t scan_id(struct span text, uint8_t *id, size_t room) {
    size_t digits = 0;
    bool is_something = false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] == '-' && digits > 0 && text.bytes[i - 1] != '-') continue;
        int digit = hex_digit(text.bytes[i]);
        if (digit < 0 || digits >= 2 * room) return 0;
        id[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : id[digits / 2] | digit);
        is_something |= digit != 0;
        digits++;
    }
    return digits % 2 == 0 && digits >= 2 * SCAN_ID_MIN && is_something ? digits / 2 : 0;
}
