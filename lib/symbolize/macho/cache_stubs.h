/* SPDX-License-Identifier: MIT */
/* The stubs of a dyld shared cache as a table of symbols. */
#ifndef USPI_SYMBOLIZE_MACHO_CACHE_STUBS_H
#define USPI_SYMBOLIZE_MACHO_CACHE_STUBS_H

#include "lib/images/dyld_image.h"
#include "lib/symbolize/index/tables.h"

/* Opens the stubs, which are copied; their cache must stay. On success the caller closes *tables. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_cache_stubs_open(const struct uspi_dyld_stubs *stubs, struct uspi_tables **tables);

#endif
