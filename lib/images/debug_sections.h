/* SPDX-License-Identifier: MIT */
/* The sections of an ELF or Mach-O file that hold DWARF debugging information, each in one piece of memory: mapped where the
 * file is, unpacked where they are compressed (SHF_COMPRESSED, .zdebug_*, __zdebug_*), relocated where the file is unlinked.
 * A compressed one is unpacked when it is first asked for, and not before.
 * What stands in them is lib/symbolize/dwarf/'s. Sources: DWARF 5 Appendix B and 7.3; System V gABI "Compressed Section"; LLVM
 * llvm/lib/DebugInfo/DWARF/DWARFContext.cpp for .zdebug and for Mach-O's names, of which 16 bytes are kept. */
#ifndef USPI_DEBUG_SECTIONS_H
#define USPI_DEBUG_SECTIONS_H

#include "lib/images/packed_section.h"
#include "lib/object/elf.h"
#include "lib/object/macho.h"

enum uspi_debug_section {
    USPI_DEBUG_INFO,
    USPI_DEBUG_ABBREV,
    USPI_DEBUG_STR,
    USPI_DEBUG_LINE,
    USPI_DEBUG_LINE_STR,
    USPI_DEBUG_RANGES,
    USPI_DEBUG_RNGLISTS,
    USPI_DEBUG_ADDR,
    USPI_DEBUG_ARANGES,
    USPI_DEBUG_STR_OFFSETS,
    USPI_DEBUG_CU_INDEX, /* of a package of split units (.dwp) */
    USPI_DEBUG_SECTIONS
};

struct uspi_section_bytes {
    const uint8_t *bytes; /* NULL when size is 0 */
    size_t size;
    uint64_t position; /* in the file, for messages; of unpacked ones where the packed one lies */
};

/* A range of addresses that holds code. */
struct uspi_code_extent {
    usp_addr low, high;
};

/* All zero is empty. It must stay where it is while the bytes are used. */
struct uspi_debug_sections {
    struct uspi_section_bytes
        all[USPI_DEBUG_SECTIONS]; /* what is in one may not have been unpacked: uspi_debug_section */
    struct uspi_packed_section *packed[USPI_DEBUG_SECTIONS]; /* NULL: that is not compressed */
    struct uspi_code_extent *code;                           /* ascending; where the file has code, as linked */
    size_t code_count;
    uint8_t *owned[USPI_DEBUG_SECTIONS]; /* what was copied or relocated */
    const struct uspi_source *source;    /* the file */
    uint8_t address_size;                /* of its processor */
};

enum uspi_debug_kind {
    USPI_DEBUG_WHOLE, /* .debug_info and its siblings */
    USPI_DEBUG_SPLIT  /* .debug_info.dwo and its siblings */
};

/* Finds them. Sections that are not there are empty; one that is damaged is empty as well, and the first of these is what
 * *error says, with its offset (USP_OK is returned all the same, error->status tells). In an unlinked ELF object code is laid
 * out as by uspi_elf_code_read. USP_OK, USP_ERROR_NOT_FOUND when there is no debugging information, USP_ERROR_NO_MEMORY. */
int uspi_debug_sections_open_elf(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                                 enum uspi_debug_kind kind, struct uspi_error *error);
int uspi_debug_sections_open_macho(struct uspi_debug_sections *sections, const struct uspi_macho *macho,
                                   struct uspi_error *error);

void uspi_debug_sections_close(struct uspi_debug_sections *sections);

/* One of them, of which only the first `end` bytes are going to be read; empty when it cannot be unpacked, which
 * uspi_debug_sections_damage or _shortages tells from then on. Any thread may ask. */
static inline const struct uspi_section_bytes *uspi_debug_section_to(const struct uspi_debug_sections *sections,
                                                                     enum uspi_debug_section which, uint64_t end) {
    static const struct uspi_section_bytes none = {0};
    struct uspi_packed_section *packed = sections->packed[which];
    return packed == NULL || uspi_packed_section_need(packed, end) == USP_OK ? &sections->all[which] : &none;
}

/* The same as a whole. */
static inline const struct uspi_section_bytes *uspi_debug_section(const struct uspi_debug_sections *sections,
                                                                  enum uspi_debug_section which) {
    return uspi_debug_section_to(sections, which, UINT64_MAX);
}

/* Whether a section that was asked for could not be unpacked: USP_OK, or what is wrong, as *error tells unless it already
 * tells of something. */
int uspi_debug_sections_damage(const struct uspi_debug_sections *sections, struct uspi_error *error);

/* How often a section was empty because memory lacked; it is tried again when it is asked for again. */
uint32_t uspi_debug_sections_shortages(const struct uspi_debug_sections *sections);

/* The code range that holds an address; NULL: none does. */
const struct uspi_code_extent *uspi_debug_sections_code(const struct uspi_debug_sections *sections, usp_addr address);

#endif
