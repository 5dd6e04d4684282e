/* SPDX-License-Identifier: MIT */
/* Identifies the format of a file by its first four bytes. */
#ifndef USPI_OBJECT_IDENTIFY_H
#define USPI_OBJECT_IDENTIFY_H

#include "lib/object/bytes.h"

enum uspi_format {
    USPI_FORMAT_UNKNOWN = 0,
    USPI_FORMAT_ELF,
    USPI_FORMAT_MACHO,  /* thin, 32 or 64 bits */
    USPI_FORMAT_FAT,    /* a table of several Mach-O files, with 32- or 64-bit offsets */
    USPI_FORMAT_ARCHIVE /* also thin archives */
};

/* Returns the format that the first bytes claim; the format's reader checks the rest. Big-endian ELF and Mach-O are
 * identified too, so that their readers can refuse them with a clear message. */
enum uspi_format uspi_identify(struct uspi_bytes bytes);

#endif
