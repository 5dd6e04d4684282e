/* SPDX-License-Identifier: MIT */
/* Converts between UTF-16 and UTF-8, for texts that tools on Windows and some editors write. */
#ifndef USPI_BASE_UTF16_H
#define USPI_BASE_UTF16_H

#include "lib/base/span.h"

/* Converts `units` UTF-16 code units to UTF-8. `to` must have room for 3 bytes for each unit. Returns the length in
 * bytes, or SIZE_MAX when there is a surrogate without its other half. */
size_t uspi_utf16_decode(const char *from, size_t units, bool is_big_endian, char *to);

/* Converts UTF-8 to UTF-16. `to` must have room for 2 bytes for each byte. Returns the length in bytes; invalid UTF-8
 * becomes U+FFFD. */
size_t uspi_utf16_encode(struct uspi_span from, bool is_big_endian, char *to);

#endif
