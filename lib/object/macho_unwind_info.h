/* SPDX-License-Identifier: MIT */
/* A Mach-O file's section __unwind_info ("compact unwind"), which every linked image carries for the sake of exceptions,
 * also when it is stripped: where functions start, and which encoding the code at an address has. What an encoding says
 * of the stack is lib/unwind/tables/compact.h's.
 * Source: libunwind include/mach-o/compact_unwind_encoding.h. */
#ifndef USPI_MACHO_UNWIND_INFO_H
#define USPI_MACHO_UNWIND_INFO_H

#include "lib/object/macho.h"

/* The section: an index of pages, each of them a list of functions. */
struct uspi_unwind_info {
    struct uspi_bytes bytes;
    struct uspi_bytes index; /* the last entry has the end of the code and no page */
    uint32_t page_count;
    uint32_t common_offset, common_count; /* encodings that the pages share; looked at when one is needed */
};

/* Checks the section's header. USP_ERROR_UNSUPPORTED of another version. */
int uspi_unwind_info(struct uspi_bytes section, struct uspi_unwind_info *info, struct uspi_error *error);

/* A function, or a gap between functions. */
struct uspi_unwind_entry {
    uint64_t start, end; /* offsets from the image's header; at `end` the next one starts */
    uint32_t encoding;   /* as it stands there; 0: nothing is said of this code */
};

/* The entry of the code `offset` bytes behind the image's header. USP_ERROR_NOT_FOUND where the section covers none,
 * USP_ERROR_FORMAT or USP_ERROR_TRUNCATED where it contradicts itself. Thread-safe; without `error` as async-signal-safe as the
 * source is. */
int uspi_unwind_find(const struct uspi_unwind_info *info, uint64_t offset, struct uspi_unwind_entry *entry,
                     struct uspi_error *error);

/* Where an iteration stands. */
struct uspi_unwind_starts {
    struct uspi_unwind_info info;
    usp_addr image; /* the header's address, as linked: what the numbers count from */
    uint32_t page;  /* the next one */
    uint32_t base;  /* of the present page's numbers */
    struct uspi_bytes entries;
    uint32_t entry, entry_count;
    bool is_compressed;
    uint64_t left; /* how many entries the section has room for */
};

/* USP_ERROR_NOT_FOUND when the file has no such section; USP_ERROR_UNSUPPORTED of another version. */
int uspi_unwind_starts(const struct uspi_macho *macho, struct uspi_unwind_starts *starts, struct uspi_error *error);

/* The next address, as linked, where a function or a gap between functions begins; ascending in a sound file. 1, or 0
 * behind the last, or a negative status. */
int uspi_unwind_next_start(struct uspi_unwind_starts *starts, usp_addr *address, struct uspi_error *error);

#endif
