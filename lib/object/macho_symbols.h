/* SPDX-License-Identifier: MIT */
/* What a Mach-O file says of its symbols and functions, entry by entry, as it stands there: the symbol table, the indirect
 * symbol table, the starts of functions. Exports are macho_exports.h's, unwind information is macho_unwind_info.h's; which
 * symbols name code, and which of several is the right name, is decided elsewhere.
 * Sources: xnu EXTERNAL_HEADERS/mach-o/nlist.h, stab.h, loader.h. */
#ifndef USPI_MACHO_SYMBOLS_H
#define USPI_MACHO_SYMBOLS_H

#include "lib/object/macho.h"

/* ---- the symbol table ---- */

enum uspi_nlist_type {
    USPI_N_STAB = 0xe0, /* a mask: any of these bits, and the whole type is an enum uspi_nlist_stab */
    USPI_N_PEXT = 0x10, /* was hidden by the linker */
    USPI_N_TYPE = 0x0e, /* a mask */
    USPI_N_EXT = 0x01,  /* visible outside of the file */
    USPI_N_SECT = 0x0e  /* of N_TYPE: defined in a section */
};

enum uspi_nlist_stab {
    USPI_N_FUN = 0x24, /* a function's name and address; the next one, without a name, has its size as value */
    USPI_N_SOL = 0x84, /* between these two: a header that some of the function's lines come from */
    USPI_N_SO = 0x64,  /* a source file's folder ending in '/', its name, or with an empty name its end */
    USPI_N_OSO =
        0x66 /* behind that: the object file that its functions come from; the value says when it was written */
};

enum uspi_nlist_description {
    USPI_N_ARM_THUMB_DEF = 0x0008,
    USPI_N_WEAK_DEF = 0x0080,
    USPI_N_ALT_ENTRY = 0x0200 /* a further entry of the function around it */
};

struct uspi_macho_symbols {
    struct uspi_bytes entries, strings;
    uint64_t count;
    bool wide;
};

/* The bits of a symbol's value that are the address: the lowest one is the Thumb state. arch: enum usp_arch. */
static inline usp_addr uspi_macho_address_mask(uint32_t arch) {
    return arch == USP_ARCH_ARMV7 ? ~(usp_addr)1 : ~(usp_addr)0;
}

/* LC_SYMTAB. USP_ERROR_NOT_FOUND when there is none or it is empty. */
int uspi_macho_symbols(const struct uspi_macho *macho, struct uspi_macho_symbols *symbols, struct uspi_error *error);

struct uspi_macho_symbol {
    uint32_t name;        /* offset in the table's strings */
    uint8_t type;         /* enum uspi_nlist_type or enum uspi_nlist_stab */
    uint8_t section;      /* from 1, through all segments; 0 none */
    uint16_t description; /* enum uspi_nlist_description */
    uint64_t value;
};

/* Symbol i; USP_ERROR_NOT_FOUND behind the last. */
int uspi_macho_symbol(const struct uspi_macho_symbols *symbols, uint64_t i, struct uspi_macho_symbol *symbol,
                      struct uspi_error *error);

/* How much of a name is looked at where it cannot be read in place, and how much of two names is compared: a damaged table
 * may say that all of its symbols have one name that fills the file. */
#define USPI_MACHO_NAME_BEGINNING 512
#define USPI_MACHO_NAME_COMPARED  4096

/* The name at an offset of the table's strings, for comparing and recognising it: in place where that is possible, otherwise
 * its beginning in `room`; "" when it cannot be read. */
const char *uspi_macho_name_beginning(const struct uspi_macho_symbols *symbols, uint32_t name,
                                      char room[USPI_MACHO_NAME_BEGINNING]);

/* Compares as much of two names as is compared; below, equal to or above 0 as strcmp. Not strncmp: gcc 12 takes its bound
 * for the size of what it reads, and a room that is smaller for something else, whose life may end before the call. */
int uspi_macho_compare_names(const char *a, const char *b);

/* ---- the indirect symbol table ---- */

/* Of its entries, which are numbers of symbols: instead of a number, what was a local or an absolute symbol. */
#define USPI_INDIRECT_SYMBOL_LOCAL 0x80000000u
#define USPI_INDIRECT_SYMBOL_ABS   0x40000000u

/* LC_DYSYMTAB's table, entries of 4 bytes. USP_ERROR_NOT_FOUND. */
int uspi_macho_indirect_symbols(const struct uspi_macho *macho, struct uspi_bytes *table, struct uspi_error *error);

/* ---- functions ---- */

/* LC_FUNCTION_STARTS. Where an iteration stands. */
struct uspi_macho_starts {
    struct uspi_bytes bytes;
    uint64_t offset;
    usp_addr address; /* of the last one */
};

/* USP_ERROR_NOT_FOUND when the file has no such table. */
int uspi_macho_starts(const struct uspi_macho *macho, struct uspi_macho_starts *starts, struct uspi_error *error);

/* The next function's address as linked, ascending, on 32-bit ARM with the Thumb bit: 1, or 0 behind the last, or a
 * negative status. */
int uspi_macho_next_start(struct uspi_macho_starts *starts, usp_addr *address, struct uspi_error *error);

#endif
