/* SPDX-License-Identifier: MIT */
/* See macho_unwind_info.h. An index of pages, each of them a list of functions whose neighbours are unwound differently. */
#include "lib/object/macho_unwind_info.h"

#include <inttypes.h>
#include <string.h>

#define HEADER      28
#define INDEX_ENTRY 12
#define PAGE_HEADER 8

enum page_kind { REGULAR = 2, COMPRESSED = 3 };
enum entry_size { REGULAR_ENTRY = 8, COMPRESSED_ENTRY = 4 };

static int find_section(const struct uspi_macho *macho, struct uspi_macho_section *section, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, error)) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            int status = uspi_macho_section(macho, &segment, i, section, error);
            if (status != USP_OK) return status;
            if (strcmp(section->name, "__unwind_info") == 0) return USP_OK;
        }
    }
    return got < 0 ? got : uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_NOT_FOUND, "no section __unwind_info");
}

int uspi_unwind_starts(const struct uspi_macho *macho, struct uspi_unwind_starts *starts, struct uspi_error *error) {
    struct uspi_macho_section section;
    struct uspi_macho_extent extent;
    struct uspi_bytes index;
    uint8_t raw[HEADER];
    int status = find_section(macho, &section, error);
    if (status == USP_OK) status = uspi_macho_extent(macho, &extent, error);
    if (status != USP_OK) return status;
    *starts = (struct uspi_unwind_starts){.image = extent.header, .left = section.size / COMPRESSED_ENTRY};
    status = uspi_macho_part(macho, section.file_offset, section.size, "__unwind_info", &starts->bytes, error);
    if (status == USP_OK) status = uspi_bytes_read(starts->bytes, 0, raw, sizeof raw, "header of __unwind_info", error);
    if (status != USP_OK) return status;
    if (uspi_le32(raw) != 1) {
        return uspi_bytes_error(error, starts->bytes, 0, USP_ERROR_UNSUPPORTED, "__unwind_info of version %" PRIu32,
                                uspi_le32(raw));
    }
    starts->index_offset = uspi_le32(raw + 20);
    uint32_t count = uspi_le32(raw + 24);
    status = uspi_bytes_array(starts->bytes, starts->index_offset, count, INDEX_ENTRY, "index of __unwind_info", &index,
                              error);
    /* The last entry has the end of the code and no page. */
    starts->pages_left = count > 0 ? count - 1 : 0;
    return status;
}

static int enter_page(struct uspi_unwind_starts *starts, struct uspi_error *error) {
    uint8_t raw[INDEX_ENTRY];
    int status = uspi_bytes_read(starts->bytes, starts->index_offset, raw, sizeof raw, "entry of __unwind_info", error);
    if (status != USP_OK) return status;
    uint32_t page = uspi_le32(raw + 4);
    starts->base = uspi_le32(raw);
    starts->index_offset += INDEX_ENTRY;
    starts->pages_left--;
    if (page == 0) return USP_OK;
    status = uspi_bytes_read(starts->bytes, page, raw, PAGE_HEADER, "page of __unwind_info", error);
    if (status != USP_OK) return status;
    uint32_t kind = uspi_le32(raw);
    if (kind != REGULAR && kind != COMPRESSED) {
        return uspi_bytes_error(error, starts->bytes, page, USP_ERROR_FORMAT, "a page of kind %" PRIu32, kind);
    }
    starts->is_compressed = kind == COMPRESSED;
    starts->entry_offset = (uint64_t)page + uspi_le16(raw + 4);
    starts->entries_left = uspi_le16(raw + 6);
    /* Pages of a sound file share nothing. */
    if (starts->entries_left > starts->left) {
        return uspi_bytes_error(error, starts->bytes, page, USP_ERROR_FORMAT, "more functions than there is room for");
    }
    starts->left -= starts->entries_left;
    return USP_OK;
}

int uspi_unwind_next_start(struct uspi_unwind_starts *starts, usp_addr *address, struct uspi_error *error) {
    while (starts->entries_left == 0) {
        if (starts->pages_left == 0) return 0;
        int status = enter_page(starts, error);
        if (status != USP_OK) return status;
    }
    uint64_t value;
    int status = uspi_bytes_load(starts->bytes, starts->entry_offset, 4, &value, "function of __unwind_info", error);
    if (status != USP_OK) return status;
    /* A compressed entry counts from the page's first function, and has an encoding's number in the top byte. */
    uint64_t offset = starts->is_compressed ? starts->base + (value & 0xffffff) : value;
    starts->entry_offset += starts->is_compressed ? COMPRESSED_ENTRY : REGULAR_ENTRY;
    starts->entries_left--;
    if (uspi_sum(starts->image, offset, address)) return 1;
    return uspi_bytes_error(error, starts->bytes, starts->entry_offset, USP_ERROR_FORMAT,
                            "a function wraps around the address space");
}
