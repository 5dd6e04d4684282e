/* SPDX-License-Identifier: MIT */
/* See elf_symbols.h. */
#include "lib/object/elf_symbols.h"

#include <inttypes.h>
#include <stdlib.h>

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
    uint64_t entry_size = elf->wide ? USPI_ELF_SYMBOL_64 : USPI_ELF_SYMBOL_32;
    if (table->entry_size != entry_size) {
        return uspi_bytes_error(error, elf->bytes, table->offset, USP_ERROR_FORMAT,
                                "symbols of %" PRIu64 " bytes instead of %" PRIu64, table->entry_size, entry_size);
    }
    if (entries.size / entry_size > USPI_SYMBOLS_MAX) {
        return uspi_bytes_error(error, elf->bytes, table->offset, USP_ERROR_FORMAT, "%" PRIu64 " symbols are too many",
                                entries.size / entry_size);
    }
    *symbols = (struct uspi_elf_symbols){entries, strings, entries.size / entry_size, elf->machine, elf->wide};
    return USP_OK;
}

int uspi_elf_symbol(const struct uspi_elf_symbols *symbols, uint64_t i, struct uspi_elf_symbol *symbol,
                    struct uspi_error *error) {
    struct uspi_piece piece;
    const size_t size = uspi_elf_symbol_size(symbols);
    if (i >= symbols->count) return uspi_error_set(error, USP_ERROR_NOT_FOUND, "no such symbol");
    int status = uspi_bytes_piece(symbols->entries, i * size, size, &piece, "symbol", error);
    if (status != USP_OK) return status;
    uspi_elf_symbol_parse(symbols, piece.at, symbol);
    return USP_OK;
}

/* How many entries a pass reads at once: about as many as a processor's first cache holds. */
#define AT_ONCE 1024u

/* Makes the entries from i up to `end` those of the pass, in place or as a copy. */
static bool read_some(struct uspi_elf_pass *pass, uint64_t i, uint64_t end) {
    const struct uspi_bytes entries = pass->symbols->entries;
    const struct uspi_source *source = entries.source;
    const size_t size = uspi_elf_symbol_size(pass->symbols), n = (size_t)(end - i) * size;
    const bool is_there = source->blocks == NULL || uspi_source_has(source, entries.from + i * size, n);
    pass->first = i;
    pass->end = end;
    pass->entries = is_there ? uspi_bytes_in_place(entries, i * size, n) : NULL;
    if (pass->entries != NULL) return true;
    if (pass->block == NULL) pass->block = malloc(AT_ONCE * USPI_ELF_SYMBOL_64);
    pass->entries = pass->block;
    if (pass->block != NULL && source->read(source->context, entries.from + i * size, pass->block, n) == USP_OK)
        return true;
    pass->first = pass->end = 0;
    return false;
}

int uspi_elf_pass_turn(struct uspi_elf_pass *pass, uint64_t i) {
    const struct uspi_elf_symbols *symbols = pass->symbols;
    if (i >= symbols->count) return USP_ERROR_NOT_FOUND;
    const uint64_t end = symbols->count - i < AT_ONCE ? symbols->count : i + AT_ONCE;
    if (!pass->reads_one_by_one && read_some(pass, i, end)) return USP_OK;
    pass->reads_one_by_one = true;
    const size_t size = uspi_elf_symbol_size(symbols);
    int status = uspi_bytes_read(symbols->entries, i * size, pass->one, size, "symbol", NULL);
    if (status != USP_OK) return status;
    pass->entries = pass->one;
    pass->first = i;
    pass->end = i + 1;
    return USP_OK;
}

void uspi_elf_pass_free(struct uspi_elf_pass *pass) {
    free(pass->block);
    pass->block = NULL;
}
