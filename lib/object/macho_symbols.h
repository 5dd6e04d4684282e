/* SPDX-License-Identifier: MIT */
/* Reads a Mach-O file's symbol table, indirect symbol table and starts of functions, entry by entry and unchanged.
 * macho_exports.h reads exports, macho_unwind_info.h unwind information. The callers decide which symbols name code,
 * and which of several names is right. Sources: xnu EXTERNAL_HEADERS/mach-o/nlist.h, stab.h, loader.h. */
#ifndef USPI_OBJECT_MACHO_SYMBOLS_H
#define USPI_OBJECT_MACHO_SYMBOLS_H

#include "lib/object/macho.h"

/* ---- the symbol table ---- */

enum uspi_nlist_type {
    USPI_N_STAB = 0xe0, /* a mask: if any of these bits is set, the type is an enum uspi_nlist_stab */
    USPI_N_PEXT = 0x10, /* the linker has hidden it */
    USPI_N_TYPE = 0x0e, /* a mask */
    USPI_N_EXT = 0x01,  /* visible outside the file */
    USPI_N_SECT = 0x0e  /* a value of N_TYPE: defined in a section */
};

enum uspi_nlist_stab {
    USPI_N_FUN = 0x24, /* a function's name and address; the next N_FUN, without a name, has its size as value */
    USPI_N_SOL = 0x84, /* between these two: a header from which some of the function's lines come */
    USPI_N_SO = 0x64,  /* a source file's folder, ending in '/'; its name; or, with an empty name, its end */
    /* Follows N_SO: the object file from which the functions come. The value is its modification time. */
    USPI_N_OSO = 0x66
};

enum uspi_nlist_description {
    USPI_N_ARM_THUMB_DEF = 0x0008,
    USPI_N_WEAK_DEF = 0x0080,
    USPI_N_ALT_ENTRY = 0x0200 /* another entry point of the enclosing function */
};

struct uspi_macho_symbols {
    struct uspi_bytes entries, strings;
    uint64_t count;
    bool wide;
};

/* Returns a mask of the bits of a symbol's value that are its address; on 32-bit ARM bit 0 is the Thumb state. arch:
 * enum usp_arch. */
static inline usp_addr uspi_macho_address_mask(uint32_t arch) {
    return arch == USP_ARCH_ARMV7 ? ~(usp_addr)1 : ~(usp_addr)0;
}

/* Opens the symbol table (LC_SYMTAB). USP_ERROR_NOT_FOUND when there is none or it is empty. */
int uspi_macho_symbols(const struct uspi_macho *macho, struct uspi_macho_symbols *symbols, struct uspi_error *error);

struct uspi_macho_symbol {
    uint32_t name;        /* offset in the table's strings */
    uint8_t type;         /* enum uspi_nlist_type or enum uspi_nlist_stab */
    uint8_t section;      /* numbered from 1 through all segments; 0: none */
    uint16_t description; /* enum uspi_nlist_description */
    uint64_t value;
};

/* Reads symbol i; USP_ERROR_NOT_FOUND past the last one. */
int uspi_macho_symbol(const struct uspi_macho_symbols *symbols, uint64_t i, struct uspi_macho_symbol *symbol,
                      struct uspi_error *error);

/* How many bytes of a name are copied if it cannot be read in place, and how many bytes of two names are compared.
 * Without a limit, a damaged table could give all symbols one name that fills the file. */
#define USPI_MACHO_NAME_BEGINNING 512
#define USPI_MACHO_NAME_COMPARED  4096

/* Returns the name at an offset of the table's strings, to compare or recognise it: a pointer into the strings if
 * possible, otherwise the name's beginning in `buffer`; "" when it cannot be read. */
const char *uspi_macho_name_beginning(const struct uspi_macho_symbols *symbols, uint32_t name,
                                      char buffer[USPI_MACHO_NAME_BEGINNING]);

/* Compares up to USPI_MACHO_NAME_COMPARED bytes of two names; returns a value below, equal to or above 0 like strcmp.
 * Does not use strncmp: gcc 12 assumes that strncmp reads as many bytes as its bound, takes a smaller buffer for
 * another object, and warns that this object's lifetime may have ended. */
int uspi_macho_compare_names(const char *a, const char *b);

/* ---- the indirect symbol table ---- */

/* Entries are numbers of symbols. These values replace the number of a local or an absolute symbol. */
#define USPI_INDIRECT_SYMBOL_LOCAL 0x80000000u
#define USPI_INDIRECT_SYMBOL_ABS   0x40000000u

/* Gives the indirect symbol table of LC_DYSYMTAB, with entries of 4 bytes; USP_ERROR_NOT_FOUND if there is none. */
int uspi_macho_indirect_symbols(const struct uspi_macho *macho, struct uspi_bytes *table, struct uspi_error *error);

/* ---- functions ---- */

/* The state of an iteration over LC_FUNCTION_STARTS. */
struct uspi_macho_starts {
    struct uspi_bytes bytes;
    uint64_t offset;
    usp_addr address; /* of the last function read */
};

/* Begins an iteration. USP_ERROR_NOT_FOUND when the file has no such table. */
int uspi_macho_starts(const struct uspi_macho *macho, struct uspi_macho_starts *starts, struct uspi_error *error);

/* Gives the next function's address, as linked, ascending, on 32-bit ARM with the Thumb bit. Returns 1, 0 past the last
 * one, or a negative status. */
int uspi_macho_next_start(struct uspi_macho_starts *starts, usp_addr *address, struct uspi_error *error);

#endif
