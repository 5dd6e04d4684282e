/* SPDX-License-Identifier: MIT */
/* Reads little-endian ELF, 32 and 64 bits: files, core files, and images in a target's memory. Reads one entry at a
 * time without allocating. Other files interpret core files and symbol tables.
 *
 * Sources: System V gABI chapters 4 and 5; Linux include/uapi/linux/elf.h. Unless stated otherwise, functions return
 * USP_OK or a negative enum usp_status with *error written. Several threads may call them for the same object. */
#ifndef USPI_OBJECT_ELF_H
#define USPI_OBJECT_ELF_H

#include "lib/object/bytes.h"

/* The number of program headers in the header of a file that has more: then section header 0 has it (gABI: e_phnum). */
#define USPI_PN_XNUM 0xffff

enum uspi_elf_type { USPI_ET_REL = 1, USPI_ET_EXEC = 2, USPI_ET_DYN = 3, USPI_ET_CORE = 4 };
enum uspi_elf_segment_type {
    USPI_PT_LOAD = 1,
    USPI_PT_DYNAMIC = 2,
    USPI_PT_NOTE = 4,
    USPI_PT_PHDR = 6,
    USPI_PT_GNU_EH_FRAME = 0x6474e550, /* .eh_frame_hdr (Linux Standard Base Core 5.0, 12.2) */
    USPI_PT_ARM_EXIDX = 0x70000001     /* .ARM.exidx (ELF for the Arm Architecture, "Program header") */
};
enum uspi_elf_segment_flags { USPI_PF_X = 1, USPI_PF_W = 2, USPI_PF_R = 4 };
enum uspi_elf_section_type { USPI_SHT_NOTE = 7, USPI_SHT_NOBITS = 8 };
enum uspi_elf_tag { USPI_DT_NULL = 0, USPI_DT_DEBUG = 21 };

struct uspi_elf {
    struct uspi_bytes bytes; /* the file, or target memory from the header on */
    bool wide;               /* ELFCLASS64 */
    bool in_memory;          /* contents are found at their loaded addresses, not at file offsets */
    uint16_t type;           /* enum uspi_elf_type */
    uint16_t machine;        /* e_machine */
    uint32_t arch;           /* enum usp_arch; USP_ARCH_NONE: a processor that unspool does not know */
    uint64_t entry;          /* entry point, as linked */
    uint64_t segment_offset; /* of the program headers */
    uint64_t section_offset; /* of the section headers; 0: none */
    uint64_t segment_count;  /* with USPI_PN_XNUM resolved */
    uint64_t section_count;  /* with SHN_XINDEX resolved; 0 in memory, where section headers are not loaded */
    uint64_t name_section;   /* index of the section with the section names; 0: none */
    uint16_t segment_size;   /* size of a program header in bytes */
    uint16_t section_size;
    /* The address that an image's first byte was linked for; 0 for core files and unlinked objects. */
    usp_addr header_address;
};

/* Opens a file. Checks the header, and that the program headers lie in the file; section headers are read when needed.
 * Other statuses: USP_ERROR_FORMAT, USP_ERROR_UNSUPPORTED (big-endian). */
int uspi_elf_open(struct uspi_elf *elf, struct uspi_bytes bytes, struct uspi_error *error);

/* Opens a loaded image whose first byte is at bytes.from. */
int uspi_elf_open_image(struct uspi_elf *elf, struct uspi_bytes bytes, struct uspi_error *error);

struct uspi_elf_segment {
    uint32_t type;  /* enum uspi_elf_segment_type */
    uint32_t flags; /* enum uspi_elf_segment_flags */
    uint64_t offset;
    usp_addr address; /* as linked; in core files the actual address */
    uint64_t file_size, memory_size, align;
};

/* Reads program header i; USP_ERROR_NOT_FOUND past the last one. */
int uspi_elf_segment(const struct uspi_elf *elf, uint64_t i, struct uspi_elf_segment *segment,
                     struct uspi_error *error);

/* Finds the first program header of a type; USP_ERROR_NOT_FOUND if there is none. */
int uspi_elf_find_segment(const struct uspi_elf *elf, uint32_t type, struct uspi_elf_segment *segment,
                          struct uspi_error *error);

/* Gives a segment's bytes: in the file, or where they are loaded. */
int uspi_elf_segment_bytes(const struct uspi_elf *elf, const struct uspi_elf_segment *segment, struct uspi_bytes *bytes,
                           struct uspi_error *error);

/* The address ranges of the PT_LOAD segments, as linked: of all, and of the executable ones (both bounds 0 if there are
 * none). Upper bounds are exclusive. USP_ERROR_NOT_FOUND without a PT_LOAD, USP_ERROR_FORMAT when one wraps around. */
struct uspi_elf_extent {
    usp_addr low, high;
    usp_addr text_low, text_high;
    bool has_text;        /* whether the file contains the byte at text_low */
    uint64_t text_offset; /* its offset in the file */
    /* The largest range of whole pages between two segments: its offset from the header, and its size; both 0: none. */
    uint32_t hole_offset, hole_size;
};
int uspi_elf_extent(const struct uspi_elf *elf, struct uspi_elf_extent *extent, struct uspi_error *error);

struct uspi_elf_section {
    uint32_t name; /* offset in the section names */
    uint32_t type; /* enum uspi_elf_section_type */
    uint64_t flags;
    usp_addr address;
    uint64_t offset, size;
    uint32_t link, info;
    uint64_t align, entry_size;
};

/* Reads section header i; USP_ERROR_NOT_FOUND past the last one. */
int uspi_elf_section(const struct uspi_elf *elf, uint64_t i, struct uspi_elf_section *section,
                     struct uspi_error *error);

/* Gives the string table with the section names; USP_ERROR_NOT_FOUND if there is none. */
int uspi_elf_section_names(const struct uspi_elf *elf, struct uspi_bytes *strings, struct uspi_error *error);

/* Finds the first section with that name; USP_ERROR_NOT_FOUND if there is none. */
int uspi_elf_find_section(const struct uspi_elf *elf, const char *name, struct uspi_elf_section *section,
                          struct uspi_error *error);

/* ---- notes ---- */

struct uspi_elf_notes {
    struct uspi_bytes bytes;
    uint64_t next;  /* offset of the next note */
    unsigned align; /* alignment of names and descriptors: 4 or 8 */
};

struct uspi_elf_note {
    char owner[16]; /* NUL-terminated; cut if longer, which affects no owner that unspool looks for */
    uint32_t type;
    struct uspi_bytes desc;
};

/* Returns an iteration over the notes of a segment or section. `align` is the segment's or section's alignment: 8 means
 * 8, anything else 4, since the kernel writes 0, 1 and 4 for the same layout. */
struct uspi_elf_notes uspi_elf_notes(struct uspi_bytes bytes, uint64_t align);

/* Reads the next note. Returns 1, 0 past the last one, or a negative status. */
int uspi_elf_next_note(struct uspi_elf_notes *notes, struct uspi_elf_note *note, struct uspi_error *error);

/* The build id (NT_GNU_BUILD_ID), cut to USP_BUILD_ID_MAX bytes, from the notes of the program headers or, in files, of
 * the sections. USP_ERROR_NOT_FOUND if there is none. */
struct uspi_build_id {
    uint32_t size; /* in bytes; 0: none */
    uint8_t bytes[32];
};
int uspi_elf_build_id(const struct uspi_elf *elf, struct uspi_build_id *id, struct uspi_error *error);

/* Gives the position of the build id instead of a copy. */
int uspi_elf_build_id_bytes(const struct uspi_elf *elf, struct uspi_bytes *id, struct uspi_error *error);

/* Looks for the build id of a file in memory, at the address where the file's segments map its note. No program header
 * need describe the note (Go since 1.24). `image` is the image's memory, from its first byte on. Returns USP_OK and
 * *id when the memory has the same note, USP_ERROR_MISMATCH when it has something else there, USP_ERROR_NOT_FOUND when
 * the file has no build id or does not map it, or the memory's own status. */
int uspi_elf_mapped_build_id(const struct uspi_elf *file, struct uspi_bytes image, struct uspi_build_id *id);

/* ---- the dynamic section ---- */

/* Gives the value, unchanged, of the first entry with that tag in a dynamic section. `section` has the bytes of
 * PT_DYNAMIC, from the file or from the loaded image. USP_ERROR_NOT_FOUND if there is none. */
int uspi_elf_dynamic(struct uspi_bytes section, bool wide, uint64_t tag, uint64_t *value, struct uspi_error *error);

/* Writes a name for a processor that unspool does not know, for messages: "machine 243 with 64-bit addresses". */
void uspi_elf_machine_name(const struct uspi_elf *elf, char *to, size_t capacity);

#endif
