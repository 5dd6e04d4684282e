/* SPDX-License-Identifier: MIT */
/* Finds the FDE that describes an address: with the sorted table .eh_frame_hdr or, without one, entry by entry. Source
 * of the table's format: Linux Standard Base Core 5.0, 10.6.2 "The .eh_frame_hdr section". */
#ifndef USPI_UNWIND_TABLES_DWARF_FIND_H
#define USPI_UNWIND_TABLES_DWARF_FIND_H

#include "lib/unwind/tables/dwarf_section.h"

/* A sorted table and its header's fields. */
struct uspi_dwarf_index {
    struct uspi_dwarf_section section; /* the table itself */
    int status;                        /* of its header: USP_OK, or why it is unusable; USP_ERROR_NOT_FOUND: no table */
    usp_addr described;                /* address of the section that the table refers to */
    uint64_t entries;                  /* offset of the first entry */
    uint64_t count;                    /* 0: the entries cannot be searched */
    uint8_t encoding;
    unsigned width; /* size of an address in an entry, in bytes */
};

/* The call frame information of one image. It contains pointers to itself: do not copy it. */
struct uspi_dwarf_image {
    struct uspi_source source;
    bool has_eh, has_debug;
    struct uspi_dwarf_section eh, debug;           /* .eh_frame, .debug_frame */
    struct uspi_dwarf_index eh_index, debug_index; /* the sorted tables of both */
};

/* Fills *image. memory must live as long as the image; os is an enum usp_os. Returns USP_ERROR_NOT_FOUND when there is
 * no call frame information, another status when the sorted table does not lead to it. Async-signal-safe if the memory
 * is. */
int uspi_dwarf_image_init(struct uspi_dwarf_image *image, const struct usp_unwind_tables *tables,
                          const struct usp_memory *memory, const struct uspi_backend *backend, uint32_t os);

/* Finds the FDE that describes pc; *section becomes the image's section that contains it. Returns USP_ERROR_NOT_FOUND
 * when no FDE does, another status when the tables are malformed. Without a sorted table at most 65,536 entries are
 * searched. Async-signal-safe if the image's memory is. */
int uspi_dwarf_find(const struct uspi_dwarf_image *image, usp_addr pc, const struct uspi_dwarf_section **section,
                    struct uspi_dwarf_fde *fde);

/* Finds the lowest start of an FDE above pc with the sorted table of .eh_frame. Returns USP_ERROR_NOT_FOUND when there
 * is none or no such table, another status when it is malformed. Async-signal-safe if the image's memory is. */
int uspi_dwarf_next_start(const struct uspi_dwarf_image *image, usp_addr pc, usp_addr *start);

/* Gives the FDEs of a section one after another. *offset is 0 at first. Skips FDEs that cannot be read and those of
 * code that the linker discarded. Returns 1, 0 past the last one, or a negative status where the next entry cannot be
 * found. */
int uspi_dwarf_next_fde(const struct uspi_dwarf_section *section, uint64_t *offset, struct uspi_dwarf_entry *entry,
                        struct uspi_dwarf_fde *fde);

/* Makes a sorted table in the format of .eh_frame_hdr, with absolute addresses, for a section that has none. The
 * caller frees *bytes. Returns USP_OK or USP_ERROR_NO_MEMORY. If a section cannot be read to its end, its readable
 * part is indexed. Not async-signal-safe. */
int uspi_dwarf_make_index(const struct uspi_dwarf_section *section, uint8_t **bytes, size_t *size);

#endif
