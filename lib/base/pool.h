/* SPDX-License-Identifier: MIT */
/* A pool of items of equal size in bounded memory. Items have a number and are found by a hash. The pool's owner
 * interprets them. */
#ifndef USPI_BASE_POOL_H
#define USPI_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USPI_NONE UINT32_MAX

/* Every item begins with this. */
struct uspi_item {
    uint32_t next; /* next item in its bucket or in the free list; USPI_NONE: the last */
    uint32_t hash;
};

/* A limit in bytes that several pools share. */
struct uspi_allowance {
    uint64_t used, limit;
};

struct uspi_pool {
    uint8_t *items;
    size_t size;       /* size of an item in bytes */
    uint32_t capacity; /* number of items for which there is memory */
    uint32_t begun;    /* number of items that were in use since the last clear; later ones are unused */
    uint32_t count;    /* number of items in use */
    uint32_t free;     /* first item of the free list */
    uint32_t *buckets; /* `bucket_mask` + 1 buckets, a power of two */
    uint32_t bucket_mask;
    bool is_fixed; /* the pool never grows */
    struct uspi_allowance *allowance;
};

/* Makes an empty pool.
 *   size      size of an item in bytes
 *   capacity  number of items for which memory is allocated now; without is_fixed, the pool grows as far as the
 *             allowance permits
 * False when memory lacks or the allowance does not suffice. */
bool uspi_pool_init(struct uspi_pool *pool, size_t size, uint32_t capacity, bool is_fixed,
                    struct uspi_allowance *allowance);

/* Frees the items; allowance->used is not reduced. An all-zero pool is ignored. */
void uspi_pool_free(struct uspi_pool *pool);

/* Returns how many bytes a fixed pool with room for `capacity` items takes. */
uint64_t uspi_pool_bytes(size_t size, uint32_t capacity);

static inline void *uspi_pool_at(const struct uspi_pool *pool, uint32_t i) { return pool->items + i * pool->size; }

/* Returns the number of the item with this hash for which `same` is true; USPI_NONE if there is none. */
uint32_t uspi_pool_find(const struct uspi_pool *pool, uint32_t hash, bool (*same)(const void *item, const void *key),
                        const void *key);

/* Adds an item with a hash, all zero after its struct uspi_item, and returns its number. All items may move in memory.
 * USPI_NONE when there is no room. */
uint32_t uspi_pool_add(struct uspi_pool *pool, uint32_t hash);

/* Removes item i. */
void uspi_pool_remove(struct uspi_pool *pool, uint32_t i);

/* Removes all items. */
void uspi_pool_clear(struct uspi_pool *pool);

/* Copies the items only: no item can be found in the clone or added to it. False when memory lacks. */
bool uspi_pool_clone(const struct uspi_pool *pool, struct uspi_pool *clone);

#endif
