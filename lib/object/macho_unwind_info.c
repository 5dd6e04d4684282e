/* SPDX-License-Identifier: MIT */
/* See macho_unwind_info.h. The section is an index of pages. A page lists functions; neighbours with equal encodings
 * share one entry. */
#include "lib/object/macho_unwind_info.h"
#include "lib/base/bisect.h"

#include <inttypes.h>

enum sizes { HEADER = 28, ENCODING = 4, INDEX_ENTRY = 12, PAGE_HEADER = 8, REGULAR_ENTRY = 8, COMPRESSED_ENTRY = 4 };

enum page_kind { REGULAR = 2, COMPRESSED = 3 };

/* A second-level page. */
struct page {
    uint64_t offset;           /* in the section */
    uint32_t base;             /* offsets in a compressed page count from here */
    struct uspi_bytes entries; /* one for each function */
    uint32_t count;            /* number of entries; 0: there is no page */
    bool is_compressed;
};

int uspi_unwind_info(struct uspi_bytes section, struct uspi_unwind_info *info, struct uspi_error *error) {
    uint8_t raw[HEADER];
    int status = uspi_bytes_read(section, 0, raw, sizeof raw, "header of __unwind_info", error);
    if (status != USP_OK) return status;
    if (uspi_le32(raw) != 1) {
        return uspi_bytes_error(error, section, 0, USP_ERROR_UNSUPPORTED, "__unwind_info of version %" PRIu32,
                                uspi_le32(raw));
    }
    const uint32_t count = uspi_le32(raw + 24);
    *info = (struct uspi_unwind_info){.bytes = section,
                                      .page_count = count > 0 ? count - 1 : 0,
                                      .common_offset = uspi_le32(raw + 4),
                                      .common_count = uspi_le32(raw + 8)};
    return uspi_bytes_array(section,
                            (struct uspi_array){uspi_le32(raw + 20), count, INDEX_ENTRY, "index of __unwind_info"},
                            &info->index, error);
}

/* Reads entry i of the index and the header of its page. */
static int read_page(const struct uspi_unwind_info *info, uint32_t i, struct page *page, struct uspi_error *error) {
    uint8_t raw[INDEX_ENTRY];
    int status =
        uspi_bytes_read(info->index, (uint64_t)i * INDEX_ENTRY, raw, sizeof raw, "entry of __unwind_info", error);
    if (status != USP_OK) return status;
    *page = (struct page){.base = uspi_le32(raw), .offset = uspi_le32(raw + 4)};
    if (page->offset == 0) return USP_OK;
    status = uspi_bytes_read(info->bytes, page->offset, raw, PAGE_HEADER, "page of __unwind_info", error);
    if (status != USP_OK) return status;
    const uint32_t kind = uspi_le32(raw);
    if (kind != REGULAR && kind != COMPRESSED) {
        return uspi_bytes_error(error, info->bytes, page->offset, USP_ERROR_FORMAT, "a page of kind %" PRIu32, kind);
    }
    page->is_compressed = kind == COMPRESSED;
    page->count = uspi_le16(raw + 6);
    return uspi_bytes_array(info->bytes,
                            (struct uspi_array){page->offset + uspi_le16(raw + 4), page->count,
                                                page->is_compressed ? COMPRESSED_ENTRY : REGULAR_ENTRY,
                                                "functions of __unwind_info"},
                            &page->entries, error);
}

/* A list of entries, sorted by the start of their code, which is base + (the entry's first four bytes & mask). */
struct list {
    struct uspi_bytes entries;
    uint32_t count, stride;
    uint64_t base;
    uint32_t mask;
};

static int load_key(const struct list *list, uint32_t i, uint64_t *key, struct uspi_error *error) {
    int status = uspi_bytes_load(list->entries, (uint64_t)i * list->stride, 4, key, "function of __unwind_info", error);
    if (status == USP_OK) *key = list->base + (*key & list->mask);
    return status;
}

/* Finds the last entry that begins at or before `offset`; *i becomes `count` when there is none. */
static int find_last(const struct list *list, uint64_t offset, uint32_t *i, struct uspi_error *error) {
    uint64_t key;
    uint32_t next;
    int status = USP_OK;
    USPI_FIRST(next, 0, list->count,
               status != USP_OK || (status = load_key(list, next, &key, error)) != USP_OK || key > offset);
    *i = next > 0 ? next - 1 : list->count;
    return status;
}

/* Gives the encoding of entry i of a compressed page. The entry's top byte is its number: common encodings first, then
 * the page's own. */
static int compressed_encoding(const struct uspi_unwind_info *info, const struct page *page, uint32_t i,
                               uint32_t *encoding, struct uspi_error *error) {
    uint8_t raw[4];
    uint64_t entry, value;
    struct uspi_bytes encodings;
    int status =
        uspi_bytes_load(page->entries, (uint64_t)i * COMPRESSED_ENTRY, 4, &entry, "function of __unwind_info", error);
    if (status != USP_OK) return status;
    uint64_t number = entry >> 24, offset = info->common_offset, count = info->common_count;
    if (number >= count) {
        number -= count;
        status =
            uspi_bytes_read(info->bytes, page->offset + PAGE_HEADER, raw, sizeof raw, "page of __unwind_info", error);
        if (status != USP_OK) return status;
        offset = page->offset + uspi_le16(raw);
        count = uspi_le16(raw + 2);
    }
    if (number >= count) {
        return uspi_bytes_error(error, info->bytes, page->offset, USP_ERROR_FORMAT, "encoding %" PRIu64 " of %" PRIu64,
                                number, count);
    }
    status = uspi_bytes_array(info->bytes, (struct uspi_array){offset, count, ENCODING, "encodings of __unwind_info"},
                              &encodings, error);
    if (status == USP_OK) status = uspi_bytes_load(encodings, number * ENCODING, 4, &value, "encoding", error);
    if (status == USP_OK) *encoding = (uint32_t)value;
    return status;
}

static int find_in_page(const struct uspi_unwind_info *info, const struct page *page, uint64_t offset,
                        struct uspi_unwind_entry *entry, struct uspi_error *error) {
    const struct list list = {.entries = page->entries,
                              .count = page->count,
                              .stride = page->is_compressed ? COMPRESSED_ENTRY : REGULAR_ENTRY,
                              .base = page->is_compressed ? page->base : 0,
                              .mask = page->is_compressed ? 0xffffff : UINT32_MAX};
    uint32_t i;
    uint64_t value;
    int status = find_last(&list, offset, &i, error);
    if (status != USP_OK) return status;
    if (i == list.count) {
        return uspi_bytes_error(error, info->bytes, page->offset, USP_ERROR_FORMAT,
                                "the page begins past offset 0x%" PRIx64, offset);
    }
    status = load_key(&list, i, &entry->start, error);
    if (status == USP_OK && i + 1 < list.count) status = load_key(&list, i + 1, &entry->end, error);
    if (status != USP_OK) return status;
    if (page->is_compressed) return compressed_encoding(info, page, i, &entry->encoding, error);
    status = uspi_bytes_load(page->entries, (uint64_t)i * REGULAR_ENTRY + 4, 4, &value, "encoding", error);
    if (status == USP_OK) entry->encoding = (uint32_t)value;
    return status;
}

int uspi_unwind_find(const struct uspi_unwind_info *info, uint64_t offset, struct uspi_unwind_entry *entry,
                     struct uspi_error *error) {
    const struct list index = {
        .entries = info->index, .count = info->page_count, .stride = INDEX_ENTRY, .mask = UINT32_MAX};
    struct page page;
    uint32_t i;
    int status = find_last(&index, offset, &i, error);
    if (status != USP_OK) return status;
    *entry = (struct uspi_unwind_entry){0};
    if (i < index.count) {
        /* The index has one more entry than there are pages. */
        status = load_key(&index, i + 1, &entry->end, error);
        if (status == USP_OK) status = read_page(info, i, &page, error);
        if (status != USP_OK) return status;
    }
    if (i == index.count || offset >= entry->end || page.count == 0) {
        return uspi_bytes_error(error, info->bytes, 0, USP_ERROR_NOT_FOUND,
                                "__unwind_info has nothing at offset 0x%" PRIx64, offset);
    }
    return find_in_page(info, &page, offset, entry, error);
}

int uspi_unwind_starts(const struct uspi_macho *macho, struct uspi_unwind_starts *starts, struct uspi_error *error) {
    struct uspi_macho_section section;
    struct uspi_macho_extent extent;
    struct uspi_bytes bytes;
    int status = uspi_macho_find_section(macho, "__unwind_info", &section, error);
    if (status == USP_OK) status = uspi_macho_extent(macho, &extent, error);
    if (status != USP_OK) return status;
    *starts = (struct uspi_unwind_starts){.image = extent.header, .left = section.size / COMPRESSED_ENTRY};
    status = uspi_macho_part(macho, section.file_offset, section.size, "__unwind_info", &bytes, error);
    if (status == USP_OK) status = uspi_unwind_info(bytes, &starts->info, error);
    return status;
}

static int enter_page(struct uspi_unwind_starts *starts, struct uspi_error *error) {
    struct page page;
    int status = read_page(&starts->info, starts->page, &page, error);
    if (status != USP_OK) return status;
    /* Pages of a sound file do not overlap. */
    if (page.count > starts->left) {
        return uspi_bytes_error(error, starts->info.bytes, page.offset, USP_ERROR_FORMAT,
                                "more functions than there is room for");
    }
    starts->left -= page.count;
    starts->page++;
    starts->base = page.base;
    starts->entries = page.entries;
    starts->entry = 0;
    starts->entry_count = page.count;
    starts->is_compressed = page.is_compressed;
    return USP_OK;
}

int uspi_unwind_next_start(struct uspi_unwind_starts *starts, usp_addr *address, struct uspi_error *error) {
    while (starts->entry == starts->entry_count) {
        if (starts->page == starts->info.page_count) return 0;
        int status = enter_page(starts, error);
        if (status != USP_OK) return status;
    }
    uint64_t value;
    const uint64_t at = (uint64_t)starts->entry * (starts->is_compressed ? COMPRESSED_ENTRY : REGULAR_ENTRY);
    int status = uspi_bytes_load(starts->entries, at, 4, &value, "function of __unwind_info", error);
    if (status != USP_OK) return status;
    /* A compressed entry is an offset from the page's first function, with the encoding's number in the top byte. */
    const uint64_t offset = starts->is_compressed ? starts->base + (value & 0xffffff) : value;
    starts->entry++;
    if (uspi_sum(starts->image, offset, address)) return 1;
    return uspi_bytes_error(error, starts->entries, at, USP_ERROR_FORMAT, "a function wraps around the address space");
}
