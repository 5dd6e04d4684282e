/* SPDX-License-Identifier: MIT */
/* Pages of a target's text, kept between reads: walking many stacks reads the same few pages over and over, and each read
 * is a system call. Only in front of readers whose calls cost something; the walker does not know of it. */
#ifndef USPI_PAGE_CACHE_H
#define USPI_PAGE_CACHE_H

#include "arch/backend.h"

#define USPI_CACHE_PAGE  USPI_LEAST_PAGE
#define USPI_CACHE_PAGES 128u /* half a megabyte; stacks of a few hundred frames touch fewer */

struct uspi_page_cache {
    struct usp_memory behind; /* where pages come from */
    uint64_t epoch;           /* see uspi_page_cache_begin */
    bool dropped;             /* a page that would have to be confirmed had to make room for another one */
    struct {
        usp_addr page;         /* its address, | 1 when it cannot be read; 0: empty */
        uint64_t filled, used; /* epochs */
    } entries[USPI_CACHE_PAGES];
    uint8_t bytes[USPI_CACHE_PAGES][USPI_CACHE_PAGE];
    uint8_t again[USPI_CACHE_PAGES][USPI_CACHE_PAGE]; /* for uspi_page_cache_confirm */
};

/* Puts a new cache in front of *memory; it is to be freed with free(). Where memory lacks, NULL is returned, *memory stays as
 * it was, and each read costs a call. */
struct uspi_page_cache *uspi_page_cache_before(struct usp_memory *memory);

/* Empties the cache. */
void uspi_page_cache_init(struct uspi_page_cache *cache, struct usp_memory behind);

/* The shape of usp_memory.read; context is the cache. One thread at a time. Any time that the reader behind is. A page of a
 * process can be read whole or not at all: of one that cannot, no byte is asked for, until the next _begin. */
int uspi_page_cache_read(void *context, usp_addr from, void *to, size_t n);

/* Text of this process can be unloaded and other text take its place. What was read between _begin and _confirm is
 * confirmed by one bulk reading of all pages that came from before _begin: USP_OK when every one is as it was kept;
 * otherwise the cache is emptied, and USP_ERROR_BUSY says to do it again. */
void uspi_page_cache_begin(struct uspi_page_cache *cache);
int uspi_page_cache_confirm(struct uspi_page_cache *cache,
                            int (*read_pieces)(const usp_addr *from, size_t count, void *to, size_t size));

#endif
