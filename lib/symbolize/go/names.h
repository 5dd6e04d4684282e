/* SPDX-License-Identifier: MIT */
/* The functions of Go's table (lib/object/gopclntab.h) for the tables of a file (lib/symbolize/index/tables.h) that has lost its
 * symbols. */
#ifndef USPI_GO_NAMES_H
#define USPI_GO_NAMES_H

#include "lib/object/gopclntab.h"
#include "lib/symbolize/index/tables.h"

/* Adds all functions, whose numbers are `number` and their place in the table, which is at most `most`. USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_go_gather(const struct uspi_go_table *table, uint32_t number, uint32_t most, uint32_t rank,
                   struct uspi_gathering *gathering);

/* The function at a place. As the member of struct uspi_tables. */
int uspi_go_get(const struct uspi_go_table *table, uint32_t place, struct uspi_names *names,
                struct uspi_symbol_answer *named);

/* For comparison: the beginning of its name in place; "": it has none. */
const char *uspi_go_name(const struct uspi_go_table *table, uint32_t place);

#endif
