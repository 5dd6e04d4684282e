/* SPDX-License-Identifier: MIT */
/* Reads the symbol tables of an ELF file, entry by entry. The callers decide which symbols name code, and which of
 * several names is right. Sources: System V gABI chapter 4 "Symbol Table"; Linux elf.h. */
#ifndef USPI_OBJECT_ELF_SYMBOLS_H
#define USPI_OBJECT_ELF_SYMBOLS_H

#include "lib/object/elf.h"

enum uspi_elf_symbol_table { USPI_SHT_SYMTAB = 2, USPI_SHT_DYNSYM = 11 };
enum uspi_elf_section_flags { USPI_SHF_ALLOC = 2, USPI_SHF_EXECINSTR = 4, USPI_SHF_COMPRESSED = 0x800 };
enum uspi_elf_symbol_type { USPI_STT_NOTYPE = 0, USPI_STT_OBJECT = 1, USPI_STT_FUNC = 2, USPI_STT_GNU_IFUNC = 10 };
enum uspi_elf_binding { USPI_STB_LOCAL = 0, USPI_STB_GLOBAL = 1, USPI_STB_WEAK = 2, USPI_STB_GNU_UNIQUE = 10 };
/* Section indices from RESERVED on mean no section, except XINDEX: the actual index is too large for the field. */
enum uspi_elf_section_index { USPI_SHN_UNDEF = 0, USPI_SHN_RESERVED = 0xff00, USPI_SHN_XINDEX = 0xffff };

/* Size of a symbol in bytes (gABI: Elf64_Sym). */
#define USPI_ELF_SYMBOL_64 24u

struct uspi_elf_symbols {
    struct uspi_bytes entries, strings;
    uint64_t count;
    uint16_t machine; /* e_machine */
    bool wide;
};

/* Finds the first section of a type (enum uspi_elf_symbol_table), and the section with its names. USP_ERROR_NOT_FOUND
 * if there is none. */
int uspi_elf_symbol_sections(const struct uspi_elf *elf, uint32_t section_type, struct uspi_elf_section *table,
                             struct uspi_elf_section *strings, struct uspi_error *error);

/* Opens a symbol table. `entries` are the contents of the section `table`, and `strings` the names. USP_ERROR_FORMAT
 * when its entry size is not the one of the file's class. */
int uspi_elf_symbols_in(const struct uspi_elf *elf, const struct uspi_elf_section *table, struct uspi_bytes entries,
                        struct uspi_bytes strings, struct uspi_elf_symbols *symbols, struct uspi_error *error);

struct uspi_elf_symbol {
    usp_addr value; /* as linked, without the Thumb bit of 32-bit ARM functions (bit 0) */
    uint64_t size;
    uint32_t name; /* offset in the table's strings */
    uint16_t section;
    uint8_t type;
    uint8_t binding;
    bool is_thumb; /* 32-bit ARM: a function whose code is Thumb */
};

/* Reads symbol i; USP_ERROR_NOT_FOUND past the last one. */
int uspi_elf_symbol(const struct uspi_elf_symbols *symbols, uint64_t i, struct uspi_elf_symbol *symbol,
                    struct uspi_error *error);

/* Returns a pointer to the entries of a 64-bit table; NULL for a 32-bit table, or if they cannot be read in place. */
const uint8_t *uspi_elf_symbols_in_place(const struct uspi_elf_symbols *symbols);

/* Reads only the value and size of entry i, for callers that skip most entries. `entries` comes from
 * uspi_elf_symbols_in_place. */
static inline void uspi_elf_symbol_extent(const uint8_t *entries, uint64_t i, uint64_t *value, uint64_t *size) {
    const uint8_t *raw = entries + i * USPI_ELF_SYMBOL_64;
    *value = uspi_le64(raw + 8);
    *size = uspi_le64(raw + 16);
}

#endif
