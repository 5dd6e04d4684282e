/* SPDX-License-Identifier: MIT */
/* See context_table.h. */
#include "lib/base/context_table.h"

#include <stdlib.h>
#include <string.h>

bool uspi_context_table_reserve(struct uspi_context_table *table, size_t capacity) {
    size_t places = 2;
    uspi_context_table_free(table);
    if (capacity == 0 || capacity > UINT32_MAX / 4) return false;
    while (places < capacity * 2) places *= 2;
    table->contexts = malloc(capacity * sizeof *table->contexts);
    table->places = malloc(places * sizeof *table->places);
    if (table->contexts == NULL || table->places == NULL) {
        uspi_context_table_free(table);
        return false;
    }
    /* Write the memory now, so that no page fault occurs while threads are stopped. */
    memset(table->contexts, 0, capacity * sizeof *table->contexts);
    memset(table->places, 0, places * sizeof *table->places);
    table->capacity = capacity;
    table->place_mask = places - 1;
    return true;
}

/* Returns the place of an address, or the empty place where it belongs. There always is one, since at most half of the
 * places are used. */
static uint32_t *find_place(const struct uspi_context_table *table, usp_addr address) {
    size_t i = (size_t)(address / USPI_CONTEXT_SIZE * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->place_mask;
    while (table->places[i] != 0 && table->contexts[table->places[i] - 1].address != address) {
        i = (i + 1) & table->place_mask;
    }
    return &table->places[i];
}

bool uspi_context_table_add(struct uspi_context_table *table, usp_addr address) {
    if (table->count == table->capacity) return false;
    uint32_t *place = find_place(table, address);
    if (*place != 0) return false;
    table->contexts[table->count++].address = address;
    *place = (uint32_t)table->count;
    return true;
}

const struct uspi_context *uspi_context_table_find(const struct uspi_context_table *table, usp_addr address) {
    if (table->count == 0 || address == 0) return NULL;
    const uint32_t place = *find_place(table, address);
    return place != 0 ? &table->contexts[place - 1] : NULL;
}

bool uspi_context_table_read(const struct uspi_context_table *table, usp_addr from, void *to, size_t n) {
    const size_t offset = (size_t)(from & (USPI_CONTEXT_SIZE - 1));
    if (n > USPI_CONTEXT_SIZE - offset) return false;
    const struct uspi_context *context = uspi_context_table_find(table, from - offset);
    if (context == NULL) return false;
    memcpy(to, context->bytes + offset, n);
    return true;
}

void uspi_context_table_free(struct uspi_context_table *table) {
    free(table->contexts);
    free(table->places);
    memset(table, 0, sizeof *table);
}
