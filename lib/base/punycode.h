/* SPDX-License-Identifier: MIT */
/* Unicode written with ASCII letters (RFC 3492), as identifiers of Rust and Swift have it: "_" is the delimiter, and the
 * letters are lower-case ones. */
#ifndef USPI_PUNYCODE_H
#define USPI_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a language writes it. */
enum uspi_punycode_form {
    USPI_PUNYCODE_RUST, /* the digits from 26 on are 0 to 9 */
    USPI_PUNYCODE_SWIFT /* they are A to J; and 0xd800 to 0xd87f stand for ASCII that a symbol's name cannot hold */
};

/* Decodes `length` bytes, whatever they are, into at most `room` characters. Returns how many; 0: they are not well-formed,
 * empty, or more than there is room for. Takes time by the square of the length. */
size_t uspi_punycode_decode(enum uspi_punycode_form form, const char *bytes, size_t length, uint32_t *characters,
                            size_t room);

/* Whether a number is that of a Unicode character: no surrogate, not above U+10FFFF. */
static inline bool uspi_is_character(uint64_t c) { return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }

#endif
