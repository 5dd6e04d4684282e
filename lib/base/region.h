/* SPDX-License-Identifier: MIT */
/* A region: memory that is taken in pieces and given back as a whole. A limit bounds what one use of it may take. */
#ifndef USPI_BASE_REGION_H
#define USPI_BASE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uspi_region_block;

struct uspi_region {
    struct uspi_region_block *first, *current; /* blocks are kept for the next use, up to 1 MB */
    size_t held;                               /* size of all blocks in bytes */
    char *next;                                /* the next free bytes of the current block */
    size_t capacity;                           /* how many bytes are free there */
    size_t left;                               /* how many bytes may still be taken */
    bool is_exhausted;                         /* memory was refused since it began */
};

/* The alignment of all memory that is taken. */
union uspi_region_unit {
    uint64_t number;
    void *pointer;
};

/* Takes all memory back. Up to `limit` bytes can be taken from now on. */
void uspi_region_begin(struct uspi_region *region, size_t limit);

/* Does what uspi_region_take does when the current block has no room or the limit is reached. */
void *uspi_region_take_more(struct uspi_region *region, size_t size);

/* Returns uninitialised memory for any type. NULL when the limit is reached or memory lacks. */
static inline void *uspi_region_take(struct uspi_region *region, size_t size) {
    const size_t unit = sizeof(union uspi_region_unit), rounded = (size + unit - 1) / unit * unit;
    if (rounded < size || rounded > region->capacity || rounded > region->left)
        return uspi_region_take_more(region, size);
    char *taken = region->next;
    region->next += rounded;
    region->capacity -= rounded;
    region->left -= rounded;
    return taken;
}

/* Frees the blocks. */
void uspi_region_free(struct uspi_region *region);

/* A growing array of pointers in such memory. */
struct uspi_region_array {
    void **items;
    size_t count, capacity;
};

/* Does what uspi_region_append does when the array is full. */
bool uspi_region_append_more(struct uspi_region *region, struct uspi_region_array *array, void *item);

/* Appends an item. Returns false when memory lacks. */
static inline bool uspi_region_append(struct uspi_region *region, struct uspi_region_array *array, void *item) {
    if (array->count == array->capacity) return uspi_region_append_more(region, array, item);
    array->items[array->count++] = item;
    return true;
}

#endif
