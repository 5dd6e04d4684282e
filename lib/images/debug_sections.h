/* SPDX-License-Identifier: MIT */
/* The sections of an ELF or Mach-O file that hold DWARF debugging information, each in one piece of memory. They are
 * read into the file's memory when they are first used, decompressed if they are compressed (SHF_COMPRESSED, .zdebug_*,
 * __zdebug_*), and relocated if the file is unlinked. A compressed section is decompressed when it is first read.
 * lib/symbolize/dwarf/ reads their contents.
 *
 * Sources: DWARF 5 Appendix B and 7.3; System V gABI "Compressed Section"; LLVM
 * llvm/lib/DebugInfo/DWARF/DWARFContext.cpp for .zdebug and for Mach-O's names, which are cut to 16 bytes. */
#ifndef USPI_IMAGES_DEBUG_SECTIONS_H
#define USPI_IMAGES_DEBUG_SECTIONS_H

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
    USPI_DEBUG_CU_INDEX, /* only in a package of split units (.dwp) */
    USPI_DEBUG_SECTIONS
};

struct uspi_section_bytes {
    const uint8_t *bytes; /* NULL when size is 0 */
    size_t size;
    /* Offset in the file, for messages; of a compressed section the offset of the compressed bytes. */
    uint64_t position;
    bool is_filled_later; /* the bytes are read from the file when they are asked for */
};

/* A range of addresses that holds code. */
struct uspi_code_extent {
    usp_addr low, high;
};

/* All zero is empty. The struct must not move while the bytes are in use. */
struct uspi_debug_sections {
    /* Read these with uspi_debug_section, which decompresses them. */
    struct uspi_section_bytes all[USPI_DEBUG_SECTIONS];
    struct uspi_packed_section *packed[USPI_DEBUG_SECTIONS]; /* NULL: the section is not compressed */
    struct uspi_code_extent *code; /* where the file has code, as linked, by ascending address */
    size_t code_count;
    uint8_t *owned[USPI_DEBUG_SECTIONS]; /* copies that this struct owns, for instance of relocated sections */
    const struct uspi_source *source;    /* the file */
    uint8_t address_size;                /* in bytes, of the file's processor */
};

enum uspi_debug_kind {
    USPI_DEBUG_WHOLE, /* .debug_info and its siblings */
    USPI_DEBUG_SPLIT  /* .debug_info.dwo and its siblings */
};

/* Finds the debug sections of a file. Missing sections are empty, and so are damaged ones. With a damaged section the
 * function still returns USP_OK, but error->status is not USP_OK, and *error describes the first damage with its
 * offset. The code of an unlinked ELF object is laid out by uspi_elf_code_read. Returns USP_OK, USP_ERROR_NOT_FOUND
 * when there is no debugging information, or USP_ERROR_NO_MEMORY. */
int uspi_debug_sections_open_elf(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                                 enum uspi_debug_kind kind, struct uspi_error *error);
int uspi_debug_sections_open_macho(struct uspi_debug_sections *sections, const struct uspi_macho *macho,
                                   struct uspi_error *error);

void uspi_debug_sections_close(struct uspi_debug_sections *sections);

/* Returns a section of which the caller reads only the bytes from `from` up to `end`. It is empty if they cannot be
 * read or decompressed; then uspi_debug_sections_damage or uspi_debug_sections_shortages reports the failure.
 * Thread-safe. */
static inline const struct uspi_section_bytes *uspi_debug_section_part(const struct uspi_debug_sections *sections,
                                                                       enum uspi_debug_section which, uint64_t from,
                                                                       uint64_t end) {
    static const struct uspi_section_bytes none = {0};
    struct uspi_packed_section *packed = sections->packed[which];
    const struct uspi_section_bytes *section = &sections->all[which];
    if (packed != NULL) return uspi_packed_section_need(packed, end) == USP_OK ? section : &none;
    if (!section->is_filled_later) return section;
    if (end > section->size) end = section->size;
    return from >= end || uspi_source_need(sections->source, section->position + from, end - from) ? section : &none;
}

/* Returns a section of which the caller may read all bytes. */
static inline const struct uspi_section_bytes *uspi_debug_section(const struct uspi_debug_sections *sections,
                                                                  enum uspi_debug_section which) {
    return uspi_debug_section_part(sections, which, 0, UINT64_MAX);
}

/* Says that the caller will read a section bit by bit: decompressing it at once is faster. Thread-safe. */
static inline void uspi_debug_section_expect_all(const struct uspi_debug_sections *sections,
                                                 enum uspi_debug_section which) {
    if (sections->packed[which] != NULL) uspi_packed_section_expect_all(sections->packed[which]);
}

/* A piece of a section. */
struct uspi_section_piece {
    const uint8_t *bytes;
    uint64_t from; /* offset of the first byte in the section */
    size_t size;
};

/* Memory for pieces of a section that are read one at a time and do not stay. Begin with {0}. */
struct uspi_piece_capacity {
    uint8_t *bytes;
    size_t capacity;
};

void uspi_piece_capacity_free(struct uspi_piece_capacity *capacity);

/* Gives the bytes of a section from `from` up to `end` or its end. They are read into *room, or used where they are.
 * Valid until the next call for that room. On failure *piece is empty. Returns USP_OK, USP_ERROR_NO_MEMORY, or the
 * status with which reading failed. */
int uspi_section_piece(const struct uspi_debug_sections *sections, enum uspi_debug_section which, uint64_t from,
                       uint64_t end, struct uspi_piece_capacity *capacity, struct uspi_section_piece *piece);

/* The size of pieces that are far apart: less than reading a whole block of the file takes. */
#define USPI_SMALL_PIECE 512u

/* Gives such bytes where they are, for as long as the section. They are empty when they cannot be read. */
static inline struct uspi_section_piece uspi_section_lasting(const struct uspi_debug_sections *sections,
                                                             enum uspi_debug_section which, uint64_t from,
                                                             uint64_t end) {
    const struct uspi_section_bytes *section = uspi_debug_section_part(sections, which, from, end);
    if (end > section->size) end = section->size;
    if (from >= end) return (struct uspi_section_piece){NULL, from, 0};
    return (struct uspi_section_piece){section->bytes + (size_t)from, from, (size_t)(end - from)};
}

/* Reports whether reading or decompressing a section has failed. Returns USP_OK, or the first failure, which is also
 * described in *error unless *error already has another one. */
int uspi_debug_sections_damage(const struct uspi_debug_sections *sections, struct uspi_error *error);

/* Returns how often a section was empty for lack of memory. The next call for such a section tries again. */
uint32_t uspi_debug_sections_shortages(const struct uspi_debug_sections *sections);

/* Returns the code range that contains an address; NULL: there is none. */
const struct uspi_code_extent *uspi_debug_sections_code(const struct uspi_debug_sections *sections, usp_addr address);

#endif
