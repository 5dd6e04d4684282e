/* SPDX-License-Identifier: MIT */
/* See exported.h. */
#include "lib/symbolize/macho/exported.h"

#include "lib/base/array.h"

#include <stdlib.h>

static int compare_addresses(const void *a, const void *b) {
    const usp_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The starts of external symbols in the symbol tables. */
struct visible {
    usp_addr *starts;
    size_t count, room;
};

static int read_visible(const struct uspi_macho_symbols *symbols, usp_addr mask, struct visible *visible) {
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        bool is_visible = (symbol.type & (USPI_N_STAB | USPI_N_TYPE | USPI_N_EXT)) == (USPI_N_SECT | USPI_N_EXT);
        if (!is_visible) continue;
        if (!uspi_room_for(&visible->starts, &visible->room, visible->count, 1, sizeof *visible->starts)) {
            return USP_ERROR_NO_MEMORY;
        }
        visible->starts[visible->count++] = symbol.value & mask;
    }
    return USP_OK;
}

bool uspi_macho_exported_code(const struct uspi_macho_exported *exported, uint32_t node,
                              const struct uspi_macho_code *code, usp_addr mask, usp_addr *start) {
    struct uspi_export found;
    if (node == 0 || uspi_macho_export(&exported->trie, node, &found, NULL) != USP_OK) return false;
    if ((found.flags & (USPI_EXPORT_KIND | USPI_EXPORT_REEXPORT)) != USPI_EXPORT_REGULAR) return false;
    *start = (exported->header + found.offset) & mask;
    return uspi_macho_code_holds_any(code, *start);
}

/* Returns whether the exports name code that the symbol tables do not. */
static bool says_more(const struct uspi_macho_exported *exported, const struct uspi_macho_code *code, usp_addr mask,
                      const struct visible *visible) {
    for (uint32_t node = 0; node < exported->trie.count; node++) {
        usp_addr start;
        if (!uspi_macho_exported_code(exported, node, code, mask, &start)) continue;
        if (visible->count == 0) return true;
        if (bsearch(&start, visible->starts, visible->count, sizeof start, compare_addresses) == NULL) return true;
    }
    return false;
}

int uspi_macho_exported_open(struct uspi_macho_exported *exported, const struct uspi_macho *macho,
                             const struct uspi_macho_symbols symbols[2], usp_addr mask) {
    struct uspi_macho_extent extent;
    struct uspi_macho_code code;
    struct visible visible = {0};
    *exported = (struct uspi_macho_exported){0};
    if (uspi_macho_extent(macho, &extent, NULL) != USP_OK) return USP_OK;
    exported->header = extent.header;
    int status = uspi_macho_exports_open(&exported->trie, macho, NULL);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    status = uspi_macho_code_read(macho, &code);
    for (unsigned i = 0; status == USP_OK && i < 2; i++) status = read_visible(&symbols[i], mask, &visible);
    if (visible.count > 0) qsort(visible.starts, visible.count, sizeof *visible.starts, compare_addresses);
    if (status != USP_OK || !says_more(exported, &code, mask, &visible)) uspi_macho_exports_close(&exported->trie);
    free(visible.starts);
    return status;
}
