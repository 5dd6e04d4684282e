/* SPDX-License-Identifier: MIT */
/* What the parts of the symbolizer know of each other: source_lines.c asks symbolizer.c for the module and the symbol of an
 * address. */
#ifndef USPI_SYMBOLIZER_H
#define USPI_SYMBOLIZER_H

#include "lib/symbolize/module_lines/frames.h"
#include "lib/symbolize/strategy.h"

#include <unspool/lines.h>

/* Where a thread signs in that looks something up. */
struct uspi_epoch *uspi_symbolizer_readers(struct usp_symbolizer *symbolizer);

/* Names the address as uspi_symbolize_expecting, and tells what was asked: query->module is NULL when no image holds the
 * address, which may be generated code all the same (query->generated; query->lines gets the frames of its debug
 * information). The query is all zero but for what is asked of it. The caller has signed in. Returns as
 * usp_symbolize. */
int uspi_symbolizer_ask(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        const struct uspi_expected *expected, struct uspi_query *query, struct usp_symbol *symbol);

const struct uspi_source_paths *uspi_symbolizer_paths(const struct usp_symbolizer *symbolizer);

#endif
