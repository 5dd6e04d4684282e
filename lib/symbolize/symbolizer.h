/* SPDX-License-Identifier: MIT */
/* What the parts of the symbolizer know of each other: source_lines.c asks symbolizer.c for the module and the symbol of an
 * address. */
#ifndef USPI_SYMBOLIZER_H
#define USPI_SYMBOLIZER_H

#include "lib/symbolize/strategy.h"

#include <unspool/lines.h>

/* How paths of source files are written. */
struct uspi_source_paths {
    struct usp_path_map *maps; /* owned, strings too */
    uint32_t count;
    uint32_t inlined_limit; /* so many inlined calls are given at most */
};

/* Where a thread signs in that looks something up. */
struct uspi_epoch *uspi_symbolizer_readers(struct usp_symbolizer *symbolizer);

/* Names the address as uspi_symbolize_expecting, and tells what was asked: query->module is NULL when no image holds the
 * address, which may be generated code all the same (query->generated). The caller has signed in. Returns as
 * usp_symbolize. */
int uspi_symbolizer_ask(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        const struct uspi_expected *expected, struct uspi_query *query, struct usp_symbol *symbol);

const struct uspi_source_paths *uspi_symbolizer_paths(const struct usp_symbolizer *symbolizer);

#endif
