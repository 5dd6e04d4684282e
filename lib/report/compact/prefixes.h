/* SPDX-License-Identifier: MIT */
/* Prefixes of paths in compact image maps. Each has a number. The fixed prefixes are not written in the map; paths
 * define further ones, which are numbered from USPI_PREFIX_FIRST on. Each slash or backslash in the literal part of a
 * path, except at its first character, defines a prefix: the text of that part before it. */
#ifndef USPI_REPORT_COMPACT_PREFIXES_H
#define USPI_REPORT_COMPACT_PREFIXES_H

#include "lib/base/span.h"

/* The number of the first prefix that a path defines. Lower numbers without a fixed prefix are reserved. */
#define USPI_PREFIX_FIRST 32

#define USPI_PREFIX_FIXED 12
extern const struct uspi_span uspi_fixed_prefixes[USPI_PREFIX_FIXED];

static inline bool uspi_is_separator(char c) { return c == '/' || c == '\\'; }

/* How a path is written: the two top bits of a byte say what follows, the six bits below are the count or the
 * number. */
enum uspi_path_byte {
    USPI_PATH_END = 0,          /* a count of 0 ends the path */
    USPI_PATH_TEXT = 0,         /* `count` characters follow */
    USPI_PATH_FRAMEWORK = 0x40, /* a version character and a name of `count` + 1 characters follow; the path ends */
    USPI_PATH_PREFIX = 0x80,    /* the number of a prefix */
    USPI_PATH_FAR_PREFIX = 0xc0 /* the number of a prefix, less 64, follows in `count` + 1 bytes */
};
#define USPI_PATH_COUNT_MAX 0x3f
#define USPI_PATH_FAR       64

#endif
