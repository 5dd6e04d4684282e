/* SPDX-License-Identifier: MIT */
/* The functions that the parts of the symbolizer share. For example, source_lines.c asks symbolizer.c for the module
 * and the symbol of an address. */
#ifndef USPI_SYMBOLIZE_SYMBOLIZER_H
#define USPI_SYMBOLIZE_SYMBOLIZER_H

#include "lib/symbolize/module_lines/frames.h"
#include "lib/symbolize/strategy.h"

#include <unspool/lines.h>

/* Returns the epoch that a thread enters before it looks something up. */
struct uspi_epoch *uspi_symbolizer_readers(struct usp_symbolizer *symbolizer);

/* Names the address as uspi_symbolize_expecting does, and describes it in *query. On entry all of *query is zero except
 * query->lines, which may be set. query->module becomes NULL when no image holds the address. The address may then be
 * in generated code: query->generated has its line, and query->lines gets the frames of its debug information. The
 * caller has entered. Returns as usp_symbolize does. */
int uspi_symbolizer_ask(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        const struct uspi_expected *expected, struct uspi_query *query, struct usp_symbol *symbol);

/* Describes the address in *query as uspi_symbolizer_ask does, and does not search for its symbol. */
int uspi_symbolizer_describe(struct usp_symbolizer *symbolizer, usp_addr address, struct uspi_query *query);

/* Returns the size of the open index files in bytes. No other thread may use the symbolizer. */
uint64_t uspi_symbolizer_index_bytes(const struct usp_symbolizer *symbolizer);

const struct uspi_source_paths *uspi_symbolizer_paths(const struct usp_symbolizer *symbolizer);

#endif
