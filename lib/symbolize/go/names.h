/* SPDX-License-Identifier: MIT */
/* The functions of Go's table (lib/object/gopclntab.h) as symbols of a file without symbols
 * (lib/symbolize/index/tables.h). */
#ifndef USPI_SYMBOLIZE_GO_NAMES_H
#define USPI_SYMBOLIZE_GO_NAMES_H

#include "lib/object/gopclntab.h"
#include "lib/symbolize/index/tables.h"

/* Adds all functions with a position of at most `most` in the table. A function's number is `number` combined with its
 * position. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_go_gather(const struct uspi_go_table *table, uint32_t number, uint32_t most, uint32_t rank,
                   struct uspi_gathering *gathering);

/* Gets the function at a position, like uspi_tables.get. */
int uspi_go_get(const struct uspi_go_table *table, uint32_t place, struct uspi_names *names,
                struct uspi_symbol_answer *named);

/* Returns a function's name in place, for comparison; "": it has none. */
const char *uspi_go_name(const struct uspi_go_table *table, uint32_t number);

#endif
