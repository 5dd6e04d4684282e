/* SPDX-License-Identifier: MIT */
/* See debug_relocations.h. */
#include "lib/images/debug_relocations.h"
#include "lib/base/bisect.h"

#include "arch/little_endian.h"
#include "lib/object/elf_code.h"

#include <stdlib.h>
#include <string.h>

enum { SHT_RELA = 4, SHT_REL = 9 };

/* Returns the width in bytes of the place that a relocation fills with a symbol's value and an addend; 0: another kind
 * of relocation. */
static unsigned width_of(uint16_t machine, uint32_t type) {
    switch (machine) {
    case 3: return type == 1 ? 4 : 0;                                 /* R_386_32 */
    case 40: return type == 2 ? 4 : 0;                                /* R_ARM_ABS32 */
    case 62: return type == 1 ? 8 : type == 10 || type == 11 ? 4 : 0; /* R_X86_64_64, _32, _32S */
    case 183: return type == 257 ? 8 : type == 258 ? 4 : 0;           /* R_AARCH64_ABS64, _ABS32 */
    default: return 0;
    }
}

struct relocation {
    uint64_t offset, addend;
    uint64_t symbol;
    uint32_t type;
    bool has_addend;
};

static int read_entry(const struct uspi_elf *elf, struct uspi_bytes entries, uint64_t at, bool has_addend,
                      struct relocation *relocation) {
    uint8_t raw[24];
    const unsigned word = elf->wide ? 8 : 4;
    const size_t size = has_addend ? 3 * word : 2 * word;
    int status = uspi_bytes_read(entries, at, raw, size, "relocation", NULL);
    if (status != USP_OK) return status;
    const uint64_t info = uspi_le(raw + word, word);
    relocation->offset = uspi_le(raw, word);
    relocation->type = elf->wide ? (uint32_t)info : (uint32_t)(info & 0xff);
    relocation->symbol = elf->wide ? info >> 32 : info >> 8;
    relocation->has_addend = has_addend;
    relocation->addend = has_addend ? uspi_le(raw + 2 * word, word) : 0;
    return USP_OK;
}

struct tables {
    struct uspi_elf_symbols symbols;
    struct uspi_elf_code code;
};

/* Returns the code range of a section by its number; NULL: the section has no code. uspi_elf_code_of does not serve
 * here: the end of a section lies in no range, but debug information refers to it. */
static const struct uspi_code_range *find_section(const struct uspi_elf_code *code, uint64_t number) {
    size_t i;
    USPI_FIRST(i, 0, code->by_section != NULL ? code->count : 0, code->by_section[i].section >= number);
    return i < code->count && code->by_section != NULL && code->by_section[i].section == number ? &code->by_section[i]
                                                                                                : NULL;
}

/* Gives a symbol's value: for code its address as laid out by uspi_elf_code_read, for anything else its offset in its
 * section. */
static bool value_of(const struct tables *tables, uint64_t number, uint64_t *value) {
    struct uspi_elf_symbol symbol;
    if (uspi_elf_symbol(&tables->symbols, number, &symbol, NULL) != USP_OK) return false;
    *value = symbol.value;
    const struct uspi_code_range *range = find_section(&tables->code, symbol.section);
    if (range != NULL) *value = range->low + symbol.value;
    return true;
}

static int relocate_section(struct uspi_debug_sections *sections, enum uspi_debug_section which,
                            const struct uspi_elf *elf, const struct uspi_elf_section *table,
                            const struct tables *tables) {
    struct uspi_section_bytes *section = &sections->all[which];
    struct uspi_bytes entries;
    const bool has_addend = table->type == SHT_RELA;
    const uint64_t size = (elf->wide ? 8u : 4u) * (has_addend ? 3u : 2u);
    int status = uspi_bytes_sub(elf->bytes, table->offset, table->size, "relocations", &entries, NULL);
    if (status != USP_OK) return status;
    struct uspi_packed_section *packed = sections->packed[which];
    /* A decompressed section is already a copy. */
    if (packed != NULL) {
        status = uspi_packed_section_need(packed, UINT64_MAX);
        if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    } else if (sections->owned[which] == NULL) {
        uint8_t *copy = malloc(section->size);
        if (copy == NULL) return USP_ERROR_NO_MEMORY;
        memcpy(copy, section->bytes, section->size);
        sections->owned[which] = copy;
        section->bytes = copy;
    }
    uint8_t *bytes = packed != NULL ? packed->bytes : sections->owned[which];
    for (uint64_t at = 0; entries.size - at >= size; at += size) {
        struct relocation relocation;
        uint64_t value;
        if (read_entry(elf, entries, at, has_addend, &relocation) != USP_OK) break;
        const unsigned width = width_of(elf->machine, relocation.type);
        if (width == 0 || relocation.offset > section->size || width > section->size - relocation.offset) continue;
        if (!value_of(tables, relocation.symbol, &value)) continue;
        uint8_t *place = bytes + relocation.offset;
        if (!has_addend) relocation.addend = uspi_le(place, width);
        uspi_store_le(place, value + relocation.addend, width);
    }
    return USP_OK;
}

static int open_tables(const struct uspi_elf *elf, struct tables *tables) {
    struct uspi_elf_section symbols, strings;
    struct uspi_bytes entries, names;
    int status = uspi_elf_symbol_sections(elf, USPI_SHT_SYMTAB, &symbols, &strings, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, symbols.offset, symbols.size, "symbols", &entries, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, strings.offset, strings.size, "names", &names, NULL);
    if (status == USP_OK) status = uspi_elf_symbols_in(elf, &symbols, entries, names, &tables->symbols, NULL);
    return status == USP_OK ? uspi_elf_code_read(elf, &tables->code) : status;
}

int uspi_debug_relocate(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                        const uint64_t numbers[USPI_DEBUG_SECTIONS], struct uspi_error *error) {
    struct tables tables = {0};
    int status = open_tables(elf, &tables);
    for (uint64_t i = 1; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section table;
        if (uspi_elf_section(elf, i, &table, NULL) != USP_OK) break;
        if (table.type != SHT_RELA && table.type != SHT_REL) continue;
        for (unsigned which = 0; which < USPI_DEBUG_SECTIONS && status == USP_OK; which++) {
            if (numbers[which] == 0 || table.info != numbers[which] || sections->all[which].size == 0) continue;
            status = relocate_section(sections, (enum uspi_debug_section)which, elf, &table, &tables);
        }
    }
    uspi_elf_code_clear(&tables.code);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_bytes_error(error, elf->bytes, elf->section_offset, status, "relocations of debug sections");
}
