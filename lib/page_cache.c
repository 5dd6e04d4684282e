/* SPDX-License-Identifier: MIT */
/* See page_cache.h. */
#include "lib/page_cache.h"

#include <stdlib.h>
#include <string.h>

/* Places where a page may lie. */
#define WAYS       4u
#define UNREADABLE 1u

void uspi_page_cache_init(struct uspi_page_cache *cache, struct usp_memory behind) {
    cache->behind = behind;
    cache->epoch = 1;
    cache->dropped = false;
    memset(cache->entries, 0, sizeof cache->entries);
}

struct uspi_page_cache *uspi_page_cache_before(struct usp_memory *memory) {
    struct uspi_page_cache *cache = malloc(sizeof *cache);
    if (cache == NULL) return NULL;
    uspi_page_cache_init(cache, *memory);
    *memory = (struct usp_memory){uspi_page_cache_read, cache};
    return cache;
}

void uspi_page_cache_begin(struct uspi_page_cache *cache) {
    cache->epoch++;
    cache->dropped = false;
}

static bool needs_confirmation(const struct uspi_page_cache *cache, unsigned entry) {
    return cache->entries[entry].used == cache->epoch && cache->entries[entry].filled != cache->epoch;
}

static unsigned first_way(usp_addr page) {
    usp_addr n = page / USPI_CACHE_PAGE;
    return (unsigned)((n ^ n >> 9) * WAYS % USPI_CACHE_PAGES);
}

/* The entry of a page: the one that has it, or the one of its places that was not used for longest. */
static unsigned find_entry(const struct uspi_page_cache *cache, usp_addr page) {
    unsigned first = first_way(page), oldest = first;
    for (unsigned i = first; i < first + WAYS; i++) {
        if ((cache->entries[i].page & ~(usp_addr)UNREADABLE) == page) return i;
        if (cache->entries[i].used < cache->entries[oldest].used) oldest = i;
    }
    return oldest;
}

/* What cannot be read is not kept from one epoch to the next: it can become readable, and nothing would confirm it. Within
 * one it stays so: text that is loaded there meanwhile is not what the stack stands on. */
static bool is_current(const struct uspi_page_cache *cache, unsigned entry, usp_addr page) {
    usp_addr have = cache->entries[entry].page;
    return have == page || (have == (page | UNREADABLE) && cache->entries[entry].filled == cache->epoch);
}

static bool read_in_page(struct uspi_page_cache *cache, usp_addr from, uint8_t *to, size_t n) {
    usp_addr page = from & ~(usp_addr)(USPI_CACHE_PAGE - 1);
    /* Address 0 stands for an empty entry. */
    if (page == 0) return cache->behind.read(cache->behind.context, from, to, n) == 0;
    unsigned i = find_entry(cache, page);
    if (!is_current(cache, i, page)) {
        cache->dropped |= needs_confirmation(cache, i);
        int e = cache->behind.read(cache->behind.context, page, cache->bytes[i], USPI_CACHE_PAGE);
        cache->entries[i].page = e == 0 ? page : page | UNREADABLE;
        cache->entries[i].filled = cache->epoch;
    }
    cache->entries[i].used = cache->epoch;
    if ((cache->entries[i].page & UNREADABLE) != 0) return false;
    memcpy(to, &cache->bytes[i][from - page], n);
    return true;
}

int uspi_page_cache_read(void *context, usp_addr from, void *to, size_t n) {
    struct uspi_page_cache *cache = context;
    uint8_t *at = to;
    while (n > 0) {
        size_t to_page_end = (size_t)(USPI_CACHE_PAGE - (from & (USPI_CACHE_PAGE - 1)));
        size_t piece = n < to_page_end ? n : to_page_end;
        if (!read_in_page(cache, from, at, piece)) return USP_ERROR_UNREADABLE;
        from += piece;
        at += piece;
        n -= piece;
    }
    return USP_OK;
}

int uspi_page_cache_confirm(struct uspi_page_cache *cache,
                            int (*read_pieces)(const usp_addr *from, size_t count, void *to, size_t size)) {
    usp_addr pages[USPI_CACHE_PAGES];
    unsigned entries[USPI_CACHE_PAGES];
    size_t n = 0;
    for (unsigned i = 0; i < USPI_CACHE_PAGES; i++) {
        if (!needs_confirmation(cache, i)) continue;
        pages[n] = cache->entries[i].page;
        entries[n++] = i;
    }
    bool same = !cache->dropped && (n == 0 || read_pieces(pages, n, cache->again, USPI_CACHE_PAGE) == USP_OK);
    for (size_t i = 0; i < n && same; i++) {
        same = memcmp(cache->again[i], cache->bytes[entries[i]], USPI_CACHE_PAGE) == 0;
    }
    if (same) return USP_OK;
    memset(cache->entries, 0, sizeof cache->entries);
    return USP_ERROR_BUSY;
}
