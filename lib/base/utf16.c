/* SPDX-License-Identifier: MIT */
/* See utf16.h. Sources: RFC 2781, RFC 3629. */
#include "lib/base/utf16.h"

#include "lib/base/text.h"

static uint32_t load_unit(const char *from, bool is_big_endian) {
    const unsigned char *bytes = (const unsigned char *)from;
    return is_big_endian ? (uint32_t)bytes[0] << 8 | bytes[1] : (uint32_t)bytes[1] << 8 | bytes[0];
}

static size_t store_unit(uint32_t unit, bool is_big_endian, char *to) {
    to[is_big_endian ? 0 : 1] = (char)(unit >> 8);
    to[is_big_endian ? 1 : 0] = (char)(unit & 0xff);
    return 2;
}

size_t uspi_utf16_decode(const char *from, size_t units, bool is_big_endian, char *to) {
    size_t length = 0;
    for (size_t i = 0; i < units; i++) {
        uint32_t unit = load_unit(from + 2 * i, is_big_endian);
        if (unit >> 11 == 0xd800 >> 11) {
            uint32_t low = i + 1 < units ? load_unit(from + 2 * (i + 1), is_big_endian) : 0;
            if (unit >> 10 != 0xd800 >> 10 || low >> 10 != 0xdc00 >> 10) return SIZE_MAX;
            unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
            i++;
        }
        length += uspi_utf8_encode(unit, to + length);
    }
    return length;
}

size_t uspi_utf16_encode(struct uspi_span from, bool is_big_endian, char *to) {
    size_t length = 0;
    for (size_t at = 0; at < from.length;) {
        uint32_t character = 0xfffd;
        size_t n = uspi_utf8_decode(from.bytes + at, from.length - at, &character);
        if (n == 0) character = 0xfffd;
        at += n > 0 ? n : 1;
        if (character >= 0x10000) {
            character -= 0x10000;
            length += store_unit(0xd800 | character >> 10, is_big_endian, to + length);
            character = 0xdc00 | (character & 0x3ff);
        }
        length += store_unit(character, is_big_endian, to + length);
    }
    return length;
}
