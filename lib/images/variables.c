/* SPDX-License-Identifier: MIT */
/* See variables.h. */
#include "lib/images/variables.h"

#include "lib/images/elf_file.h"
#include "lib/images/file.h"
#include "lib/object/elf_dynamic.h"

#include <string.h>

struct lookup {
    const struct usp_image *image;
    struct uspi_variable *variables;
    size_t count;
};

static size_t count_found(const struct lookup *lookup) {
    size_t found = 0;
    for (size_t i = 0; i < lookup->count; i++) found += lookup->variables[i].address != 0;
    return found;
}

static bool has_size_of_any(const struct lookup *lookup, uint64_t size) {
    for (size_t i = 0; i < lookup->count; i++) {
        if (lookup->variables[i].size == size || lookup->variables[i].size == 0) return true;
    }
    return false;
}

/* Looks for the variables in a symbol table. Compares names only of symbols with a fitting type and size, which few
 * have. */
static void look_in_symbols(const struct lookup *lookup, const struct uspi_elf_symbols *symbols) {
    struct uspi_elf_pass pass = {.symbols = symbols};
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_elf_symbol symbol;
        char name[USPI_VARIABLE_NAME_MAX];
        if (uspi_elf_pass_symbol(&pass, i, &symbol) != USP_OK) break;
        if (symbol.type != USPI_STT_OBJECT || symbol.section == USPI_SHN_UNDEF) continue;
        if (!has_size_of_any(lookup, symbol.size)) continue;
        if (uspi_bytes_string(symbols->strings, symbol.name, name, sizeof name, "name", NULL) != USP_OK) continue;
        for (size_t k = 0; k < lookup->count; k++) {
            struct uspi_variable *v = &lookup->variables[k];
            if (v->address != 0 || (v->size != 0 && v->size != symbol.size) || strcmp(v->name, name) != 0) continue;
            v->size = symbol.size;
            v->address = symbol.value + lookup->image->slide;
        }
    }
    uspi_elf_pass_free(&pass);
}

static int open_symbols(const struct uspi_elf *elf, uint32_t type, struct uspi_elf_symbols *symbols) {
    struct uspi_elf_section table, names;
    struct uspi_bytes entries, strings;
    int status = uspi_elf_symbol_sections(elf, type, &table, &names, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, table.offset, table.size, "symbols", &entries, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, names.offset, names.size, "names", &strings, NULL);
    return status == USP_OK ? uspi_elf_symbols_in(elf, &table, entries, strings, symbols, NULL) : status;
}

size_t uspi_variables_find(const struct usp_image *image, const struct uspi_image_sources *places,
                           const struct usp_memory *memory, struct uspi_variable *variables, size_t count) {
    const struct lookup lookup = {image, variables, count};
    struct uspi_elf_symbols symbols;
    struct uspi_file *file;
    struct uspi_elf elf;
    if (uspi_elf_file_open(image, places, &file, NULL) == USP_OK) {
        if (uspi_elf_open(&elf, uspi_file_bytes(file), NULL) == USP_OK &&
            (open_symbols(&elf, USPI_SHT_SYMTAB, &symbols) == USP_OK ||
             open_symbols(&elf, USPI_SHT_DYNSYM, &symbols) == USP_OK)) {
            look_in_symbols(&lookup, &symbols);
        }
        uspi_file_close(file);
        return count_found(&lookup);
    }
    const struct uspi_source source = uspi_source_of_memory(memory, image->path);
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&source, image->load_address), NULL) == USP_OK &&
        uspi_elf_dynamic_symbols(&elf, &symbols, NULL) == USP_OK) {
        look_in_symbols(&lookup, &symbols);
    }
    return count_found(&lookup);
}
