/* SPDX-License-Identifier: MIT */
/* See page_cache.h. */
#include "lib/base/page_cache.h"

#include <stdlib.h>
#include <string.h>

/* How many places a page may have in the cache. */
#define WAYS       4u
#define HEAP_PAGES 128u

/* A cache and its pages, which follow in the same block. */
struct heap_pages {
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[HEAP_PAGES];
    uint8_t bytes[]; /* contents of the pages, and with confirmation a second buffer of that size */
};

static void forget_unreadable(struct uspi_page_cache *cache) {
    memset(cache->unreadable, 0, sizeof cache->unreadable);
    cache->next_unreadable = 0;
}

void uspi_page_cache_init(struct uspi_page_cache *cache, struct usp_memory behind) {
    cache->behind = behind;
    cache->clock = cache->epoch = 1;
    cache->dropped = false;
    cache->last = 0;
    memset(cache->pages, 0, cache->page_count * sizeof *cache->pages);
    forget_unreadable(cache);
}

void uspi_page_cache_in(struct uspi_page_cache *cache, uint32_t page_size, uint32_t page_count,
                        struct uspi_cached_page *pages, uint8_t *bytes, struct usp_memory behind) {
    cache->page_size = page_size;
    cache->page_count = page_count;
    cache->pages = pages;
    cache->bytes = bytes;
    cache->again = NULL;
    uspi_page_cache_init(cache, behind);
}

#define HEAP_BYTES ((size_t)HEAP_PAGES * USPI_LEAST_PAGE)

static struct uspi_page_cache *create(struct usp_memory behind, bool is_confirmed) {
    struct heap_pages *heap = malloc(sizeof *heap + HEAP_BYTES * (is_confirmed ? 2 : 1));
    if (heap == NULL) return NULL;
    struct uspi_page_cache *cache = &heap->cache;
    uspi_page_cache_in(cache, USPI_LEAST_PAGE, HEAP_PAGES, heap->pages, heap->bytes, behind);
    if (is_confirmed) cache->again = heap->bytes + HEAP_BYTES;
    return cache;
}

struct uspi_page_cache *uspi_page_cache_create(struct usp_memory behind) { return create(behind, true); }

size_t uspi_page_cache_created_size(void) { return sizeof(struct heap_pages) + 2 * HEAP_BYTES; }

struct uspi_page_cache *uspi_page_cache_before(struct usp_memory *memory) {
    struct uspi_page_cache *cache = create(*memory, false);
    if (cache != NULL) *memory = (struct usp_memory){uspi_page_cache_read, cache};
    return cache;
}

void uspi_walk_pages_init(struct uspi_walk_pages *pages, struct usp_memory behind) {
    uspi_page_cache_in(&pages->cache, USPI_WALK_PAGE_SIZE, USPI_WALK_PAGES, pages->pages, pages->bytes, behind);
}

struct usp_memory uspi_header_pages_init(struct uspi_header_pages *pages, struct usp_memory behind) {
    uspi_page_cache_in(&pages->cache, USPI_HEADER_PAGE_SIZE, USPI_HEADER_PAGES, pages->pages, pages->bytes, behind);
    return (struct usp_memory){uspi_page_cache_read, &pages->cache};
}

void uspi_page_cache_begin(struct uspi_page_cache *cache) {
    cache->epoch = ++cache->clock;
    cache->dropped = false;
    forget_unreadable(cache);
}

static bool needs_confirmation(const struct uspi_page_cache *cache, uint32_t i) {
    return cache->pages[i].used >= cache->epoch && cache->pages[i].filled < cache->epoch;
}

/* Returns the place of a page: the one that has it, or the least recently used one of its places. */
static uint32_t find_place(const struct uspi_page_cache *cache, usp_addr page) {
    usp_addr n = page / cache->page_size;
    uint32_t ways = cache->page_count < WAYS ? cache->page_count : WAYS;
    uint32_t first = (uint32_t)((n ^ n >> 9) * ways % cache->page_count), oldest = first;
    for (uint32_t i = first; i < first + ways; i++) {
        if (cache->pages[i].page == page) return i;
        if (cache->pages[i].used < cache->pages[oldest].used) oldest = i;
    }
    return oldest;
}

/* Returns whether a page is known to be unreadable. This is forgotten with each epoch: the page can become readable,
 * and confirming does not notice that. Within an epoch it stays unreadable, since the stack does not run through text
 * that is loaded there meanwhile. */
static bool is_unreadable(const struct uspi_page_cache *cache, usp_addr address) {
    usp_addr wanted = (address & ~(usp_addr)(USPI_LEAST_PAGE - 1)) | 1;
    for (uint32_t i = 0; i < USPI_UNREADABLE_PAGES && cache->unreadable[i] != 0; i++) {
        if (cache->unreadable[i] == wanted) return true;
    }
    return false;
}

/* Remembers an unreadable page. Also forgets its pieces that were read before: the page is unmapped, and results must
 * not depend on which pieces were read. */
static void remember_unreadable(struct uspi_page_cache *cache, usp_addr address) {
    usp_addr page = address & ~(usp_addr)(USPI_LEAST_PAGE - 1);
    cache->unreadable[cache->next_unreadable++ % USPI_UNREADABLE_PAGES] = page | 1;
    for (uint32_t i = 0; cache->page_size < USPI_LEAST_PAGE && i < cache->page_count; i++) {
        if (cache->pages[i].page - page < USPI_LEAST_PAGE) cache->pages[i].page = 0;
    }
}

/* Reads from the memory behind the cache, and remembers unreadable pages. */
static bool read_behind(struct uspi_page_cache *cache, usp_addr from, void *to, size_t n) {
    if (is_unreadable(cache, from)) return false;
    if (cache->behind.read(cache->behind.context, from, to, n) == USP_OK) return true;
    remember_unreadable(cache, from);
    return false;
}

/* Reads within one page. */
static bool read_in_page(struct uspi_page_cache *cache, usp_addr from, uint8_t *to, size_t n) {
    usp_addr page = from & ~(usp_addr)(cache->page_size - 1);
    /* Address 0 marks an empty place, so page 0 is not cached. */
    if (page == 0) return read_behind(cache, from, to, n);
    uint32_t i = find_place(cache, page);
    uint8_t *bytes = cache->bytes + (size_t)i * cache->page_size;
    cache->clock++;
    if (cache->pages[i].page != page) {
        cache->dropped |= needs_confirmation(cache, i);
        cache->pages[i] = (struct uspi_cached_page){.filled = cache->clock};
        if (!read_behind(cache, page, bytes, cache->page_size)) return false;
        cache->pages[i].page = page;
    }
    cache->pages[i].used = cache->clock;
    cache->last = i;
    memcpy(to, bytes + (size_t)(from - page), n);
    return true;
}

int uspi_page_cache_read(void *context, usp_addr from, void *to, size_t n) {
    struct uspi_page_cache *cache = context;
    uint8_t *at = to;
    /* Tables are read byte by byte. */
    struct uspi_cached_page *last = &cache->pages[cache->last];
    const usp_addr offset = from - last->page;
    if (last->page != 0 && offset < cache->page_size && n <= cache->page_size - offset) {
        last->used = ++cache->clock;
        memcpy(to, cache->bytes + (size_t)cache->last * cache->page_size + (size_t)offset, n);
        return USP_OK;
    }
    while (n > 0) {
        size_t to_page_end = (size_t)(cache->page_size - (from & (cache->page_size - 1)));
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
    usp_addr addresses[HEAP_PAGES];
    uint32_t places[HEAP_PAGES];
    size_t n = 0, size = cache->page_size;
    for (uint32_t i = 0; i < cache->page_count; i++) {
        if (!needs_confirmation(cache, i)) continue;
        addresses[n] = cache->pages[i].page;
        places[n++] = i;
    }
    bool same = !cache->dropped && (n == 0 || read_pieces(addresses, n, cache->again, size) == USP_OK);
    for (size_t i = 0; i < n && same; i++) {
        same = memcmp(cache->again + i * size, cache->bytes + places[i] * size, size) == 0;
    }
    if (same) return USP_OK;
    memset(cache->pages, 0, cache->page_count * sizeof *cache->pages);
    return USP_ERROR_BUSY;
}
