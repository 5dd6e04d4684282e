/* SPDX-License-Identifier: MIT */
/* See pool.h. */
#include "lib/base/pool.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of items; with more, USPI_NONE could be an item's number, and the number of buckets could
 * overflow. */
#define ITEMS_MAX (UINT32_C(1) << 30)

static struct uspi_item *item_at(const struct uspi_pool *pool, uint32_t i) {
    return (struct uspi_item *)uspi_pool_at(pool, i);
}

/* Returns the number of buckets: a power of two, so that a mask maps a hash to its bucket. */
static uint32_t buckets_for(uint32_t capacity) {
    uint32_t count = 16;
    while (count < capacity) count *= 2;
    return count;
}

uint64_t uspi_pool_bytes(size_t size, uint32_t capacity) {
    return (uint64_t)capacity * size + (uint64_t)buckets_for(capacity) * sizeof(uint32_t);
}

static bool is_allowed(const struct uspi_allowance *allowance, uint64_t bytes) {
    return allowance->used <= allowance->limit && bytes <= allowance->limit - allowance->used;
}

static void clear_buckets(struct uspi_pool *pool) {
    memset(pool->buckets, 0xff, ((size_t)pool->bucket_mask + 1) * sizeof *pool->buckets);
}

bool uspi_pool_init(struct uspi_pool *pool, size_t size, uint32_t capacity, bool is_fixed,
                    struct uspi_allowance *allowance) {
    *pool = (struct uspi_pool){.size = size, .free = USPI_NONE, .is_fixed = is_fixed, .allowance = allowance};
    uint64_t bytes = uspi_pool_bytes(size, capacity);
    if (capacity > ITEMS_MAX || bytes > SIZE_MAX || !is_allowed(allowance, bytes)) return false;
    pool->items = malloc((size_t)capacity * size);
    pool->buckets = malloc(buckets_for(capacity) * sizeof *pool->buckets);
    if (pool->items == NULL || pool->buckets == NULL) {
        uspi_pool_free(pool);
        return false;
    }
    pool->capacity = capacity;
    pool->bucket_mask = buckets_for(capacity) - 1;
    clear_buckets(pool);
    allowance->used += bytes;
    return true;
}

void uspi_pool_free(struct uspi_pool *pool) {
    free(pool->items);
    free(pool->buckets);
    memset(pool, 0, sizeof *pool);
}

uint32_t uspi_pool_find(const struct uspi_pool *pool, uint32_t hash, bool (*same)(const void *item, const void *key),
                        const void *key) {
    uint32_t i = pool->buckets[hash & pool->bucket_mask];
    for (; i != USPI_NONE; i = item_at(pool, i)->next) {
        if (item_at(pool, i)->hash == hash && same(item_at(pool, i), key)) return i;
    }
    return USPI_NONE;
}

static void link_item(struct uspi_pool *pool, uint32_t i) {
    struct uspi_item *item = item_at(pool, i);
    uint32_t *bucket = &pool->buckets[item->hash & pool->bucket_mask];
    item->next = *bucket;
    *bucket = i;
}

/* Doubles the room. All `begun` items must be in use, since all are linked into the new buckets. */
static bool grow(struct uspi_pool *pool) {
    uint32_t capacity = pool->capacity * 2;
    if (pool->is_fixed || capacity > ITEMS_MAX) return false;
    uint64_t bytes = uspi_pool_bytes(pool->size, capacity), before = uspi_pool_bytes(pool->size, pool->capacity);
    if (bytes > SIZE_MAX || !is_allowed(pool->allowance, bytes - before)) return false;
    uint32_t *buckets = malloc(buckets_for(capacity) * sizeof *buckets);
    uint8_t *items = buckets != NULL ? realloc(pool->items, (size_t)capacity * pool->size) : NULL;
    if (items == NULL) {
        free(buckets);
        return false;
    }
    free(pool->buckets);
    pool->items = items;
    pool->buckets = buckets;
    pool->capacity = capacity;
    pool->bucket_mask = buckets_for(capacity) - 1;
    pool->allowance->used += bytes - before;
    clear_buckets(pool);
    for (uint32_t i = 0; i < pool->begun; i++) link_item(pool, i);
    return true;
}

uint32_t uspi_pool_add(struct uspi_pool *pool, uint32_t hash) {
    uint32_t i = pool->free;
    if (i != USPI_NONE) {
        pool->free = item_at(pool, i)->next;
    } else {
        if (pool->begun == pool->capacity && !grow(pool)) return USPI_NONE;
        i = pool->begun++;
    }
    pool->count++;
    memset(item_at(pool, i), 0, pool->size);
    item_at(pool, i)->hash = hash;
    link_item(pool, i);
    return i;
}

void uspi_pool_remove(struct uspi_pool *pool, uint32_t i) {
    struct uspi_item *item = item_at(pool, i);
    uint32_t *link = &pool->buckets[item->hash & pool->bucket_mask];
    while (*link != i) link = &item_at(pool, *link)->next;
    *link = item->next;
    item->next = pool->free;
    pool->free = i;
    pool->count--;
}

void uspi_pool_clear(struct uspi_pool *pool) {
    pool->begun = pool->count = 0;
    pool->free = USPI_NONE;
    clear_buckets(pool);
}

bool uspi_pool_clone(const struct uspi_pool *pool, struct uspi_pool *clone) {
    uint8_t *items = malloc((size_t)pool->begun * pool->size + 1);
    memset(clone, 0, sizeof *clone);
    if (items == NULL) return false;
    memcpy(items, pool->items, (size_t)pool->begun * pool->size);
    *clone = (struct uspi_pool){.items = items,
                                .size = pool->size,
                                .capacity = pool->begun,
                                .begun = pool->begun,
                                .count = pool->count,
                                .free = pool->free,
                                .is_fixed = true};
    return true;
}
