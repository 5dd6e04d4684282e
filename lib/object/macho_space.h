/* SPDX-License-Identifier: MIT */
/* Reads the bytes of a Mach-O image by address: from its file, by linked addresses, or from the memory of a process
 * that has loaded it, by loaded addresses. Code that follows pointers reads both in the same way. fixups.h decodes the
 * pointers in a file. */
#ifndef USPI_OBJECT_MACHO_SPACE_H
#define USPI_OBJECT_MACHO_SPACE_H

#include "lib/object/macho.h"

/* A segment, by its addresses in this space. */
struct uspi_macho_range {
    usp_addr low, high;   /* in a file, the part that the file contains; in memory, the whole segment */
    uint64_t file_offset; /* file offset of low */
    uint32_t segment;     /* its number, in the order of the load commands */
};

struct uspi_macho_space {
    struct uspi_macho macho;
    bool is_loaded;  /* reads memory; addresses outside the image are readable too */
    uint64_t slide;  /* loaded − linked, modulo 2^64; 0 in a file */
    usp_addr header; /* address of the image's first byte */
    /* In the order of the load commands; a segment without bytes in the file is empty. */
    struct uspi_macho_range *segments;
    struct uspi_macho_range *sorted; /* the same segments by address, without the empty ones */
    uint32_t segment_count, sorted_count;
};

/* Opens a space and reads the segments. `macho` is copied. Its source must live as long as the space, and tells whether
 * it is a file or memory. On USP_OK the caller closes *space; otherwise it is empty. Other statuses: USP_ERROR_FORMAT
 * when segments wrap around, USP_ERROR_NOT_FOUND when no segment contains the header, USP_ERROR_NO_MEMORY. */
int uspi_macho_space_open(struct uspi_macho_space *space, const struct uspi_macho *macho, struct uspi_error *error);
void uspi_macho_space_close(struct uspi_macho_space *space);

/* Makes *rest the bytes from `address` to the end of the segment in a file, or to the end of the address space in
 * memory. USP_ERROR_NOT_FOUND when the file has no bytes for the address. `what` as in bytes.h. */
int uspi_macho_space_at(const struct uspi_macho_space *space, usp_addr address, const char *what,
                        struct uspi_bytes *rest, struct uspi_error *error);

/* Returns the segment that contains an address, or NULL. If segments overlap, only the one that begins last is
 * considered. */
const struct uspi_macho_range *uspi_macho_space_find(const struct uspi_macho_space *space, usp_addr address);

#endif
