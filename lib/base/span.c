/* SPDX-License-Identifier: MIT */
/* See span.h. */
#include "lib/base/span.h"

#include <unspool/base.h>

int uspi_span_compare(struct uspi_span a, struct uspi_span b) {
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common > 0 ? memcmp(a.bytes, b.bytes, common) : 0;
    if (order != 0) return order;
    return a.length < b.length ? -1 : a.length > b.length;
}

size_t uspi_span_find(struct uspi_span text, size_t from, struct uspi_span needle) {
    while (from < text.length) {
        const char *found = memchr(text.bytes + from, needle.bytes[0], text.length - from);
        if (found == NULL) break;
        from = (size_t)(found - text.bytes);
        /* The second byte excludes nearly all places without a call. */
        const bool may_be = needle.length < 2 || (from + 1 < text.length && found[1] == needle.bytes[1]);
        if (may_be && uspi_span_has_at(text, from, needle)) return from;
        from++;
    }
    return text.length;
}

size_t uspi_span_find_last(struct uspi_span text, struct uspi_span needle) {
    for (size_t at = text.length; at-- > 0;) {
        if (text.bytes[at] == needle.bytes[0] && uspi_span_has_at(text, at, needle)) return at;
    }
    return text.length;
}

struct uspi_span uspi_span_trim_left(struct uspi_span text) {
    size_t from = 0;
    while (from < text.length && uspi_is_blank(text.bytes[from])) from++;
    return uspi_span_after(text, from);
}

struct uspi_span uspi_span_trim_right(struct uspi_span text) {
    while (text.length > 0 && uspi_is_blank(text.bytes[text.length - 1])) text.length--;
    return text;
}

struct uspi_span uspi_span_trim(struct uspi_span text) { return uspi_span_trim_left(uspi_span_trim_right(text)); }

struct uspi_span uspi_span_file_name(struct uspi_span path) {
    size_t from = path.length;
    while (from > 0 && path.bytes[from - 1] != '/') from--;
    return uspi_span_after(path, from);
}

struct uspi_span uspi_scan_word(struct uspi_span text, size_t *at) {
    size_t from = *at;
    while (*at < text.length && !uspi_is_blank(text.bytes[*at])) ++*at;
    return uspi_span_part(text, from, *at);
}

bool uspi_scan_decimal(struct uspi_span text, size_t *at, uint64_t *value) {
    const size_t begin = *at;
    size_t here = begin;
    uint64_t number = 0;
    bool fits = true;
    for (; here < text.length && uspi_is_digit(text.bytes[here]); here++) {
        const unsigned digit = (unsigned)(text.bytes[here] - '0');
        fits = number < UINT64_MAX / 10 || (number == UINT64_MAX / 10 && digit <= UINT64_MAX % 10);
        if (!fits) break;
        number = number * 10 + digit;
    }
    *at = here;
    *value = number;
    return fits && here > begin;
}

/* The value of each hexadecimal digit plus 1; 0: no digit. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

bool uspi_scan_hex_digits(struct uspi_span text, size_t *at, uint64_t *value) {
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    size_t begin = *at, here = begin;
    uint64_t number = 0;
    for (unsigned digit; here < text.length && (digit = digits[bytes[here]]) != 0; here++) {
        if (number >> 60 != 0) return false;
        number = number << 4 | (digit - 1);
    }
    *at = here;
    *value = number;
    return here > begin;
}

bool uspi_scan_hex(struct uspi_span text, size_t *at, uint64_t *value) {
    return uspi_skip(text, at, USPI_SPAN("0x")) && uspi_scan_hex_digits(text, at, value);
}

size_t uspi_scan_id(struct uspi_span text, uint8_t *id, size_t capacity) {
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    size_t count = 0;
    unsigned all = 0;
    for (size_t i = 0; i < text.length; i++) {
        /* Read two digits at once; in most ids no dash separates them. */
        unsigned high = digits[bytes[i]], low = i + 1 < text.length ? digits[bytes[i + 1]] : 0;
        if (high != 0 && low != 0 && count % 2 == 0 && count < 2 * capacity) {
            id[count / 2] = (uint8_t)((high - 1) << 4 | (low - 1));
            all |= id[count / 2];
            count += 2;
            i++;
            continue;
        }
        if (bytes[i] == '-' && count > 0 && bytes[i - 1] != '-') continue;
        if (high == 0 || count >= 2 * capacity) return 0;
        id[count / 2] = (uint8_t)(count % 2 == 0 ? (high - 1) << 4 : id[count / 2] | (high - 1));
        all |= high - 1;
        count++;
    }
    return count % 2 == 0 && count >= 2 * USPI_ID_MIN && all != 0 ? count / 2 : 0;
}
