/* SPDX-License-Identifier: MIT */
/* Items of one size that are known by their number and found by a hash, in memory that is bounded. What the items
 * mean is their owners'. */
#ifndef USPI_POOL_H
#define USPI_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USPI_NONE UINT32_MAX

/* Every item begins with this. */
struct uspi_item {
    uint32_t next; /* in its bucket, or of the free ones; USPI_NONE: the last */
    uint32_t hash;
};

/* Bytes that several pools share. */
struct uspi_allowance {
    uint64_t used, limit;
};

struct uspi_pool {
    uint8_t *items;
    size_t size;       /* of one item in bytes */
    uint32_t room;     /* there is memory for so many items, */
    uint32_t begun;    /* of which so many have been in use at some time: the others behind them were never written */
    uint32_t count;    /* that are in use */
    uint32_t free;     /* the first of those that are free again */
    uint32_t *buckets; /* as many as `bucket_mask` + 1, a power of two */
    uint32_t bucket_mask;
    bool is_fixed; /* it never grows */
    struct uspi_allowance *allowance;
};

/* Makes an empty pool.
 *   size   of an item in bytes
 *   room   for how many items there is memory at once; with is_fixed the pool never grows, otherwise as far as the allowance
 *          goes
 * False when memory lacks or the allowance does not suffice. */
bool uspi_pool_init(struct uspi_pool *pool, size_t size, uint32_t room, bool is_fixed,
                    struct uspi_allowance *allowance);

/* Frees the items; the allowance is not given back. An all-zero pool is ignored. */
void uspi_pool_free(struct uspi_pool *pool);

/* Bytes that so many items take in a fixed pool. */
uint64_t uspi_pool_bytes(size_t size, uint32_t room);

static inline void *uspi_pool_at(const struct uspi_pool *pool, uint32_t i) { return pool->items + i * pool->size; }

/* The number of the item with this hash for which `same` is true, USPI_NONE if there is none. */
uint32_t uspi_pool_find(const struct uspi_pool *pool, uint32_t hash, bool (*same)(const void *item, const void *key),
                        const void *key);

/* A new item under a hash, all zero behind its struct uspi_item. Items may move in memory. USPI_NONE when there is no room. */
uint32_t uspi_pool_add(struct uspi_pool *pool, uint32_t hash);

/* Item i is in use no longer. */
void uspi_pool_remove(struct uspi_pool *pool, uint32_t i);

/* Nothing is in use any more. */
void uspi_pool_clear(struct uspi_pool *pool);

/* A copy of the items alone: nothing can be found in it or added. False when memory lacks. */
bool uspi_pool_clone(const struct uspi_pool *pool, struct uspi_pool *clone);

#endif
