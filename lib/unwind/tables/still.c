/* SPDX-License-Identifier: MIT */
/* See still.h. */
#include "lib/unwind/tables/still.h"

#include "lib/base/page_cache.h"

void uspi_add_still(struct uspi_still *still, usp_addr low, usp_addr size) {
    usp_addr page = USPI_LEAST_PAGE;
    for (unsigned i = 0; i < USPI_STILL_RANGES; i++) {
        struct usp_memory_range *range = &still->ranges[i];
        usp_addr end = range->address + range->size;
        if (range->size == 0) {
            *range = (struct usp_memory_range){low, size};
            return;
        }
        bool is_last = i + 1 == USPI_STILL_RANGES || still->ranges[i + 1].size == 0;
        if (!is_last || low < range->address || (low & ~(page - 1)) > ((end + page - 1) & ~(page - 1))) continue;
        if (low + size > end) range->size = low + size - range->address;
        return;
    }
}

struct usp_memory_range uspi_still_at(const struct uspi_still *still, usp_addr address) {
    for (unsigned i = 0; i < USPI_STILL_RANGES; i++) {
        if (address - still->ranges[i].address < still->ranges[i].size) return still->ranges[i];
    }
    return (struct usp_memory_range){0, 0};
}
