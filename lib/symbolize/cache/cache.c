/* SPDX-License-Identifier: MIT */
/* See cache.h. */
#include "lib/symbolize/cache/cache.h"

bool uspi_cache_init(struct uspi_cache *cache, size_t limit) {
    cache->limit = limit;
    cache->lock = uspi_lock_create();
    return cache->lock != NULL;
}

static void destroy_retired(struct uspi_retired *retired) {
    struct uspi_cached *cached = (struct uspi_cached *)retired;
    cached->destroy(cached);
}

/* An object without symbols only records that an image has none; it is not counted as an index. */
static bool is_index(const struct uspi_cached *cached) { return cached->symbols > 0; }

/* Replaces a slot's object; the replacement may be NULL. Returns the old object. */
static struct uspi_cached *exchange(struct uspi_cache *cache, struct uspi_cache_slot *slot,
                                    struct uspi_cached *replacement) {
    struct uspi_cached *cached = atomic_exchange_explicit(&slot->held, replacement, memory_order_seq_cst);
    if (cached == NULL) return NULL;
    cache->memory -= cached->memory;
    cache->symbols -= cached->symbols;
    cache->count -= is_index(cached);
    return cached;
}

void uspi_cache_empty(struct uspi_cache *cache) {
    while (cache->slots != NULL) {
        struct uspi_cache_slot *slot = cache->slots;
        struct uspi_cached *cached = exchange(cache, slot, NULL);
        cache->slots = slot->next;
        slot->is_listed = false;
        if (cached != NULL) cached->destroy(cached);
    }
    uspi_epoch_drain(&cache->readers);
}

void uspi_cache_clear(struct uspi_cache *cache) {
    uspi_lock_free(cache->lock);
    cache->lock = NULL;
}

struct uspi_cached *uspi_cache_get(struct uspi_cache *cache, struct uspi_cache_slot *slot) {
    struct uspi_cached *cached = atomic_load_explicit(&slot->held, memory_order_seq_cst);
    uint32_t now = atomic_load_explicit(&cache->clock, memory_order_relaxed);
    if (atomic_load_explicit(&slot->used, memory_order_relaxed) != now) {
        atomic_store_explicit(&slot->used, now, memory_order_relaxed);
    }
    return cached;
}

/* Returns the least recently used slot that holds an object, or NULL. `kept` is passed over. */
static struct uspi_cache_slot *least_recent(const struct uspi_cache *cache, const struct uspi_cache_slot *kept) {
    uint32_t now = atomic_load_explicit(&cache->clock, memory_order_relaxed), greatest = 0;
    struct uspi_cache_slot *oldest = NULL;
    for (struct uspi_cache_slot *slot = cache->slots; slot != NULL; slot = slot->next) {
        if (slot == kept || atomic_load_explicit(&slot->held, memory_order_relaxed) == NULL) continue;
        /* Unsigned arithmetic gives the right age also after the clock has wrapped around. */
        uint32_t age = now - atomic_load_explicit(&slot->used, memory_order_relaxed);
        if (oldest != NULL && age <= greatest) continue;
        oldest = slot;
        greatest = age;
    }
    return oldest;
}

static void evict_others(struct uspi_cache *cache, const struct uspi_cache_slot *kept) {
    while (cache->limit != 0 && cache->memory > cache->limit) {
        struct uspi_cache_slot *slot = least_recent(cache, kept);
        if (slot == NULL) return;
        struct uspi_cached *cached = exchange(cache, slot, NULL);
        cache->evicted += is_index(cached);
        uspi_epoch_retire(&cache->readers, &cached->retired, destroy_retired);
    }
}

void uspi_cache_put(struct uspi_cache *cache, struct uspi_cache_slot *slot, struct uspi_cached *cached) {
    uspi_lock_take(cache->lock);
    uint32_t now = atomic_fetch_add_explicit(&cache->clock, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&slot->used, now, memory_order_relaxed);
    if (!slot->is_listed) {
        slot->is_listed = true;
        slot->next = cache->slots;
        cache->slots = slot;
    }
    struct uspi_cached *replaced = exchange(cache, slot, cached);
    cache->memory += cached->memory;
    cache->symbols += cached->symbols;
    cache->count += is_index(cached);
    cache->made += is_index(cached) && (replaced == NULL || !is_index(replaced));
    if (replaced != NULL) uspi_epoch_retire(&cache->readers, &replaced->retired, destroy_retired);
    /* An object that is not an index evicts nothing: with a small limit it would evict the only index. */
    if (is_index(cached) || cached->is_part) evict_others(cache, slot);
    uspi_epoch_collect(&cache->readers);
    uspi_lock_give(cache->lock);
}
