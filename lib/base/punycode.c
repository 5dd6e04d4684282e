/* SPDX-License-Identifier: MIT */
/* See punycode.h. */
#include "lib/base/punycode.h"

#include "lib/base/text.h"

#include <string.h>

/* RFC 3492, section 5. */
#define BASE         36u
#define THRESHOLD_1  1u
#define THRESHOLD_2  26u
#define SKEW         38u
#define DAMP         700u
#define INITIAL_BIAS 72u
#define INITIAL_N    128u

/* Adapts the bias (section 6.1). */
static uint64_t adapt_bias(uint64_t delta, uint64_t points, bool is_first) {
    uint64_t k = 0;
    delta = is_first ? delta / DAMP : delta / 2;
    delta += delta / points;
    for (; delta > (BASE - THRESHOLD_1) * THRESHOLD_2 / 2; k += BASE) delta /= BASE - THRESHOLD_1;
    return k + (BASE - THRESHOLD_1 + 1) * delta / (delta + SKEW);
}

static uint64_t threshold_at(uint64_t k, uint64_t bias) {
    if (k <= bias) return THRESHOLD_1;
    return k >= bias + THRESHOLD_2 ? THRESHOLD_2 : k - bias;
}

/* Returns the value of a digit; BASE when it is none. */
static uint64_t digit_of(enum uspi_punycode_form form, char c) {
    const char first = form == USPI_PUNYCODE_SWIFT ? 'A' : '0';
    if (c >= 'a' && c <= 'z') return (uint64_t)(c - 'a');
    return c >= first && c <= first + 9 ? 26 + (uint64_t)(c - first) : BASE;
}

/* Returns whether a number is Swift's ASCII + 0xd800 (swift lib/Demangling/Punycode.cpp); names do not contain NUL. */
static bool is_swift_ascii(uint64_t n) { return n > 0xd800 && n < 0xd880; }

/* Reads a generalized variable-length integer (section 3.3) and adds it to *i. Returns its length in bytes; 0 when it
 * is malformed or the sum does not fit into 32 bits. */
static size_t take_integer(enum uspi_punycode_form form, struct uspi_span span, uint64_t bias, uint64_t *i) {
    uint64_t weight = 1;
    for (size_t used = 0, k = BASE; used < span.length; k += BASE) {
        uint64_t digit = digit_of(form, span.bytes[used++]), threshold = threshold_at(k, bias);
        if (digit == BASE || digit > (UINT32_MAX - *i) / weight) return 0;
        *i += digit * weight;
        if (digit < threshold) return used;
        if (weight > UINT32_MAX / (BASE - threshold)) return 0;
        weight *= BASE - threshold;
    }
    return 0;
}

/* Returns the position after the last delimiter; the bytes before that delimiter are plain ASCII. */
static size_t find_delimiter(const char *bytes, size_t length) {
    while (length > 0 && bytes[length - 1] != '_') length--;
    return length;
}

/* The decoding procedure of section 6.2. */
size_t uspi_punycode_decode(enum uspi_punycode_form form, const char *bytes, size_t length, uint32_t *characters,
                            size_t capacity) {
    size_t at = find_delimiter(bytes, length), count = 0;
    uint64_t n = INITIAL_N, i = 0, bias = INITIAL_BIAS;
    for (size_t k = 0; k + 1 < at; k++) {
        if (count == capacity || (uint8_t)bytes[k] > 0x7f) return 0;
        characters[count++] = (uint8_t)bytes[k];
    }
    for (bool is_first = true; at < length; is_first = false) {
        uint64_t before = i;
        size_t used = take_integer(form, (struct uspi_span){bytes + at, length - at}, bias, &i);
        if (used == 0 || count == capacity) return 0;
        at += used;
        bias = adapt_bias(i - before, count + 1, is_first);
        size_t place = (size_t)(i % (count + 1));
        n += i / (count + 1);
        bool is_ascii = form == USPI_PUNYCODE_SWIFT && is_swift_ascii(n);
        if (!is_ascii && !uspi_is_character(n)) return 0;
        memmove(characters + place + 1, characters + place, (count - place) * sizeof *characters);
        characters[place] = (uint32_t)(is_ascii ? n - 0xd800 : n);
        i = place + 1;
        count++;
    }
    return count;
}
