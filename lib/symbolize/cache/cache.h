/* SPDX-License-Identifier: MIT */
/* The memory that the indexes of a symbolizer hold: what is found in the cache is used without a lock, what has been used
 * least recently goes when all together hold more than the limit. What is cached, and how it is made again, the cache
 * does not know. */
#ifndef USPI_CACHE_H
#define USPI_CACHE_H

#include "lib/base/epoch.h"
#include "lib/os/os.h"

#include <stdbool.h>
#include <stddef.h>

/* Embedded at the beginning of what is cached. */
struct uspi_cached {
    struct uspi_retired retired;
    void (*destroy)(struct uspi_cached *cached);
    size_t memory;  /* bytes that go with it */
    size_t symbols; /* what it names, for statistics */
    bool is_part;   /* of something larger: no index that counts as one, but its memory does */
};

/* Where something is cached. All zero is an empty one; it must live as long as the cache, or until it is forgotten. */
struct uspi_cache_slot {
    _Atomic(struct uspi_cached *) held;
    _Atomic(uint32_t) used; /* the cache's clock when it was looked at last */
    bool is_listed;
    struct uspi_cache_slot *next;
};

struct uspi_cache {
    struct uspi_epoch readers; /* threads that use what is cached have signed in here */
    struct uspi_lock *lock;    /* for all below, and for retiring something in `readers` */
    struct uspi_cache_slot *slots;
    size_t limit;            /* bytes; 0: none */
    _Atomic(uint32_t) clock; /* counts what was put in, so that looking at something writes nothing in between */
    size_t memory, symbols, count;
    uint64_t made, evicted;
};

/* False when memory lacks. */
bool uspi_cache_init(struct uspi_cache *cache, size_t limit);

/* Frees what is held and retired. No thread may be signed in. The cache stays usable. */
void uspi_cache_empty(struct uspi_cache *cache);

/* Frees the rest, after uspi_cache_empty. */
void uspi_cache_clear(struct uspi_cache *cache);

/* What a slot holds, NULL when nothing or no more; it stays until the caller signs out. */
struct uspi_cached *uspi_cache_get(struct uspi_cache *cache, struct uspi_cache_slot *slot);

/* Puts something into a slot; it is the cache's then, and stays usable until the caller signs out, whatever the limit says.
 * What the slot has held, which it replaces as the same index in another size, stays as long for threads that have it. Others
 * are evicted until all fit again. Takes the lock. */
void uspi_cache_put(struct uspi_cache *cache, struct uspi_cache_slot *slot, struct uspi_cached *cached);

#endif
