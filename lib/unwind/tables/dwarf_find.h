/* SPDX-License-Identifier: MIT */
/* From an address to the FDE that describes it: by the sorted table .eh_frame_hdr, or entry by entry where there is none.
 * Source of the table's format: Linux Standard Base Core 5.0, 10.6.2 "The .eh_frame_hdr section". */
#ifndef USPI_DWARF_FIND_H
#define USPI_DWARF_FIND_H

#include "lib/unwind/tables/dwarf_section.h"

/* A sorted table, and what its header says. */
struct uspi_dwarf_index {
    struct uspi_dwarf_section section; /* the table itself */
    int status;         /* of its header: USP_OK, or why it says nothing; USP_ERROR_NOT_FOUND: no table */
    usp_addr described; /* where the entries are that it leads to */
    uint64_t entries;   /* offset of the first */
    uint64_t count;     /* 0: they cannot be searched */
    uint8_t encoding;
    unsigned width; /* of an address in an entry */
};

/* The call frame information of one image. Refers to itself: it is used where it was filled in. */
struct uspi_dwarf_image {
    struct uspi_source source;
    bool has_eh, has_debug;
    struct uspi_dwarf_section eh, debug;           /* .eh_frame, .debug_frame */
    struct uspi_dwarf_index eh_index, debug_index; /* the sorted tables of both */
};

/* memory must live as long as the image; os is an enum usp_os. USP_ERROR_NOT_FOUND when there is no call frame information,
 * other statuses when the sorted table does not lead to it. Async-signal-safe as the memory is. */
int uspi_dwarf_image_init(struct uspi_dwarf_image *image, const struct usp_unwind_tables *tables,
                          const struct usp_memory *memory, const struct uspi_backend *backend, uint32_t os);

/* The FDE that describes pc; *section becomes the one it is in, of the image. USP_ERROR_NOT_FOUND when none does, other
 * statuses when the tables are malformed. Without a sorted table 65,536 entries are looked at. Async-signal-safe as the
 * image's memory is. */
int uspi_dwarf_find(const struct uspi_dwarf_image *image, usp_addr pc, const struct uspi_dwarf_section **section,
                    struct uspi_dwarf_fde *fde);

/* Where the first FDE begins that begins above pc, by the sorted table of .eh_frame. USP_ERROR_NOT_FOUND when there is none,
 * or no such table; other statuses when it is malformed. Async-signal-safe as the image's memory is. */
int uspi_dwarf_next_start(const struct uspi_dwarf_image *image, usp_addr pc, usp_addr *start);

/* The FDEs of a section one after the other, from *offset (0 to begin with) on. Those that cannot be read and those of code
 * that the linker left out are passed over. 1, or 0 behind the last, or a negative status where the next entry cannot be
 * found. */
int uspi_dwarf_next_fde(const struct uspi_dwarf_section *section, uint64_t *offset, struct uspi_dwarf_entry *entry,
                        struct uspi_dwarf_fde *fde);

/* Makes a sorted table for a section that has none, in the format of .eh_frame_hdr, with absolute addresses. *bytes is the
 * caller's to free. USP_OK or USP_ERROR_NO_MEMORY; a section that cannot be read to its end is indexed as far as it can.
 * Not async-signal-safe. */
int uspi_dwarf_make_index(const struct uspi_dwarf_section *section, uint8_t **bytes, size_t *size);

#endif
