/* SPDX-License-Identifier: MIT */
/* What kind of file some bytes are, by their first four. */
#ifndef USPI_IDENTIFY_H
#define USPI_IDENTIFY_H

#include "lib/object/bytes.h"

enum uspi_format {
    USPI_FORMAT_UNKNOWN = 0,
    USPI_FORMAT_ELF,
    USPI_FORMAT_MACHO,  /* thin, 32 or 64 bits */
    USPI_FORMAT_FAT,    /* several Mach-O files behind a table; 32- or 64-bit offsets */
    USPI_FORMAT_ARCHIVE /* thin archives as well */
};

/* Returns what the first bytes claim; the format's own reader checks it. Big-endian ELF and Mach-O count as theirs, so that
 * the reader can refuse them by name. */
enum uspi_format uspi_identify(struct uspi_bytes bytes);

#endif
