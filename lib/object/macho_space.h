/* SPDX-License-Identifier: MIT */
/* The bytes of one Mach-O image by address: out of its file, where addresses are as linked, or out of the memory of a
 * process that has loaded it, where they are as loaded. Code that follows pointers reads both the same way. What pointers
 * in a file stand for is fixups.h's. */
#ifndef USPI_MACHO_SPACE_H
#define USPI_MACHO_SPACE_H

#include "lib/object/macho.h"

/* A segment, by its addresses in this space. */
struct uspi_macho_range {
    usp_addr low, high;   /* of what the file holds of it; in memory all of it */
    uint64_t file_offset; /* of low */
    uint32_t segment;     /* its number, in the order of the load commands */
};

struct uspi_macho_space {
    struct uspi_macho macho;
    bool is_loaded;                    /* memory; any address can be asked for then, also outside of the image */
    uint64_t slide;                    /* loaded − linked, modulo 2^64; 0 in a file */
    usp_addr header;                   /* address of the image's first byte */
    struct uspi_macho_range *segments; /* in the order of the load commands; what is not in the file is empty */
    struct uspi_macho_range *sorted;   /* the same by address, without the empty ones */
    uint32_t segment_count, sorted_count;
};

/* Reads the segments. `macho` is copied; its source must live as long as the space, and says whether it is a file or
 * memory. *space is the caller's to close on USP_OK, and empty otherwise. USP_ERROR_FORMAT when segments wrap around,
 * USP_ERROR_NOT_FOUND when none holds the header, USP_ERROR_NO_MEMORY. */
int uspi_macho_space_open(struct uspi_macho_space *space, const struct uspi_macho *macho, struct uspi_error *error);
void uspi_macho_space_close(struct uspi_macho_space *space);

/* *rest becomes the bytes from `address` to the end of what lies there in one piece: the segment's end in a file, the end
 * of the address space in memory. USP_ERROR_NOT_FOUND when the file has nothing for the address. `what` as in bytes.h. */
int uspi_macho_space_at(const struct uspi_macho_space *space, usp_addr address, const char *what,
                        struct uspi_bytes *rest, struct uspi_error *error);

/* The segment that holds an address; NULL if none does. Where segments overlap, the one that begins last is asked. */
const struct uspi_macho_range *uspi_macho_space_find(const struct uspi_macho_space *space, usp_addr address);

#endif
