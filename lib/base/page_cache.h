/* SPDX-License-Identifier: MIT */
/* What is known of memory that is read with a check: copies of the pages that were read, and which pages cannot be read.
 * Walking reads the same few pages over and over, and each read is a system call; a leftover value that looks like a pointer
 * is tried again and again. Only in front of readers whose calls cost something; the walker does not know of it. */
#ifndef USPI_PAGE_CACHE_H
#define USPI_PAGE_CACHE_H

#include "arch/backend.h"

/* A page that is kept: a power of two in size, and no larger than the pages of any system. */
struct uspi_cached_page {
    usp_addr page;         /* its address; 0: empty */
    uint64_t filled, used; /* when, by the cache's clock */
};

/* Pages that cannot be read, as many as are remembered. */
#define USPI_UNREADABLE_PAGES 8u

struct uspi_page_cache {
    struct usp_memory behind; /* where pages come from */
    uint64_t clock;           /* counts reads */
    uint64_t epoch;           /* when uspi_page_cache_begin was called last */
    bool dropped;             /* a page that would have to be confirmed had to make room for another one */
    uint32_t page_size, page_count;
    struct uspi_cached_page *pages;
    uint8_t *bytes; /* of all pages, one behind the other */
    uint8_t *again; /* room for the same, for uspi_page_cache_confirm; NULL: nothing is confirmed */
    usp_addr unreadable[USPI_UNREADABLE_PAGES]; /* in this epoch: addresses of system pages | 1; 0: none */
    uint32_t next_unreadable;
};

/* ---- on the heap: half a megabyte of pages; stacks of a few hundred frames touch fewer ---- */

/* Puts a new cache in front of *memory; it is to be freed with free(). Where memory lacks, NULL is returned, *memory stays as
 * it was, and each read costs a call. */
struct uspi_page_cache *uspi_page_cache_before(struct usp_memory *memory);

/* Creates a cache whose pages can be confirmed; it takes twice the room. To be freed with free(); NULL when memory lacks. */
struct uspi_page_cache *uspi_page_cache_create(struct usp_memory behind);

/* The bytes that uspi_page_cache_create allocates. */
size_t uspi_page_cache_created_size(void);

/* Empties the cache. */
void uspi_page_cache_init(struct uspi_page_cache *cache, struct usp_memory behind);

/* ---- on the stack, for one walk ---- */

#define USPI_WALK_PAGES     3u
#define USPI_WALK_PAGE_SIZE 128u

/* Pieces of pages, because handlers have small stacks: a function's unwind table entry, its code, the code around a return
 * address. */
struct uspi_walk_pages {
    struct uspi_page_cache cache;
    struct uspi_cached_page pages[USPI_WALK_PAGES];
    uint8_t bytes[USPI_WALK_PAGES * USPI_WALK_PAGE_SIZE];
};

/* Async-signal-safe. */
void uspi_walk_pages_init(struct uspi_walk_pages *pages, struct usp_memory behind);

/* ---- all of them ---- */

/* The shape of usp_memory.read; context is the cache. One thread at a time. Async-signal-safe if the reader behind is. A page
 * of a process can be read whole or not at all: of one that cannot, no byte is asked for, until the next _begin. */
int uspi_page_cache_read(void *context, usp_addr from, void *to, size_t n);

/* Text of this process can be unloaded and other text take its place. What was read between _begin and _confirm is
 * confirmed by one bulk reading of all pages that came from before _begin: USP_OK when every one is as it was kept;
 * otherwise the cache is emptied, and USP_ERROR_BUSY says to do it again. */
void uspi_page_cache_begin(struct uspi_page_cache *cache);
int uspi_page_cache_confirm(struct uspi_page_cache *cache,
                            int (*read_pieces)(const usp_addr *from, size_t count, void *to, size_t size));

#endif
