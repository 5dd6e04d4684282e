/* SPDX-License-Identifier: MIT */
/* See stabs.h. The entries of each compiled file are: N_SO folder (or none), N_SO file, its functions, N_SO without a
 * name. */
#include "lib/symbolize/macho/stabs.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* PATH_MAX of macOS is 1024, that of Linux 4096. A longer path counts as not known. */
#define PATH_ROOM 4096

int uspi_macho_stabs_open(struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols) {
    size_t capacity = 0;
    *stabs = (struct uspi_macho_stabs){0};
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        stabs->has_functions |= symbol.type == USPI_N_FUN;
        if (symbol.type != USPI_N_SO) continue;
        if (!uspi_room_for(&stabs->files, &capacity, stabs->count, 1, sizeof *stabs->files)) return USP_ERROR_NO_MEMORY;
        stabs->files[stabs->count].entry = (uint32_t)i;
        atomic_init(&stabs->files[stabs->count++].path, NULL);
    }
    /* If shrinking fails, the larger block stays. */
    if (stabs->count > 0) {
        struct uspi_stab_file *files = realloc(stabs->files, stabs->count * sizeof *files);
        if (files != NULL) stabs->files = files;
    }
    return USP_OK;
}

void uspi_macho_stabs_close(struct uspi_macho_stabs *stabs) {
    free(stabs->files);
    *stabs = (struct uspi_macho_stabs){0};
}

/* The maximum number of entries between the two entries of a function, one for each header from which it has lines.
 * With the limit, a lookup does not read a damaged table to its end. */
#define BETWEEN_MAX 256

static bool is_nameless(const struct uspi_macho_symbols *symbols, const struct uspi_macho_symbol *symbol) {
    uint64_t byte;
    return uspi_bytes_load(symbols->strings, symbol->name, 1, &byte, "name", NULL) == USP_OK && byte == 0;
}

uint64_t uspi_macho_stab_size(const struct uspi_macho_symbols *symbols, uint64_t i) {
    struct uspi_macho_symbol next;
    for (uint64_t at = i + 1; at <= i + BETWEEN_MAX; at++) {
        if (uspi_macho_symbol(symbols, at, &next, NULL) != USP_OK) return 0;
        if (next.type == USPI_N_FUN) return is_nameless(symbols, &next) ? next.value : 0;
        if (next.type != USPI_N_SOL) return 0;
    }
    return 0;
}

/* Returns 1 + the position of the last source file entry at or before entry i, or 0 when there is none. */
static uint32_t files_up_to(const struct uspi_macho_stabs *stabs, uint64_t i) {
    uint32_t low;
    USPI_FIRST(low, 0, stabs->count, stabs->files[low].entry > i);
    return low;
}

/* Reads the string of a source file entry. Returns false when it cannot be read. */
static bool read_path(const struct uspi_macho_symbols *symbols, uint64_t i, char *to, size_t capacity) {
    struct uspi_macho_symbol symbol;
    to[0] = '\0';
    return uspi_macho_symbol(symbols, i, &symbol, NULL) == USP_OK &&
           uspi_bytes_string(symbols->strings, symbol.name, to, capacity, "source file", NULL) == USP_OK;
}

/* Composes the path of file `number` of the list from its folder and name; "" when these cannot be read. */
static int compose_path(const struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols, uint32_t number,
                        struct uspi_names *names, const char **path) {
    char folder[PATH_ROOM], name[PATH_ROOM];
    const uint32_t entry = stabs->files[number].entry;
    *path = "";
    if (!read_path(symbols, entry, name, sizeof name) || name[0] == '\0') return USP_OK;
    size_t length = 0;
    bool follows = number > 0 && stabs->files[number - 1].entry + 1 == entry;
    if (name[0] != '/' && follows && read_path(symbols, entry - 1, folder, sizeof folder)) {
        length = strlen(folder);
        if (length == 0 || folder[length - 1] != '/') length = 0;
    }
    size_t rest = strlen(name);
    if (length + rest >= sizeof folder) return USP_OK;
    memcpy(folder + length, name, rest);
    *path = uspi_names_keep(names, folder, length + rest);
    return *path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

int uspi_macho_stab_file(const struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols, uint64_t i,
                         struct uspi_names *names, const char **file) {
    uint32_t found = files_up_to(stabs, i);
    *file = NULL;
    if (found == 0) return USP_OK;
    struct uspi_stab_file *of = &stabs->files[found - 1];
    const char *path = atomic_load_explicit(&of->path, memory_order_acquire);
    if (path == NULL) {
        int status = compose_path(stabs, symbols, found - 1, names, &path);
        if (status != USP_OK) return status;
        atomic_store_explicit(&of->path, path, memory_order_release);
    }
    if (path[0] != '\0') *file = path;
    return USP_OK;
}

/* The maximum number of functions at one address that are searched for a name. In a damaged table, all functions may
 * have one address. A name beyond the limit is used without a size. */
#define ALIASES_MAX 64

static int by_start(const void *a, const void *b) {
    const struct uspi_stab_start *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

int uspi_stab_functions_read(struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                             const struct uspi_macho_code *code, usp_addr mask) {
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        usp_addr start = symbol.value & mask;
        if (symbol.type != USPI_N_FUN || !uspi_macho_code_holds(code, symbol.section, start)) continue;
        if (!uspi_room_for(&functions->all, &functions->capacity, functions->count, 1, sizeof *functions->all)) {
            return USP_ERROR_NO_MEMORY;
        }
        functions->all[functions->count++] = (struct uspi_stab_start){start, symbol.name, (uint32_t)i};
    }
    if (functions->count > 0) qsort(functions->all, functions->count, sizeof *functions->all, by_start);
    return USP_OK;
}

void uspi_stab_functions_clear(struct uspi_stab_functions *functions) {
    free(functions->all);
    *functions = (struct uspi_stab_functions){0};
}

uint32_t uspi_stab_function(const struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                            usp_addr start, const char *name, uint32_t own) {
    char buffer[USPI_MACHO_NAME_BEGINNING];
    size_t at;
    USPI_FIRST(at, 0, functions->count, functions->all[at].start >= start);
    for (size_t i = at; i < functions->count && i - at < ALIASES_MAX && functions->all[i].start == start; i++) {
        const struct uspi_stab_start *found = &functions->all[i];
        const char *its_name = uspi_macho_name_beginning(symbols, found->name, buffer);
        if (uspi_macho_compare_names(its_name, name) == 0) return found->entry;
    }
    return own;
}
