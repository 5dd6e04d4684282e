/* SPDX-License-Identifier: MIT */
/* The strategy "Objective-C metadata": the index of the methods that the image's file describes or, without the file,
 * the process's memory. It does not ask the runtime. */
#include "lib/symbolize/strategy.h"

static int find_by_metadata(const struct uspi_query *query, struct uspi_symbol_answer *found) {
    usp_addr slide = query->image->slide;
    int status =
        uspi_module_find(query->module, USPI_TABLE_OBJC, query->address - slide, query->expected, query->names, found);
    if (status == USP_OK) found->start += slide;
    return status;
}

const struct uspi_strategy uspi_strategy_objc_metadata = {USP_STRATEGY_OBJC_METADATA, find_by_metadata};
