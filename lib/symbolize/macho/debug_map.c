/* SPDX-License-Identifier: MIT */
/* See debug_map.h. */
#include "lib/symbolize/macho/debug_map.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/symbolize/macho/stabs.h"

#include <stdlib.h>

/* The state of reading the entries. */
struct reading {
    struct uspi_debug_map *map;
    const struct uspi_macho_symbols *symbols;
    usp_addr mask;
    bool in_object; /* the next functions come from the last object */
};

static int add_object(struct reading *r, const struct uspi_macho_symbol *symbol) {
    struct uspi_debug_map *map = r->map;
    if (!uspi_room_for(&map->objects, &map->object_capacity, map->object_count, 1, sizeof *map->objects)) {
        return USP_ERROR_NO_MEMORY;
    }
    map->objects[map->object_count++] = (struct uspi_mapped_object){symbol->name, symbol->value};
    r->in_object = true;
    return USP_OK;
}

static int add_function(struct reading *r, const struct uspi_macho_symbol *symbol, uint64_t size) {
    struct uspi_debug_map *map = r->map;
    const usp_addr start = symbol->value & r->mask;
    usp_addr end;
    if (size == 0 || !uspi_sum(start, size, &end)) return USP_OK;
    if (!uspi_room_for(&map->functions, &map->function_capacity, map->function_count, 1, sizeof *map->functions)) {
        return USP_ERROR_NO_MEMORY;
    }
    const uint32_t object = (uint32_t)map->object_count - 1;
    map->functions[map->function_count++] = (struct uspi_mapped_function){start, end, symbol->name, object};
    return USP_OK;
}

static int by_start(const void *a, const void *b) {
    const struct uspi_mapped_function *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

int uspi_debug_map_read(struct uspi_debug_map *map, const struct uspi_macho_symbols *symbols, usp_addr mask) {
    struct reading r = {map, symbols, mask, false};
    *map = (struct uspi_debug_map){0};
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        /* An N_SO entry begins or ends a source file. Its object follows. */
        if (symbol.type == USPI_N_SO) r.in_object = false;
        if (symbol.type == USPI_N_OSO) status = add_object(&r, &symbol);
        if (symbol.type == USPI_N_FUN && r.in_object) {
            status = add_function(&r, &symbol, uspi_macho_stab_size(symbols, i));
        }
        if (status != USP_OK) return status;
    }
    if (map->function_count > 0) qsort(map->functions, map->function_count, sizeof *map->functions, by_start);
    return USP_OK;
}

void uspi_debug_map_clear(struct uspi_debug_map *map) {
    free(map->objects);
    free(map->functions);
    *map = (struct uspi_debug_map){0};
}

const struct uspi_mapped_function *uspi_debug_map_find(const struct uspi_debug_map *map, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, map->function_count, map->functions[i].start > address);
    return i > 0 && address < map->functions[i - 1].end ? &map->functions[i - 1] : NULL;
}

int uspi_debug_map_place(const struct uspi_macho_symbols *linked, const struct uspi_mapped_function *function,
                         const struct uspi_macho_symbols *object, usp_addr mask, usp_addr *in_object) {
    char buffer[USPI_MACHO_NAME_BEGINNING], other[USPI_MACHO_NAME_BEGINNING];
    const char *name = uspi_macho_name_beginning(linked, function->name, buffer);
    for (uint64_t i = 0; i < object->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(object, i, &symbol, NULL);
        if (status != USP_OK) return status;
        if ((symbol.type & USPI_N_STAB) != 0 || (symbol.type & USPI_N_TYPE) != USPI_N_SECT) continue;
        if (uspi_macho_compare_names(uspi_macho_name_beginning(object, symbol.name, other), name) != 0) continue;
        *in_object = symbol.value & mask;
        return USP_OK;
    }
    return USP_ERROR_NOT_FOUND;
}
