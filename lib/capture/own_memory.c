/* SPDX-License-Identifier: MIT */
/* See own_memory.h. */
#include "lib/capture/own_memory.h"

void uspi_own_memory_init(struct uspi_own_memory *memory, const struct uspi_image_tables *tables) {
    memory->tables = tables;
    memory->still = (struct usp_memory_range){0, 0};
    memory->has_pages = false;
}

bool uspi_own_memory_read_still(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n) {
    const struct usp_memory_range *still = &memory->still;
    if (from - still->address >= still->size) {
        struct usp_memory_range found = uspi_image_tables_still(memory->tables, from);
        if (found.size == 0) return false;
        memory->still = found;
    }
    if (n > still->size - (from - still->address)) return false;
    uspi_read_directly((uintptr_t)from, to, n);
    return true;
}

int uspi_own_memory_read(struct uspi_own_memory *memory, usp_addr from, void *to, size_t n) {
    if (uspi_own_memory_read_still(memory, from, to, n)) return USP_OK;
    if (!memory->has_pages) uspi_walk_pages_init(&memory->pages, (struct usp_memory){uspi_os_read, NULL});
    memory->has_pages = true;
    return uspi_page_cache_read(&memory->pages.cache, from, to, n);
}
