/* SPDX-License-Identifier: MIT */
/* A cache with a limit in bytes for the indexes of a symbolizer. Lookups use a cached object without a lock. When all
 * objects together exceed the limit, the least recently used ones are evicted. The cache knows neither what the objects
 * are nor how they are made. */
#ifndef USPI_SYMBOLIZE_CACHE_CACHE_H
#define USPI_SYMBOLIZE_CACHE_CACHE_H

#include "lib/base/epoch.h"
#include "lib/os/os.h"

#include <stdbool.h>
#include <stddef.h>

/* A cached object has it as its first member. */
struct uspi_cached {
    struct uspi_retired retired;
    void (*destroy)(struct uspi_cached *cached);
    size_t memory;  /* bytes that destroying it frees */
    size_t symbols; /* how many symbols it names, for statistics; 0: it is not counted as an index */
    bool is_part;   /* part of a larger object: its memory counts, but not as an index of its own */
};

/* The place of one cached object. All zero means empty. It must live as long as the cache. */
struct uspi_cache_slot {
    _Atomic(struct uspi_cached *) held;
    _Atomic(uint32_t) used; /* the cache's clock at the last lookup */
    bool is_listed;
    struct uspi_cache_slot *next;
};

struct uspi_cache {
    struct uspi_epoch readers; /* a thread enters here before it uses a cached object */
    struct uspi_lock *lock;    /* guards the members below and the retiring of objects */
    struct uspi_cache_slot *slots;
    size_t limit;            /* in bytes; 0: no limit */
    _Atomic(uint32_t) clock; /* counts insertions. Repeated lookups between two of them write nothing */
    size_t memory, symbols, count;
    uint64_t made, evicted;
};

/* Returns false when memory is short. */
bool uspi_cache_init(struct uspi_cache *cache, size_t limit);

/* Frees all objects, retired ones too. No thread may have entered. The cache stays usable. */
void uspi_cache_empty(struct uspi_cache *cache);

/* Frees the cache's own memory, after uspi_cache_empty. */
void uspi_cache_clear(struct uspi_cache *cache);

/* Returns the slot's object, or NULL. The object stays valid until the caller leaves the epoch. */
struct uspi_cached *uspi_cache_get(struct uspi_cache *cache, struct uspi_cache_slot *slot);

/* Puts an object into a slot; the cache owns it from now on. It stays valid until the caller leaves, whatever the
 * limit is. An object that it replaces (an excerpt of the same index) stays valid for threads that have entered. Other
 * objects are evicted until the rest fit into the limit. Takes the lock. */
void uspi_cache_put(struct uspi_cache *cache, struct uspi_cache_slot *slot, struct uspi_cached *cached);

#endif
