/* SPDX-License-Identifier: MIT */
/* One section of DWARF call frame information: .eh_frame (ELF), __eh_frame (Mach-O) or .debug_frame, with its entries
 * (CIE and FDE) and the encodings of pointers. dwarf_row.h executes an entry's instructions, dwarf_find.h looks up
 * addresses. Sources: DWARF 5, 6.4.1 "Structure of Call Frame Information"; Linux Standard Base Core 5.0, 10.5 "DWARF
 * Extensions" and 10.6 "Exception Frames".
 *
 * All functions return USP_OK or a negative enum usp_status. They allocate nothing and are async-signal-safe if the
 * section's source is. */
#ifndef USPI_UNWIND_TABLES_DWARF_SECTION_H
#define USPI_UNWIND_TABLES_DWARF_SECTION_H

#include "arch/backend.h"
#include "lib/object/bytes.h"

struct uspi_dwarf_section {
    /* Positions are target addresses, except in .debug_frame, where nothing is relative to them. */
    struct uspi_bytes bytes;
    const struct uspi_backend *backend;
    bool is_eh;           /* .eh_frame rather than .debug_frame */
    bool swaps_sp_and_fp; /* Darwin's __eh_frame for i386 numbers ebp 4 and esp 5 */
    usp_addr text_base;   /* base of DW_EH_PE_textrel */
    usp_addr data_base;   /* base of DW_EH_PE_datarel */
    usp_addr slide;       /* added to absolute addresses */
};

/* DW_EH_PE_*: the format in the low four bits, the base in the next three. */
enum uspi_dwarf_encoding {
    USPI_PE_ABSPTR = 0x00, /* a word of the target */
    USPI_PE_ULEB128 = 0x01,
    USPI_PE_UDATA2 = 0x02,
    USPI_PE_UDATA4 = 0x03,
    USPI_PE_UDATA8 = 0x04,
    USPI_PE_SIGNED = 0x08,
    USPI_PE_SLEB128 = 0x09,
    USPI_PE_SDATA2 = 0x0a,
    USPI_PE_SDATA4 = 0x0b,
    USPI_PE_SDATA8 = 0x0c,
    USPI_PE_FORMAT = 0x0f,
    USPI_PE_PCREL = 0x10,
    USPI_PE_TEXTREL = 0x20,
    USPI_PE_DATAREL = 0x30,
    USPI_PE_FUNCREL = 0x40,
    USPI_PE_ALIGNED = 0x50,
    USPI_PE_BASE = 0x70,
    USPI_PE_INDIRECT = 0x80,
    USPI_PE_OMIT = 0xff
};

/* Returns the size of a value in bytes; 0 for LEB128 and formats that do not exist. */
unsigned uspi_dwarf_width(const struct uspi_backend *backend, uint8_t encoding);

/* Reads an encoded pointer at *offset and moves *offset past it. A stored zero is a null pointer, whatever its base.
 * `function` is the base of DW_EH_PE_funcrel. */
int uspi_dwarf_pointer(const struct uspi_dwarf_section *section, uint64_t *offset, uint8_t encoding, usp_addr function,
                       usp_addr *value);

struct uspi_dwarf_cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    uint8_t version;
    uint8_t encoding;      /* encoding of the FDE's addresses */
    uint8_t lsda_encoding; /* USPI_PE_OMIT: none */
    bool has_augmentation; /* 'z': FDEs have augmentation data with its length */
    bool is_signal_frame;  /* 'S' */
    bool signs_with_b_key; /* 'B' */
    uint64_t instructions; /* offset in the section */
    uint64_t end;          /* offset of the end of the instructions */
};

struct uspi_dwarf_fde {
    struct uspi_dwarf_cie cie;
    usp_addr start, end;   /* the described code; `end` is the first address past it */
    uint64_t instructions; /* offset in the section */
    uint64_t instructions_end;
};

/* An entry's header. */
struct uspi_dwarf_entry {
    uint64_t offset;   /* in the section */
    uint64_t contents; /* offset past the CIE's id or the FDE's CIE pointer */
    uint64_t next;     /* offset past the entry */
    uint64_t cie;      /* in an FDE: offset of its CIE; in a CIE: its own */
    bool is_cie;
    bool is_wide; /* the 64-bit format */
    bool is_end;  /* not an entry but the zero that ends .eh_frame; only `next` is set then */
};

/* Reads the entry at an offset. Returns USP_ERROR_TRUNCATED when the section ends before the entry, USP_ERROR_FORMAT
 * when its length has a reserved value or its CIE would be before the section. */
int uspi_dwarf_entry(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_entry *entry);

/* Reads an FDE and its CIE. Returns USP_ERROR_FORMAT when it contradicts itself or is a CIE, USP_ERROR_UNSUPPORTED for
 * an unknown version or an augmentation whose data cannot be skipped. */
int uspi_dwarf_fde(const struct uspi_dwarf_section *section, const struct uspi_dwarf_entry *entry,
                   struct uspi_dwarf_fde *fde);

/* Reads the CIE at an offset. */
int uspi_dwarf_cie(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_cie *cie);

#endif
