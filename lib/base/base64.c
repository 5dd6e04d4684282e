/* SPDX-License-Identifier: MIT */
/* See base64.h. */
#include "lib/base/base64.h"

static int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

size_t uspi_base64_decode(struct uspi_span text, uint8_t *bytes) {
    size_t n = 0;
    uint32_t word = 0;
    if (text.length % 4 == 0 && uspi_span_ends(text, USPI_SPAN("="))) {
        text.length -= uspi_span_ends(text, USPI_SPAN("==")) ? 2 : 1;
    }
    if (text.length % 4 == 1) return SIZE_MAX;
    for (size_t i = 0; i < text.length; i++) {
        const int value = value_of(text.bytes[i]);
        if (value < 0) return SIZE_MAX;
        word = word << 6 | (uint32_t)value;
        /* The second, third and fourth character of each four complete a byte. */
        if (i % 4 != 0) bytes[n++] = (uint8_t)(word >> (6 - 2 * (i % 4)));
    }
    return n;
}
