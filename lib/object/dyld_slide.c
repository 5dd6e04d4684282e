/* SPDX-License-Identifier: MIT */
/* Decodes the pointers in the pages of a dyld shared cache. Sources: dyld include/mach-o/dyld_cache_format.h
 * (dyld_cache_slide_info2 to 5) and common/DyldSharedCache.cpp (forEachPointerIn…). */
#include "lib/object/dyld_cache.h"

#define NONE_2 0x4000u /* the page has no pointers; version 4: 0xffff */
#define EXTRAS 0x8000u /* the page has several chains, which begin in the table of extras */
#define NONE   0xffffu

#define EXTRA_LAST 0x8000u

/* A start's offset in words of 4 bytes, or its index in the table of extras. */
static uint32_t index_mask(const struct uspi_dyld_slide *slide) { return slide->version == 2 ? 0x3fff : 0x7fff; }

/* The headers of versions 3 and 5, and of 2 and 4. */
#define HEADER_SHORT 24
#define HEADER_LONG  40

/* The maximum number of chains of a page. */
#define CHAINS_MAX 1024

int uspi_dyld_slide(const struct uspi_dyld_header *header, const struct uspi_dyld_mapping *mapping,
                    struct uspi_dyld_slide *slide, struct uspi_error *error) {
    uint8_t raw[HEADER_LONG] = {0};
    *slide = (struct uspi_dyld_slide){.version = 1};
    if (mapping->slide_size < HEADER_SHORT) return USP_OK;
    struct uspi_bytes info = {0};
    int status =
        uspi_bytes_sub(header->bytes, mapping->slide_offset, mapping->slide_size, "slide information", &info, error);
    const size_t n = info.size < sizeof raw ? (size_t)info.size : sizeof raw;
    if (status == USP_OK) status = uspi_bytes_read(info, 0, raw, n, "slide information", error);
    if (status != USP_OK) return status;
    const uint32_t version = uspi_le32(raw);
    if (version < 2 || version > 5) return USP_OK;
    *slide = (struct uspi_dyld_slide){.version = version, .page_size = uspi_le32(raw + 4)};
    if (version == 2 || version == 4) {
        slide->starts = uspi_le32(raw + 8);
        slide->start_count = uspi_le32(raw + 12);
        slide->extras = uspi_le32(raw + 16);
        slide->extra_count = uspi_le32(raw + 20);
        slide->delta_mask = uspi_le64(raw + 24);
        slide->value_add = uspi_le64(raw + 32);
    } else {
        /* Four bytes of padding precede the number of 64 bits. */
        slide->start_count = uspi_le32(raw + 8);
        slide->value_add = uspi_le64(raw + 16);
        slide->starts = HEADER_SHORT;
    }
    const uint32_t size = slide->page_size;
    if (size < 0x100 || size > 0x4000 || (size & (size - 1)) != 0 || mapping->file_offset % size != 0) {
        return uspi_bytes_error(
            error, info, 4, USP_ERROR_FORMAT,
            "pointers of a mapping are not read: its pages of %u bytes are too large or not aligned", (unsigned)size);
    }
    slide->info = info;
    return USP_OK;
}

static uint32_t load_16(const struct uspi_dyld_slide *slide, uint64_t table, uint64_t count, uint64_t i) {
    uint64_t value;
    if (i >= count || table > slide->info.size) return NONE;
    return uspi_bytes_load(slide->info, table + 2 * i, 2, &value, "start of a page", NULL) == USP_OK ? (uint32_t)value
                                                                                                     : NONE;
}

/* The size of a pointer in bytes. */
static unsigned width_of(const struct uspi_dyld_slide *slide) { return slide->version == 4 ? 4 : 8; }

/* Returns a pointer's value, and in *next the distance to the next one in bytes; 0: it is the last. */
static uint64_t decode(const struct uspi_dyld_slide *slide, uint64_t raw, uint64_t *next) {
    uint64_t value;
    switch (slide->version) {
    case 2: {
        const uint64_t mask = slide->delta_mask, lowest = mask & (0 - mask);
        *next = lowest != 0 ? (raw & mask) / lowest * 4 : 0;
        value = raw & ~mask;
        return value != 0 ? value + slide->value_add : 0;
    }
    case 3:
        *next = (raw >> 51 & 0x7ff) * 8;
        if (raw >> 63 != 0) return (raw & UINT32_MAX) + slide->value_add;
        return (raw & UINT64_C(0x7f80000000000)) << 13 | (raw & UINT64_C(0x7ffffffffff));
    case 4:
        *next = (raw >> 30 & 3) * 4;
        value = raw & 0x3fffffff;
        if ((value & 0xffff8000) == 0) return value;
        if ((value & 0x3fff8000) == 0x3fff8000) return value | 0xc0000000;
        return (value + slide->value_add) & UINT32_MAX;
    default:
        *next = (raw >> 52 & 0x7ff) * 8;
        value = (raw & UINT64_C(0x3ffffffff)) + slide->value_add;
        return raw >> 63 != 0 ? value : value | (raw >> 34 & 0xff) << 56;
    }
}

/* Follows one chain from an offset in the page. *left: how many pointers the page still has room for, since chains of a
 * damaged page may share theirs. */
static void rebase_chain(const struct uspi_dyld_slide *slide, uint64_t offset, uint8_t *at, size_t n, size_t *left) {
    const unsigned width = width_of(slide);
    uint64_t next = 1;
    for (; next != 0 && offset < n && n - offset >= width && *left > 0; --*left) {
        const uint64_t value = decode(slide, uspi_le(at + offset, width), &next);
        uspi_store_le(at + offset, value, width);
        offset += next;
    }
}

void uspi_dyld_rebase_page(const struct uspi_dyld_slide *slide, uint64_t page, uint8_t *at, size_t n) {
    size_t left = n / width_of(slide);
    if (slide->info.size == 0) return;
    const uint32_t start = load_16(slide, slide->starts, slide->start_count, page);
    if (start == NONE) return;
    if (slide->version == 3 || slide->version == 5) {
        rebase_chain(slide, start, at, n, &left);
        return;
    }
    if (slide->version == 2 && (start & NONE_2) != 0 && (start & EXTRAS) == 0) return;
    if ((start & EXTRAS) == 0) {
        rebase_chain(slide, (uint64_t)start * 4, at, n, &left);
        return;
    }
    for (uint64_t i = start & index_mask(slide), chains = 0; chains < CHAINS_MAX; i++, chains++) {
        const uint32_t extra = load_16(slide, slide->extras, slide->extra_count, i);
        if (extra == NONE) return;
        rebase_chain(slide, (uint64_t)(extra & index_mask(slide)) * 4, at, n, &left);
        if ((extra & EXTRA_LAST) != 0) return;
    }
}
