/* SPDX-License-Identifier: MIT */
/* See by_name.h. */
#include "lib/symbolize/index/by_name.h"

#include <stdlib.h>
#include <string.h>

/* Returns the entry of a key, or the free entry for it. */
static struct uspi_named_start *entry_of(const struct uspi_by_name *names, uint64_t key) {
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (names->size - 1);
    while (names->all[at].key != 0 && names->all[at].key != key) at = (at + 1) & (names->size - 1);
    return &names->all[at];
}

static bool grow(struct uspi_by_name *names) {
    struct uspi_by_name grown = {.size = names->size == 0 ? 1024 : names->size * 2, .count = names->count};
    grown.all = calloc(grown.size, sizeof *grown.all);
    if (grown.all == NULL) return false;
    for (size_t i = 0; i < names->size; i++) {
        if (names->all[i].key != 0) *entry_of(&grown, names->all[i].key) = names->all[i];
    }
    free(names->all);
    *names = grown;
    return true;
}

bool uspi_by_name_add(struct uspi_by_name *names, uint64_t key, usp_addr start) {
    if (names->count * 2 >= names->size && !grow(names)) return false;
    struct uspi_named_start *entry = entry_of(names, key);
    if (entry->key == 0) {
        *entry = (struct uspi_named_start){key, start, false};
        names->count++;
    } else if (entry->start != start) {
        entry->is_ambiguous = true;
    }
    return true;
}

bool uspi_by_name_find(const struct uspi_by_name *names, uint64_t key, usp_addr *start) {
    if (names->count == 0) return false;
    const struct uspi_named_start *entry = entry_of(names, key);
    *start = entry->start;
    return entry->key != 0 && !entry->is_ambiguous;
}

void uspi_by_name_clear(struct uspi_by_name *names) {
    free(names->all);
    memset(names, 0, sizeof *names);
}
