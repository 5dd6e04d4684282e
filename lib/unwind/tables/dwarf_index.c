/* SPDX-License-Identifier: MIT */
/* Makes a sorted table for a section of call frame information for which the linker made none. See dwarf_find.h. */
#include "lib/unwind/tables/dwarf_find.h"

#include "arch/little_endian.h"
#include "lib/base/array.h"

#include <stdlib.h>

/* version, three encodings, the section's address and the count. */
#define HEADER_SIZE (4u + 8u + 8u)
#define ENTRY_SIZE  16u

struct indexed {
    usp_addr start, entry;
};

struct growing {
    struct indexed *entries;
    size_t count, capacity;
};

static bool add(struct growing *g, usp_addr start, usp_addr entry) {
    if (!uspi_room_for(&g->entries, &g->capacity, g->count, 1, sizeof *g->entries)) return false;
    g->entries[g->count++] = (struct indexed){start, entry};
    return true;
}

/* Orders entries by start. Of two with the same start, the first in the section comes last, where a search finds it. */
static int by_start(const void *a, const void *b) {
    const struct indexed *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->entry > y->entry ? -1 : x->entry < y->entry;
}

static uint8_t *put(uint8_t *to, uint64_t value) {
    uspi_store_le(to, value, 8);
    return to + 8;
}

int uspi_dwarf_make_index(const struct uspi_dwarf_section *section, uint8_t **bytes, size_t *size) {
    struct growing g = {0};
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    uint64_t offset = 0;
    bool has_room = true;
    while (has_room && uspi_dwarf_next_fde(section, &offset, &entry, &fde) == 1) {
        has_room = add(&g, fde.start, section->bytes.from + entry.offset);
    }
    *size = HEADER_SIZE + g.count * ENTRY_SIZE;
    *bytes = has_room ? malloc(*size) : NULL;
    if (*bytes != NULL) {
        if (g.count > 1) qsort(g.entries, g.count, sizeof *g.entries, by_start);
        uint8_t *to = *bytes;
        *to++ = 1;
        for (unsigned i = 0; i < 3; i++) *to++ = USPI_PE_UDATA8;
        to = put(to, section->bytes.from);
        to = put(to, g.count);
        for (size_t i = 0; i < g.count; i++) to = put(put(to, g.entries[i].start), g.entries[i].entry);
    }
    free(g.entries);
    return *bytes != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}
