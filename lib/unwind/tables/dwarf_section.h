/* SPDX-License-Identifier: MIT */
/* One section of DWARF call frame information: .eh_frame (ELF), __eh_frame (Mach-O) or .debug_frame, its entries (CIE and
 * FDE), and the encodings of the pointers in it. What the instructions in an entry mean is dwarf_row.h's, where an address
 * is looked up dwarf_find.h's.
 * Sources: DWARF 5, 6.4.1 "Structure of Call Frame Information"; Linux Standard Base Core 5.0, 10.5 "DWARF Extensions" and
 * 10.6 "Exception Frames". All functions return USP_OK or a negative enum usp_status; they allocate nothing and are
 * async-signal-safe as the section's source is. */
#ifndef USPI_DWARF_SECTION_H
#define USPI_DWARF_SECTION_H

#include "arch/backend.h"
#include "lib/object/bytes.h"

struct uspi_dwarf_section {
    struct uspi_bytes bytes; /* positions are target addresses, except .debug_frame's, from which nothing counts */
    const struct uspi_backend *backend;
    bool is_eh;           /* .eh_frame rather than .debug_frame */
    bool swaps_sp_and_fp; /* Darwin's __eh_frame for i386 has 4 for ebp and 5 for esp */
    usp_addr text_base;   /* DW_EH_PE_textrel */
    usp_addr data_base;   /* DW_EH_PE_datarel */
    usp_addr slide;       /* added to absolute addresses */
};

/* DW_EH_PE_*: the format in the low four bits, what the value counts from in the next three. */
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

/* How many bytes a value of that format takes; 0 for LEB128 and formats that do not exist. */
unsigned uspi_dwarf_width(const struct uspi_backend *backend, uint8_t encoding);

/* Reads an encoded pointer at *offset and moves *offset behind it. A stored zero is a null pointer, whatever it counts
 * from. `function` is what DW_EH_PE_funcrel counts from. */
int uspi_dwarf_pointer(const struct uspi_dwarf_section *section, uint64_t *offset, uint8_t encoding, usp_addr function,
                       usp_addr *value);

struct uspi_dwarf_cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_column;
    uint8_t version;
    uint8_t encoding;      /* of the FDE's addresses */
    uint8_t lsda_encoding; /* USPI_PE_OMIT: none */
    bool has_augmentation; /* 'z': FDEs have augmentation data and say how long they are */
    bool is_signal_frame;  /* 'S' */
    bool signs_with_b_key; /* 'B' */
    uint64_t instructions; /* offset in the section */
    uint64_t end;          /* of them */
};

struct uspi_dwarf_fde {
    struct uspi_dwarf_cie cie;
    usp_addr start, end;   /* the code it describes; `end` lies behind it */
    uint64_t instructions; /* offset in the section */
    uint64_t instructions_end;
};

/* An entry's header. */
struct uspi_dwarf_entry {
    uint64_t offset;   /* in the section */
    uint64_t contents; /* offset behind the CIE's id or pointer */
    uint64_t next;     /* offset behind the entry */
    uint64_t cie;      /* an FDE's: offset of its CIE; a CIE's: its own */
    bool is_cie;
    bool is_wide; /* the 64-bit format */
    bool is_end;  /* no entry, but the zero that ends .eh_frame; only `next` is set otherwise */
};

/* The entry at an offset. USP_ERROR_TRUNCATED when the section ends before it does, USP_ERROR_FORMAT when its length is a
 * reserved one or its CIE would lie before the section. */
int uspi_dwarf_entry(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_entry *entry);

/* The FDE of an entry, with its CIE. USP_ERROR_FORMAT when it contradicts itself (or is a CIE), USP_ERROR_UNSUPPORTED of a
 * version or an augmentation that is not known, whose data cannot be separated. */
int uspi_dwarf_fde(const struct uspi_dwarf_section *section, const struct uspi_dwarf_entry *entry,
                   struct uspi_dwarf_fde *fde);

/* The CIE at an offset. */
int uspi_dwarf_cie(const struct uspi_dwarf_section *section, uint64_t offset, struct uspi_dwarf_cie *cie);

#endif
