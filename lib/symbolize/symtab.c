/* SPDX-License-Identifier: MIT */
/* The strategy "symbol table": the index of the image's file. */
#include "lib/symbolize/strategy.h"

static int find_in_tables(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    usp_addr slide = query->image->slide;
    int status = uspi_module_find(query->module, USPI_TABLE_SYMBOLS, query->address - slide, query->expected,
                                  query->names, found);
    if (status == USP_OK) found->start += slide;
    return status;
}

const struct uspi_strategy uspi_strategy_symtab = {USP_STRATEGY_SYMTAB, find_in_tables};
