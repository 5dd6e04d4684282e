/* SPDX-License-Identifier: MIT */
/* UTF-16 to UTF-8 and back, for texts that tools on Windows and some editors save. */
#ifndef USPI_UTF16_H
#define USPI_UTF16_H

#include "lib/base/span.h"

/* Converts `units` UTF-16 code units to UTF-8. `to` has room for 3 bytes for each. Returns the length in bytes, or SIZE_MAX
 * when there is a surrogate without its other half. */
size_t uspi_utf16_decode(const char *from, size_t units, bool is_big_endian, char *to);

/* Converts UTF-8 to UTF-16. `to` has room for 2 bytes for each byte. Returns the length in bytes; bytes that are no UTF-8
 * become U+FFFD. */
size_t uspi_utf16_encode(struct uspi_span from, bool is_big_endian, char *to);

#endif
