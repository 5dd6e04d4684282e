/* SPDX-License-Identifier: MIT */
/* Unicode written with ASCII letters (RFC 3492), as Rust's identifiers have it: "_" is the delimiter, and upper-case digits
 * do not occur. */
#ifndef USPI_PUNYCODE_H
#define USPI_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes `length` bytes, whatever they are, into at most `room` characters. Returns how many; 0: they are not well-formed,
 * empty, or more than there is room for. */
size_t uspi_punycode_decode(const char *bytes, size_t length, uint32_t *characters, size_t room);

/* Whether a number is that of a Unicode character: no surrogate, not above U+10FFFF. */
static inline bool uspi_is_character(uint64_t c) { return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }

#endif
