/* SPDX-License-Identifier: MIT */
/* Reads a Mach-O file's section __unwind_info ("compact unwind"): where functions start, and which encoding applies at
 * an address. Every linked image has it for the sake of exceptions, even if it is stripped. lib/unwind/tables/compact.h
 * interprets the encodings. Source: libunwind include/mach-o/compact_unwind_encoding.h. */
#ifndef USPI_OBJECT_MACHO_UNWIND_INFO_H
#define USPI_OBJECT_MACHO_UNWIND_INFO_H

#include "lib/object/macho.h"

/* The section: an index of pages, each of which lists functions. */
struct uspi_unwind_info {
    struct uspi_bytes bytes;
    struct uspi_bytes index; /* the last entry gives the end of the code and has no page */
    uint32_t page_count;
    uint32_t common_offset, common_count; /* the table of encodings that all pages share; checked when it is used */
};

/* Opens the section and checks its header. USP_ERROR_UNSUPPORTED: another version. */
int uspi_unwind_info(struct uspi_bytes section, struct uspi_unwind_info *info, struct uspi_error *error);

/* A function, or a gap between functions. */
struct uspi_unwind_entry {
    uint64_t start, end; /* offsets from the image's header; the next entry starts at `end` */
    uint32_t encoding;   /* unchanged; 0: no information about this code */
};

/* Finds the entry for the code at `offset` from the image's header. USP_ERROR_NOT_FOUND where the section covers no
 * code, USP_ERROR_FORMAT or USP_ERROR_TRUNCATED where it contradicts itself. Thread-safe. With `error` NULL,
 * async-signal-safe if the source is. */
int uspi_unwind_find(const struct uspi_unwind_info *info, uint64_t offset, struct uspi_unwind_entry *entry,
                     struct uspi_error *error);

/* The state of an iteration over the starts of functions. */
struct uspi_unwind_starts {
    struct uspi_unwind_info info;
    usp_addr image; /* the header's address, as linked; offsets count from it */
    uint32_t page;  /* the next one */
    uint32_t base;  /* what offsets of the current page count from */
    struct uspi_bytes entries;
    uint32_t entry, entry_count;
    bool is_compressed;
    uint64_t left; /* how many more entries the section has room for */
};

/* Begins an iteration. USP_ERROR_NOT_FOUND when the file has no such section; USP_ERROR_UNSUPPORTED: another
 * version. */
int uspi_unwind_starts(const struct uspi_macho *macho, struct uspi_unwind_starts *starts, struct uspi_error *error);

/* Gives the next address, as linked, where a function or a gap between functions begins; ascending in a sound file.
 * Returns 1, 0 past the last one, or a negative status. */
int uspi_unwind_next_start(struct uspi_unwind_starts *starts, usp_addr *address, struct uspi_error *error);

#endif
