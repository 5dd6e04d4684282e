/* SPDX-License-Identifier: MIT */
/* Where functions start by a Mach-O file's section __unwind_info ("compact unwind"), which every linked image carries for
 * the sake of exceptions, also when it is stripped. How a function is unwound is not read here.
 * Source: libunwind include/mach-o/compact_unwind_encoding.h. */
#ifndef USPI_MACHO_UNWIND_INFO_H
#define USPI_MACHO_UNWIND_INFO_H

#include "lib/object/macho.h"

/* Where an iteration stands. */
struct uspi_unwind_starts {
    struct uspi_bytes bytes; /* the section */
    usp_addr image;          /* the header's address, as linked: what the numbers count from */
    uint32_t index_offset, pages_left;
    uint32_t base;         /* of the page's numbers */
    uint64_t entry_offset; /* the next entry of the page */
    uint32_t entries_left;
    bool is_compressed;
    uint64_t left; /* how many entries the section has room for */
};

/* USP_ERROR_NOT_FOUND when the file has no such section; USP_ERROR_UNSUPPORTED of another version. */
int uspi_unwind_starts(const struct uspi_macho *macho, struct uspi_unwind_starts *starts, struct uspi_error *error);

/* The next address, as linked, where a function or a gap between functions begins; ascending in a sound file. 1, or 0
 * behind the last, or a negative status. */
int uspi_unwind_next_start(struct uspi_unwind_starts *starts, usp_addr *address, struct uspi_error *error);

#endif
