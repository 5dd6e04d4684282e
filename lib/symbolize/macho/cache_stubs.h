/* SPDX-License-Identifier: MIT */
/* The stubs of a dyld shared cache as a table of symbols. */
#ifndef USPI_SYMBOLIZE_MACHO_CACHE_STUBS_H
#define USPI_SYMBOLIZE_MACHO_CACHE_STUBS_H

#include "lib/images/dyld_image.h"
#include "lib/symbolize/index/tables.h"

/* Opens the stubs, which are copied; their cache must stay. On success the caller closes *tables. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_cache_stubs_open(const struct uspi_dyld_stubs *stubs, struct uspi_tables **tables);

/* Receives a stub: its address in the cache, its size and its name, which is valid during the call. Returns false when
 * memory is exhausted. */
typedef bool (*uspi_stub_visitor)(void *context, usp_addr start, uint32_t size, const char *name);

/* Visits all stubs of a cache that lead to a function with a name, in the order of these functions: each image is opened
 * once. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_cache_stubs_visit(const struct uspi_dyld_cache *cache, uspi_stub_visitor visit, void *context);

#endif
