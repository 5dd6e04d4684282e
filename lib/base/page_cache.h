/* SPDX-License-Identifier: MIT */
/* A cache of memory that is read through system calls: copies of the pages that were read, and which pages cannot be
 * read. Walking stacks reads the same few pages again and again, and also tries unreadable addresses repeatedly, from
 * leftover values that look like pointers. Use it only for readers whose calls are expensive; the walker does not
 * depend on it. */
#ifndef USPI_BASE_PAGE_CACHE_H
#define USPI_BASE_PAGE_CACHE_H

#include "arch/backend.h"

/* A cached page. Its size is a power of two, and no larger than the pages of any system. */
struct uspi_cached_page {
    usp_addr page;         /* address of the page; 0: empty */
    uint64_t filled, used; /* times of reading and last use, by the cache's clock */
};

/* How many unreadable pages are remembered. */
#define USPI_UNREADABLE_PAGES 8u

struct uspi_page_cache {
    struct usp_memory behind; /* the memory from which pages are read */
    uint64_t clock;           /* counts reads */
    uint64_t epoch;           /* value of `clock` at the last uspi_page_cache_begin */
    bool dropped;             /* a page that needs confirmation was replaced by another one */
    uint32_t page_size, page_count;
    uint32_t last; /* the page that was read last */
    struct uspi_cached_page *pages;
    uint8_t *bytes; /* contents of all pages */
    uint8_t *again; /* a second buffer of this size for uspi_page_cache_confirm; NULL: the cache cannot be confirmed */
    /* Unreadable pages of this epoch: address of the system page | 1; 0: none. */
    usp_addr unreadable[USPI_UNREADABLE_PAGES];
    uint32_t next_unreadable;
};

/* ---- on the heap: half a megabyte of pages; stacks of a few hundred frames touch fewer ---- */

/* Makes *memory read through a new cache, which the caller frees with free(). When memory lacks, returns NULL and
 * leaves *memory as it was: each read costs a call then. */
struct uspi_page_cache *uspi_page_cache_before(struct usp_memory *memory);

/* Creates a cache whose pages can be confirmed; it takes twice the memory. The caller frees it with free(). NULL when
 * memory lacks. */
struct uspi_page_cache *uspi_page_cache_create(struct usp_memory behind);

/* Returns how many bytes uspi_page_cache_create allocates. */
size_t uspi_page_cache_created_size(void);

/* ---- in the caller's memory ---- */

/* Makes a cache of page_count pages, a multiple of 4, in the caller's memory: `bytes` has room for all of them. The page
 * size is a power of two, at most USPI_LEAST_PAGE. Async-signal-safe. */
void uspi_page_cache_in(struct uspi_page_cache *cache, uint32_t page_size, uint32_t page_count,
                        struct uspi_cached_page *pages, uint8_t *bytes, struct usp_memory behind);

/* Empties the cache. */
void uspi_page_cache_init(struct uspi_page_cache *cache, struct usp_memory behind);

/* ---- on the stack, for one walk ---- */

#define USPI_WALK_PAGES     3u
#define USPI_WALK_PAGE_SIZE 128u

/* A cache of small pieces of pages, because signal handlers have small stacks: a function's unwind table entry, its
 * code, the code around a return address. */
struct uspi_walk_pages {
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[USPI_WALK_PAGES];
    uint8_t bytes[USPI_WALK_PAGES * USPI_WALK_PAGE_SIZE];
};

/* Async-signal-safe. */
void uspi_walk_pages_init(struct uspi_walk_pages *pages, struct usp_memory behind);

/* ---- on the stack or in another struct, for the headers of one image after the other ---- */

#define USPI_HEADER_PAGES     2u
#define USPI_HEADER_PAGE_SIZE 1024u

/* A cache of pieces in which most images' headers fit: one read for each image, into memory that is used again. */
struct uspi_header_pages {
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[USPI_HEADER_PAGES];
    uint8_t bytes[USPI_HEADER_PAGES * USPI_HEADER_PAGE_SIZE];
};

/* Returns `behind`, read through the cache. *pages must stay where it is. */
struct usp_memory uspi_header_pages_init(struct uspi_header_pages *pages, struct usp_memory behind);

/* ---- all caches ---- */

/* A usp_memory.read function; context is the cache. Only one thread may use a cache at a time. Async-signal-safe if
 * `behind.read` is. The process can read a page as a whole or not at all. So after one failure no byte of the page is
 * read until the next uspi_page_cache_begin. */
int uspi_page_cache_read(void *context, usp_addr from, void *to, size_t n);

/* uspi_page_cache_begin begins an epoch. Libraries of this process can be unloaded and others loaded at the same
 * addresses. uspi_page_cache_confirm reads all pages again, in one call, that were used in this epoch but read before
 * it. Returns USP_OK when all are unchanged; otherwise empties the cache and returns USP_ERROR_BUSY: the caller repeats
 * its work. */
void uspi_page_cache_begin(struct uspi_page_cache *cache);
int uspi_page_cache_confirm(struct uspi_page_cache *cache,
                            int (*read_pieces)(const usp_addr *from, size_t count, void *to, size_t size));

#endif
