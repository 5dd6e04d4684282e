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

/* Size of a symbol in bytes (gABI: Elf64_Sym, Elf32_Sym). */
#define USPI_ELF_SYMBOL_64 24u
#define USPI_ELF_SYMBOL_32 16u

/* Linux elf-em.h. */
#define USPI_EM_ARM 40

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

/* Size of a table's entry in bytes. */
static inline size_t uspi_elf_symbol_size(const struct uspi_elf_symbols *symbols) {
    return symbols->wide ? USPI_ELF_SYMBOL_64 : USPI_ELF_SYMBOL_32;
}

/* Reads a symbol from the bytes of its entry. */
static inline void uspi_elf_symbol_parse(const struct uspi_elf_symbols *symbols, const uint8_t *raw,
                                         struct uspi_elf_symbol *symbol) {
    uint8_t info;
    symbol->name = uspi_le32(raw);
    if (symbols->wide) {
        info = raw[4];
        symbol->section = uspi_le16(raw + 6);
        symbol->value = uspi_le64(raw + 8);
        symbol->size = uspi_le64(raw + 16);
    } else {
        symbol->value = uspi_le32(raw + 4);
        symbol->size = uspi_le32(raw + 8);
        info = raw[12];
        symbol->section = uspi_le16(raw + 14);
    }
    symbol->type = info & 0xf;
    symbol->binding = info >> 4;
    const bool is_function = symbol->type == USPI_STT_FUNC || symbol->type == USPI_STT_GNU_IFUNC;
    symbol->is_thumb = symbols->machine == USPI_EM_ARM && is_function && (symbol->value & 1) != 0;
    if (symbol->is_thumb) symbol->value--;
}

/* Reads symbol i; USP_ERROR_NOT_FOUND past the last one. */
int uspi_elf_symbol(const struct uspi_elf_symbols *symbols, uint64_t i, struct uspi_elf_symbol *symbol,
                    struct uspi_error *error);

/* A pass over a table, which does not bring the whole table into memory. Begin with {.symbols = …}; free it after. */
struct uspi_elf_pass {
    const struct uspi_elf_symbols *symbols;
    const uint8_t *entries; /* from number `first` up to `end` */
    uint64_t first, end;
    uint8_t *block;        /* heap block for entries; NULL: not needed so far */
    bool reads_one_by_one; /* some entries cannot be read, or there is no memory */
    uint8_t one[USPI_ELF_SYMBOL_64];
};

/* Reads entries that are not those of the pass, for uspi_elf_pass_read. */
int uspi_elf_pass_turn(struct uspi_elf_pass *pass, uint64_t i);

/* Makes entry i one of pass->entries, and entries after it too. Returns USP_OK, USP_ERROR_NOT_FOUND past the last one,
 * or the status with which reading failed. */
static inline int uspi_elf_pass_read(struct uspi_elf_pass *pass, uint64_t i) {
    return i >= pass->first && i < pass->end ? USP_OK : uspi_elf_pass_turn(pass, i);
}

void uspi_elf_pass_free(struct uspi_elf_pass *pass);

/* Returns entry i, which is one of pass->entries. */
static inline const uint8_t *uspi_elf_pass_entry(const struct uspi_elf_pass *pass, uint64_t i) {
    return pass->entries + (size_t)(i - pass->first) * uspi_elf_symbol_size(pass->symbols);
}

/* Reads symbol i, like uspi_elf_symbol. */
static inline int uspi_elf_pass_symbol(struct uspi_elf_pass *pass, uint64_t i, struct uspi_elf_symbol *symbol) {
    const int status = uspi_elf_pass_read(pass, i);
    if (status == USP_OK) uspi_elf_symbol_parse(pass->symbols, uspi_elf_pass_entry(pass, i), symbol);
    return status;
}

/* Returns the type and binding of entry i, which is one of pass->entries: the field st_info. */
static inline uint8_t uspi_elf_pass_info(const struct uspi_elf_pass *pass, uint64_t i) {
    return uspi_elf_pass_entry(pass, i)[pass->symbols->wide ? 4 : 12];
}

/* Reads only the value and size of entry i of a 64-bit table, for callers that skip most entries. The entry is one of
 * pass->entries. */
static inline void uspi_elf_pass_extent(const struct uspi_elf_pass *pass, uint64_t i, uint64_t *value, uint64_t *size) {
    const uint8_t *raw = pass->entries + (i - pass->first) * USPI_ELF_SYMBOL_64;
    *value = uspi_le64(raw + 8);
    *size = uspi_le64(raw + 16);
}

#endif
