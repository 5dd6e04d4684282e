/* SPDX-License-Identifier: MIT */
/* See elf_symbols.h. */
#include "lib/object/elf_symbols.h"

#include <inttypes.h>

/* Size of a symbol in bytes (gABI: Elf32_Sym). */
#define ENTRY_32 16u

/* Linux elf-em.h. */
#define EM_ARM 40

static int find_table(const struct uspi_elf *elf, uint32_t section_type, struct uspi_elf_section *table,
                      struct uspi_error *error) {
    for (uint64_t i = 0; i < elf->section_count; i++) {
        int status = uspi_elf_section(elf, i, table, error);
        if (status != USP_OK || table->type == section_type) return status;
    }
    return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no symbol table", elf->bytes.source->name);
}

int uspi_elf_symbol_sections(const struct uspi_elf *elf, uint32_t section_type, struct uspi_elf_section *table,
                             struct uspi_elf_section *strings, struct uspi_error *error) {
    int status = find_table(elf, section_type, table, error);
    return status == USP_OK ? uspi_elf_section(elf, table->link, strings, error) : status;
}

int uspi_elf_symbols_in(const struct uspi_elf *elf, const struct uspi_elf_section *table, struct uspi_bytes entries,
                        struct uspi_bytes strings, struct uspi_elf_symbols *symbols, struct uspi_error *error) {
    uint64_t entry_size = elf->wide ? USPI_ELF_SYMBOL_64 : ENTRY_32;
    if (table->entry_size != entry_size) {
        return uspi_bytes_error(error, elf->bytes, table->offset, USP_ERROR_FORMAT,
                                "symbols of %" PRIu64 " bytes instead of %" PRIu64, table->entry_size, entry_size);
    }
    *symbols = (struct uspi_elf_symbols){entries, strings, entries.size / entry_size, elf->machine, elf->wide};
    return USP_OK;
}

int uspi_elf_symbol(const struct uspi_elf_symbols *symbols, uint64_t i, struct uspi_elf_symbol *symbol,
                    struct uspi_error *error) {
    struct uspi_piece piece;
    size_t size = symbols->wide ? USPI_ELF_SYMBOL_64 : ENTRY_32;
    if (i >= symbols->count) return uspi_error_set(error, USP_ERROR_NOT_FOUND, "no such symbol");
    int status = uspi_bytes_piece(symbols->entries, i * size, size, &piece, "symbol", error);
    if (status != USP_OK) return status;
    const uint8_t *raw = piece.at;
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
    bool is_function = symbol->type == USPI_STT_FUNC || symbol->type == USPI_STT_GNU_IFUNC;
    symbol->is_thumb = symbols->machine == EM_ARM && is_function && (symbol->value & 1) != 0;
    if (symbol->is_thumb) symbol->value--;
    return USP_OK;
}

const uint8_t *uspi_elf_symbols_in_place(const struct uspi_elf_symbols *symbols) {
    const uint64_t size = symbols->count * USPI_ELF_SYMBOL_64;
    return symbols->wide && size <= SIZE_MAX ? uspi_bytes_in_place(symbols->entries, 0, (size_t)size) : NULL;
}
