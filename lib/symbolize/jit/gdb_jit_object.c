/* SPDX-License-Identifier: MIT */
/* Reads the functions of an ELF object of the GDB JIT interface. Most runtimes write an unlinked object whose sections
 * have the addresses of the code (LLVM, LuaJIT, V8). There, symbols count from the start of their section. */
#include "lib/symbolize/jit/gdb_jit.h"

#include "lib/base/array.h"
#include "lib/object/elf_symbols.h"

/* A function of an object. */
struct function {
    struct uspi_jit_code code;
    bool is_sized;
    uint64_t symbol;
};

struct functions {
    struct function *all;
    size_t count, capacity;
};

/* Sorts functions without a size first, so that those with a size win where they overlap; then by start, so that the
 * nearest start wins. */
static int by_precedence(const void *a, const void *b) {
    const struct function *x = a, *y = b;
    if (x->is_sized != y->is_sized) return x->is_sized ? 1 : -1;
    if (x->code.start != y->code.start) return x->code.start < y->code.start ? -1 : 1;
    return (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

/* Finds the code of a function. Without a size, it reaches to the end of its section. Returns false when the symbol
 * names no code. */
static bool locate(const struct uspi_elf *elf, const struct uspi_elf_symbol *symbol, struct function *function) {
    struct uspi_elf_section section;
    const uint64_t wanted = USPI_SHF_ALLOC | USPI_SHF_EXECINSTR;
    if (symbol->section == USPI_SHN_UNDEF || symbol->section >= USPI_SHN_RESERVED) return false;
    if (uspi_elf_section(elf, symbol->section, &section, NULL) != USP_OK || (section.flags & wanted) != wanted)
        return false;
    const uint64_t offset = elf->type == USPI_ET_REL ? symbol->value : symbol->value - section.address;
    if (offset >= section.size || section.address == 0) return false;
    const uint64_t left = section.size - offset;
    function->code.start = section.address + offset;
    function->code.size = symbol->size != 0 && symbol->size < left ? symbol->size : left;
    function->is_sized = symbol->size != 0;
    return true;
}

static int gather(const struct uspi_elf *elf, const struct uspi_elf_symbols *symbols, uint64_t order, uint32_t number,
                  struct functions *functions) {
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_elf_symbol symbol;
        struct function function = {.code = {.order = order, .object = number}, .symbol = i};
        int status = uspi_elf_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        if (symbol.type != USPI_STT_FUNC || !locate(elf, &symbol, &function)) continue;
        if (!uspi_room_for(&functions->all, &functions->capacity, functions->count, 1, sizeof function))
            return USP_ERROR_NO_MEMORY;
        functions->all[functions->count++] = function;
    }
    return USP_OK;
}

static int add_all(const struct functions *functions, const struct uspi_elf_symbols *symbols,
                   struct uspi_jit_map *map) {
    char name[USPI_JIT_NAME_MAX];
    for (size_t i = 0; i < functions->count; i++) {
        struct uspi_elf_symbol symbol;
        if (uspi_elf_symbol(symbols, functions->all[i].symbol, &symbol, NULL) != USP_OK) continue;
        int status = uspi_bytes_string(symbols->strings, symbol.name, name, sizeof name, "name", NULL);
        if ((status != USP_OK && status != USP_ERROR_FULL) || name[0] == '\0') continue;
        status = uspi_jit_map_add(map, &functions->all[i].code, name, strlen(name));
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

int uspi_gdb_jit_read_object(struct uspi_bytes object, uint64_t order, uint32_t number, struct uspi_jit_map *map) {
    struct uspi_elf elf;
    struct uspi_elf_section table, names;
    struct uspi_bytes entries, strings;
    struct uspi_elf_symbols symbols;
    struct functions functions = {0};
    int status = uspi_elf_open(&elf, object, NULL);
    if (status == USP_OK) status = uspi_elf_symbol_sections(&elf, USPI_SHT_SYMTAB, &table, &names, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(object, table.offset, table.size, "symbols", &entries, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(object, names.offset, names.size, "names", &strings, NULL);
    if (status == USP_OK) status = uspi_elf_symbols_in(&elf, &table, entries, strings, &symbols, NULL);
    if (status == USP_OK) status = gather(&elf, &symbols, order, number, &functions);
    if (status == USP_OK && functions.count > 0) {
        qsort(functions.all, functions.count, sizeof *functions.all, by_precedence);
        status = add_all(&functions, &symbols, map);
    }
    free(functions.all);
    return status;
}
