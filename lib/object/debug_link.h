/* SPDX-License-Identifier: MIT */
/* The section .gnu_debuglink: the name of the file that a program's debugging symbols were split off to, and that file's
 * checksum. Where such files are looked for is others' business. Source: gdb(1), "Debugging Information in Separate
 * Files". */
#ifndef USPI_DEBUG_LINK_H
#define USPI_DEBUG_LINK_H

#include "lib/object/elf.h"

struct uspi_debug_link {
    char name[256]; /* without a folder */
    uint32_t crc;
};

/* USP_OK, USP_ERROR_NOT_FOUND when the file has none, or what is wrong with it; a name with a folder is none. */
int uspi_debug_link_read(const struct uspi_elf *elf, struct uspi_debug_link *link, struct uspi_error *error);

/* The checksum of a whole file: CRC-32 with the reversed polynomial 0xedb88320 (ISO 3309, as in Ethernet and zlib). */
int uspi_debug_link_crc(struct uspi_bytes bytes, uint32_t *crc, struct uspi_error *error);

#endif
