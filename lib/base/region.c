/* SPDX-License-Identifier: MIT */
/* See region.h. */
#include "lib/base/region.h"

#include <stdlib.h>
#include <string.h>

/* Size of a block in bytes. */
#define BLOCK_SIZE 16384u

/* How many bytes are kept for the next use. Without a limit, uses with large pieces of different sizes would
 * add a block each. */
#define KEPT_MAX (UINT64_C(1) << 20)

struct uspi_region_block {
    struct uspi_region_block *next;
    size_t size;
    union uspi_region_unit bytes[];
};

static void begin_block(struct uspi_region *region, struct uspi_region_block *block) {
    region->current = block;
    region->next = block != NULL ? (char *)block->bytes : NULL;
    region->capacity = block != NULL ? block->size : 0;
}

void uspi_region_begin(struct uspi_region *region, size_t limit) {
    if (region->held > KEPT_MAX) uspi_region_free(region);
    begin_block(region, region->first);
    region->left = limit;
    region->is_exhausted = false;
}

/* Makes the next block the current one, or inserts a new block with room for `size` bytes before it. */
void *uspi_region_take_more(struct uspi_region *region, size_t size) {
    struct uspi_region_block **place = region->current != NULL ? &region->current->next : &region->first;
    const size_t slack = sizeof(union uspi_region_unit);
    if (region->left < slack || size > region->left - slack) {
        region->is_exhausted = true;
        return NULL;
    }
    if (*place == NULL || (*place)->size < size + slack) {
        size_t capacity = size + slack > BLOCK_SIZE ? size + slack : BLOCK_SIZE;
        struct uspi_region_block *block = malloc(sizeof *block + capacity);
        if (block == NULL) {
            region->is_exhausted = true;
            return NULL;
        }
        *block = (struct uspi_region_block){.next = *place, .size = capacity};
        *place = block;
        region->held += capacity;
    }
    begin_block(region, *place);
    return uspi_region_take(region, size);
}

void uspi_region_free(struct uspi_region *region) {
    for (struct uspi_region_block *block = region->first; block != NULL;) {
        struct uspi_region_block *next = block->next;
        free(block);
        block = next;
    }
    *region = (struct uspi_region){0};
}

bool uspi_region_append_more(struct uspi_region *region, struct uspi_region_array *array, void *item) {
    size_t capacity = array->capacity == 0 ? 32 : array->capacity * 2;
    void **items = uspi_region_take(region, capacity * sizeof *items);
    if (items == NULL) return false;
    if (array->count > 0) memcpy(items, array->items, array->count * sizeof *items);
    array->items = items;
    array->capacity = capacity;
    array->items[array->count++] = item;
    return true;
}
