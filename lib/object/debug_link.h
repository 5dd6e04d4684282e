/* SPDX-License-Identifier: MIT */
/* Reads the section .gnu_debuglink: the name and checksum of the file with a program's split debugging symbols. The
 * callers look for the file. Source: gdb(1), "Debugging Information in Separate Files". */
#ifndef USPI_OBJECT_DEBUG_LINK_H
#define USPI_OBJECT_DEBUG_LINK_H

#include "lib/object/elf.h"

struct uspi_debug_link {
    char name[256]; /* without a folder */
    uint32_t crc;
};

/* Reads the link. Returns USP_OK, USP_ERROR_NOT_FOUND when the file has none, or what is wrong with it; a name with a
 * folder is USP_ERROR_FORMAT. */
int uspi_debug_link_read(const struct uspi_elf *elf, struct uspi_debug_link *link, struct uspi_error *error);

/* Computes the checksum of a whole file: CRC-32 with the reversed polynomial 0xedb88320 (ISO 3309, as in Ethernet and
 * zlib). */
int uspi_debug_link_crc(struct uspi_bytes bytes, uint32_t *crc, struct uspi_error *error);

#endif
