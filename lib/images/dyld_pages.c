/* SPDX-License-Identifier: MIT */
/* Bytes of dyld shared caches, by position in a file and by address. See dyld_cache_set.h. */
#include "lib/images/dyld_cache_set.h"

#include "lib/base/bisect.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

#define PAGE  ((size_t)16 << 10)
#define PAGES 64

/* The number of slots for pages with one hash. Readers go through a few tables at the same time. */
#define WAYS 4

struct page {
    bool is_filled;
    uint32_t file;   /* the file's number: a file that was closed can have left its address to another one */
    uint64_t number; /* of the page in the file */
    uint64_t used;   /* when it was last used, by pages->clock */
    size_t size;
    uint8_t bytes[PAGE];
};

/* A page replaces the least recently used one in the slots of its hash. */
struct uspi_dyld_pages {
    struct uspi_lock *lock;
    uint64_t clock;
    struct page *slots[PAGES];
};

struct uspi_dyld_pages *uspi_dyld_pages_create(void) {
    struct uspi_dyld_pages *pages = calloc(1, sizeof *pages);
    if (pages != NULL) pages->lock = uspi_lock_create();
    if (pages != NULL && pages->lock != NULL) return pages;
    free(pages);
    return NULL;
}

void uspi_dyld_pages_free(struct uspi_dyld_pages *pages) {
    if (pages == NULL) return;
    for (size_t i = 0; i < PAGES; i++) free(pages->slots[i]);
    uspi_lock_free(pages->lock);
    free(pages);
}

/* Replaces the pointers in a page that was read. uspi_dyld_slide has checked that slide information has whole pages that
 * fit into this one. */
static void rebase(const struct uspi_dyld_file *file, struct page *page) {
    const uint64_t low = page->number * PAGE, high = low + page->size;
    for (uint32_t i = 0; i < file->header.mapping_count; i++) {
        const struct uspi_dyld_mapping *mapping = &file->header.mappings[i];
        const struct uspi_dyld_slide *slide = &file->slides[i];
        const uint64_t size = slide->page_size;
        if (slide->info.size == 0) continue;
        for (uint64_t at = low; at < high; at += size) {
            const uint64_t inside = at - mapping->file_offset;
            if (at < mapping->file_offset || inside >= mapping->size) continue;
            uint64_t n = size < high - at ? size : high - at;
            if (n > mapping->size - inside) n = mapping->size - inside;
            uspi_dyld_rebase_page(slide, inside / size, page->bytes + (size_t)(at - low), (size_t)n);
        }
    }
}

static bool holds(const struct page *page, const struct uspi_dyld_file *file, uint64_t number) {
    return page->is_filled && page->file == file->number && page->number == number;
}

/* Returns the slot of a page: its own, or the one that it replaces. */
static struct page **slot_of(const struct uspi_dyld_file *file, uint64_t number) {
    struct page **slots = &file->pages->slots[(number + file->number * 7) % (PAGES / WAYS) * WAYS], **oldest = slots;
    for (size_t i = 0; i < WAYS; i++) {
        struct page *page = slots[i];
        if (page != NULL && holds(page, file, number)) return &slots[i];
        if (page == NULL || (*oldest != NULL && page->used < (*oldest)->used)) oldest = &slots[i];
    }
    return oldest;
}

/* Makes *page a page of the file. The caller holds the lock. */
static int get_page(struct uspi_dyld_file *file, uint64_t number, struct page **page) {
    struct page **slot = slot_of(file, number);
    const uint64_t left = uspi_file_bytes(file->file).size - number * PAGE;
    if (*slot == NULL) *slot = calloc(1, sizeof **slot);
    if (*slot == NULL) return USP_ERROR_NO_MEMORY;
    *page = *slot;
    (*page)->used = ++file->pages->clock;
    if (holds(*page, file, number)) return USP_OK;
    (*page)->is_filled = false;
    (*page)->file = file->number;
    (*page)->number = number;
    (*page)->size = left < PAGE ? (size_t)left : PAGE;
    int status =
        uspi_bytes_read(uspi_file_bytes(file->file), number * PAGE, (*page)->bytes, (*page)->size, "page", NULL);
    if (status != USP_OK) return status;
    rebase(file, *page);
    (*page)->is_filled = true;
    return USP_OK;
}

int uspi_dyld_read_file(void *context, uint64_t at, void *to, size_t n) {
    struct uspi_dyld_file *file = context;
    uint8_t *p = to;
    const uint64_t size = uspi_file_bytes(file->file).size;
    int status = USP_OK;
    if (at > size || n > size - at) return USP_ERROR_TRUNCATED;
    (void)uspi_lock_take(file->pages->lock);
    while (n > 0 && status == USP_OK) {
        struct page *page;
        const size_t inside = (size_t)(at % PAGE), part = n < PAGE - inside ? n : PAGE - inside;
        status = get_page(file, at / PAGE, &page);
        if (status != USP_OK) break;
        memcpy(p, page->bytes + inside, part);
        p += part;
        at += part;
        n -= part;
    }
    uspi_lock_give(file->pages->lock);
    return status;
}

/* ---- by address ---- */

const struct uspi_dyld_range *uspi_dyld_range_at(const struct uspi_dyld_cache *cache, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, cache->range_count, cache->ranges[i].address > address);
    if (i == 0) return NULL;
    const struct uspi_dyld_range *range = &cache->ranges[i - 1];
    return address - range->address < range->size ? range : NULL;
}

uint64_t uspi_dyld_extent(const struct uspi_dyld_cache *cache, usp_addr address, uint64_t most) {
    uint64_t extent = 0;
    while (extent < most) {
        const struct uspi_dyld_range *range = uspi_dyld_range_at(cache, address + extent);
        if (range == NULL || address + extent < address) break;
        extent += range->size - (address + extent - range->address);
    }
    return extent < most ? extent : most;
}

int uspi_dyld_read(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_dyld_cache *cache = context;
    uint8_t *p = to;
    while (n > 0) {
        const struct uspi_dyld_range *range = uspi_dyld_range_at(cache, at);
        if (range == NULL) return USP_ERROR_NOT_FOUND;
        const uint64_t inside = at - range->address, left = range->size - inside;
        const size_t part = n < left ? n : (size_t)left;
        int status = uspi_dyld_read_file(cache->files[range->file], range->file_offset + inside, p, part);
        if (status != USP_OK) return status;
        p += part;
        at += part;
        n -= part;
    }
    return USP_OK;
}

const struct uspi_dyld_member *uspi_dyld_member_at(const struct uspi_dyld_cache *cache, usp_addr address) {
    uint32_t i;
    USPI_FIRST(i, 0, cache->member_count, cache->members[i].address > address);
    if (i == 0) return NULL;
    const struct uspi_dyld_member *member = &cache->members[i - 1];
    return address - member->address < member->text_size ? member : NULL;
}
