/* SPDX-License-Identifier: MIT */
/* See macho_space.h. */
#include "lib/object/macho_space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS (USPI_S_ATTR_PURE_INSTRUCTIONS | USPI_S_ATTR_SOME_INSTRUCTIONS)

struct ranges {
    struct uspi_macho_range *items;
    uint32_t count, room;
};

static bool add_range(struct ranges *ranges, const struct uspi_macho_range *range) {
    if (ranges->count == ranges->room) {
        uint32_t room = ranges->room == 0 ? 8 : ranges->room * 2;
        struct uspi_macho_range *grown = room > ranges->room ? realloc(ranges->items, room * sizeof *grown) : NULL;
        if (grown == NULL) return false;
        ranges->items = grown;
        ranges->room = room;
    }
    ranges->items[ranges->count++] = *range;
    return true;
}

static int by_address(const void *a, const void *b) {
    const struct uspi_macho_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

static void sort_ranges(struct ranges *ranges) {
    if (ranges->count > 0) qsort(ranges->items, ranges->count, sizeof *ranges->items, by_address);
}

/* The addresses low … low + size − 1 of the image, as this space has them. False when they wrap around. */
static bool place(const struct uspi_macho_space *space, usp_addr linked, uint64_t size,
                  struct uspi_macho_range *range) {
    range->low = linked + space->slide;
    return uspi_sum(range->low, size, &range->high);
}

static int add_code(struct uspi_macho_space *space, const struct uspi_macho_segment *segment, uint32_t number,
                    struct ranges *code, struct uspi_error *error) {
    for (uint32_t i = 0; i < segment->section_count; i++) {
        struct uspi_macho_section section;
        struct uspi_macho_range range = {.segment = number};
        int status = uspi_macho_section(&space->macho, segment, i, &section, error);
        if (status != USP_OK) return status;
        if ((section.flags & INSTRUCTIONS) == 0 || section.size == 0) continue;
        if (!place(space, section.address, section.size, &range)) continue;
        range.file_offset = section.file_offset;
        if (!add_range(code, &range)) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "out of memory");
    }
    return USP_OK;
}

static int read_segments(struct uspi_macho_space *space, struct ranges *segments, struct ranges *sorted,
                         struct ranges *code, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    int got;
    while ((got = uspi_macho_next_segment(&space->macho, &cursor, &segment, error)) > 0) {
        uint64_t size = space->is_loaded ? segment.memory_size : segment.file_size;
        struct uspi_macho_range range = {.file_offset = segment.file_offset, .segment = segments->count};
        /* __PAGEZERO reserves addresses, it holds nothing. */
        if (segment.file_size == 0 && segment.protection == 0) size = 0;
        if (!place(space, segment.address, size, &range)) {
            return uspi_bytes_error(error, space->macho.bytes, 0, USP_ERROR_FORMAT,
                                    "segment %s wraps around the address space", segment.name);
        }
        bool is_whole = add_range(segments, &range) && (size == 0 || add_range(sorted, &range));
        if (!is_whole) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "out of memory");
        int status = add_code(space, &segment, range.segment, code, error);
        if (status != USP_OK) return status;
    }
    return got;
}

int uspi_macho_space_open(struct uspi_macho_space *space, const struct uspi_macho *macho, struct uspi_error *error) {
    struct ranges segments = {0}, sorted = {0}, code = {0};
    struct uspi_macho_extent extent;
    memset(space, 0, sizeof *space);
    int status = uspi_macho_extent(macho, &extent, error);
    if (status != USP_OK) return status;
    space->macho = *macho;
    space->is_loaded = macho->bytes.source->memory;
    space->header = space->is_loaded ? macho->bytes.from : extent.header;
    space->slide = space->header - extent.header;
    status = read_segments(space, &segments, &sorted, &code, error);
    sort_ranges(&sorted);
    sort_ranges(&code);
    space->segments = segments.items;
    space->sorted = sorted.items;
    space->code = code.items;
    space->segment_count = segments.count;
    space->sorted_count = sorted.count;
    space->code_count = code.count;
    if (status != USP_OK) uspi_macho_space_close(space);
    return status;
}

void uspi_macho_space_close(struct uspi_macho_space *space) {
    free(space->segments);
    free(space->sorted);
    free(space->code);
    memset(space, 0, sizeof *space);
}

const struct uspi_macho_range *uspi_macho_range_find(const struct uspi_macho_range *ranges, uint32_t count,
                                                     usp_addr address) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].low <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < ranges[low - 1].high ? &ranges[low - 1] : NULL;
}

int uspi_macho_space_at(const struct uspi_macho_space *space, usp_addr address, const char *what,
                        struct uspi_bytes *rest, struct uspi_error *error) {
    const struct uspi_bytes file = space->macho.bytes;
    if (space->is_loaded) {
        *rest = uspi_bytes_at(file.source, address);
        return USP_OK;
    }
    const struct uspi_macho_range *range = uspi_macho_range_find(space->sorted, space->sorted_count, address);
    if (range == NULL) {
        return uspi_bytes_error(error, file, 0, USP_ERROR_NOT_FOUND, "%s: no segment holds address 0x%" PRIx64, what,
                                address);
    }
    uint64_t offset;
    if (!uspi_sum(range->file_offset, address - range->low, &offset)) offset = UINT64_MAX;
    return uspi_bytes_sub(file, offset, range->high - address, what, rest, error);
}
