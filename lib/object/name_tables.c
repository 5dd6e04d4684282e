/* SPDX-License-Identifier: MIT */
/* See name_tables.h. */
#include "lib/object/name_tables.h"
#include "lib/object/elf_symbols.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"

static int check_section(const struct uspi_elf *elf, const struct uspi_elf_section *section, const char *what,
                         struct uspi_bytes *contents, struct uspi_error *error) {
    return uspi_bytes_sub(elf->bytes, section->offset, section->size, what, contents, error);
}

static int check_symbols(const struct uspi_elf *elf, const struct uspi_elf_section *table, struct uspi_error *error) {
    struct uspi_elf_section strings;
    struct uspi_elf_symbols symbols;
    struct uspi_bytes entries, names;
    int status = check_section(elf, table, "symbol table", &entries, error);
    if (status != USP_OK) return status;
    if (table->link >= elf->section_count) {
        return uspi_bytes_error(error, elf->bytes, table->offset, USP_ERROR_FORMAT,
                                "a symbol table whose names are in section %u, of %llu", (unsigned)table->link,
                                (unsigned long long)elf->section_count);
    }
    status = uspi_elf_section(elf, table->link, &strings, error);
    if (status == USP_OK) status = check_section(elf, &strings, "names of symbols", &names, error);
    return status == USP_OK ? uspi_elf_symbols_in(elf, table, entries, names, &symbols, error) : status;
}

int uspi_elf_check_names(const struct uspi_elf *elf, struct uspi_error *error) {
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section section;
        status = uspi_elf_section(elf, i, &section, error);
        if (status != USP_OK || (section.type != USPI_SHT_SYMTAB && section.type != USPI_SHT_DYNSYM)) continue;
        status = check_symbols(elf, &section, error);
    }
    return status;
}

static int unless_absent(int status) { return status == USP_ERROR_NOT_FOUND ? USP_OK : status; }

int uspi_macho_check_names(const struct uspi_macho *macho, struct uspi_error *error) {
    struct uspi_macho_symbols symbols;
    struct uspi_macho_starts starts;
    struct uspi_macho_exports exports = {0};
    int status = unless_absent(uspi_macho_symbols(macho, &symbols, error));
    if (status == USP_OK) status = unless_absent(uspi_macho_starts(macho, &starts, error));
    if (status == USP_OK) status = unless_absent(uspi_macho_exports_open(&exports, macho, error));
    uspi_macho_exports_close(&exports);
    return status;
}
