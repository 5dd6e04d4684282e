/* SPDX-License-Identifier: MIT */
/* See macho_space.h. */
#include "lib/object/macho_space.h"
#include "lib/base/array.h"
#include "lib/base/bisect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct ranges {
    struct uspi_macho_range *items;
    uint32_t count;
    size_t capacity;
};

static bool add_range(struct ranges *ranges, const struct uspi_macho_range *range) {
    if (ranges->count == UINT32_MAX) return false;
    struct uspi_macho_range *grown =
        uspi_array_reserve(ranges->items, &ranges->capacity, (size_t)ranges->count + 1, sizeof *grown);
    if (grown == NULL) return false;
    ranges->items = grown;
    ranges->items[ranges->count++] = *range;
    return true;
}

static int by_address(const void *a, const void *b) {
    const struct uspi_macho_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

/* Sets the bounds of a range, from a linked address and a size, to addresses of this space. False when they wrap
 * around. */
static bool place(const struct uspi_macho_space *space, usp_addr linked, uint64_t size,
                  struct uspi_macho_range *range) {
    range->low = linked + space->slide;
    return uspi_sum(range->low, size, &range->high);
}

static int read_segments(struct uspi_macho_space *space, struct ranges *segments, struct ranges *sorted,
                         struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    int got;
    while ((got = uspi_macho_next_segment(&space->macho, &cursor, &segment, error)) > 0) {
        uint64_t size = space->is_loaded ? segment.memory_size : segment.file_size;
        struct uspi_macho_range range = {.file_offset = segment.file_offset, .segment = segments->count};
        /* __PAGEZERO only reserves addresses. */
        if (segment.file_size == 0 && segment.protection == 0) size = 0;
        if (!place(space, segment.address, size, &range)) {
            return uspi_bytes_error(error, space->macho.bytes, 0, USP_ERROR_FORMAT,
                                    "segment %s wraps around the address space", segment.name);
        }
        bool is_whole = add_range(segments, &range) && (size == 0 || add_range(sorted, &range));
        if (!is_whole) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "out of memory");
    }
    return got;
}

int uspi_macho_space_open(struct uspi_macho_space *space, const struct uspi_macho *macho, struct uspi_error *error) {
    struct ranges segments = {0}, sorted = {0};
    struct uspi_macho_extent extent;
    memset(space, 0, sizeof *space);
    int status = uspi_macho_extent(macho, &extent, error);
    if (status != USP_OK) return status;
    space->macho = *macho;
    space->is_loaded = macho->bytes.source->memory;
    space->header = space->is_loaded ? macho->bytes.from : extent.header;
    space->slide = space->header - extent.header;
    status = read_segments(space, &segments, &sorted, error);
    if (sorted.count > 0) qsort(sorted.items, sorted.count, sizeof *sorted.items, by_address);
    space->segments = segments.items;
    space->sorted = sorted.items;
    space->segment_count = segments.count;
    space->sorted_count = sorted.count;
    if (status != USP_OK) uspi_macho_space_close(space);
    return status;
}

void uspi_macho_space_close(struct uspi_macho_space *space) {
    free(space->segments);
    free(space->sorted);
    memset(space, 0, sizeof *space);
}

const struct uspi_macho_range *uspi_macho_space_find(const struct uspi_macho_space *space, usp_addr address) {
    const struct uspi_macho_range *ranges = space->sorted;
    uint32_t i;
    USPI_FIRST(i, 0, space->sorted_count, ranges[i].low > address);
    return i > 0 && address < ranges[i - 1].high ? &ranges[i - 1] : NULL;
}

int uspi_macho_space_at(const struct uspi_macho_space *space, usp_addr address, const char *what,
                        struct uspi_bytes *rest, struct uspi_error *error) {
    const struct uspi_bytes file = space->macho.bytes;
    if (space->is_loaded) {
        *rest = uspi_bytes_at(file.source, address);
        return USP_OK;
    }
    const struct uspi_macho_range *range = uspi_macho_space_find(space, address);
    if (range == NULL) {
        return uspi_bytes_error(error, file, 0, USP_ERROR_NOT_FOUND, "%s: no segment holds address 0x%" PRIx64, what,
                                address);
    }
    uint64_t offset;
    if (!uspi_sum(range->file_offset, address - range->low, &offset)) offset = UINT64_MAX;
    return uspi_bytes_sub(file, offset, range->high - address, what, rest, error);
}
