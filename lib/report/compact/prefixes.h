/* SPDX-License-Identifier: MIT */
/* Beginnings of paths that have a number in compact image maps without being told: the fixed ones. Those that a path defines get
 * the numbers from USPI_PREFIX_FIRST on: of each part that is written as it is, all that stands in front of a slash or
 * backslash, the first character excepted. */
#ifndef USPI_COMPACT_PREFIXES_H
#define USPI_COMPACT_PREFIXES_H

#include "lib/base/span.h"

/* Numbers below it that are not fixed ones are reserved. */
#define USPI_PREFIX_FIRST 32

#define USPI_PREFIX_FIXED 12
extern const struct uspi_span uspi_fixed_prefixes[USPI_PREFIX_FIXED];

static inline bool uspi_is_separator(char c) { return c == '/' || c == '\\'; }

/* How a path is written: by the two top bits of a byte, and the six below. */
enum uspi_path_byte {
    USPI_PATH_END = 0,
    USPI_PATH_TEXT = 0,         /* so many characters follow */
    USPI_PATH_FRAMEWORK = 0x40, /* the character of a version, and one character more of name: an end as well */
    USPI_PATH_PREFIX = 0x80,    /* the number of a prefix, */
    USPI_PATH_FAR_PREFIX = 0xc0 /* or bytes less one of a number that counts from 64 */
};
#define USPI_PATH_COUNT_MAX 0x3f
#define USPI_PATH_FAR       64

#endif
