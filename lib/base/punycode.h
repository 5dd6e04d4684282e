/* SPDX-License-Identifier: MIT */
/* Decodes Punycode (RFC 3492): Unicode written in ASCII, in identifiers of Rust and Swift. "_" is the delimiter, and
 * letters are lower-case. */
#ifndef USPI_BASE_PUNYCODE_H
#define USPI_BASE_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a language writes Punycode. */
enum uspi_punycode_form {
    USPI_PUNYCODE_RUST, /* the digits from 26 on are 0 to 9 */
    USPI_PUNYCODE_SWIFT /* the digits from 26 on are A to J; 0xd800 to 0xd87f mean ASCII not allowed in symbols */
};

/* Decodes `length` untrusted bytes into at most `capacity` characters. Returns the number of characters; 0 when the
 * bytes are malformed or empty, or there is not enough room. The time is quadratic in the length. */
size_t uspi_punycode_decode(enum uspi_punycode_form form, const char *bytes, size_t length, uint32_t *characters,
                            size_t capacity);

/* Returns whether a number is a Unicode character: not a surrogate, not above U+10FFFF. */
static inline bool uspi_is_character(uint64_t c) { return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }

#endif
