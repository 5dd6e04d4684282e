/* SPDX-License-Identifier: MIT */
/* Implements memory.h: the sorted segments and files of a core, and reads from them. */
#include "lib/corefile/memory.h"
#include "lib/base/array.h"
#include "lib/base/bisect.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of pieces of a range. Kernels list an image's segment in a few pieces, where its pages have different
 * histories. */
#define PIECES_MAX 1000

/* Appends an entry of `size` bytes to the array *entries. */
static int append(void **entries, size_t *count, size_t *capacity, const void *entry, size_t size) {
    void *grown = uspi_array_reserve(*entries, capacity, *count + 1, size);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    *entries = grown;
    memcpy((char *)*entries + *count * size, entry, size);
    ++*count;
    return USP_OK;
}

int uspi_core_memory_add(struct uspi_core_memory *memory, const struct uspi_core_segment *segment) {
    void *entries = memory->segments;
    int status = append(&entries, &memory->segment_count, &memory->segment_capacity, segment, sizeof *segment);
    memory->segments = entries;
    return status;
}

int uspi_core_memory_back(struct uspi_core_memory *memory, const struct uspi_core_backing *backing) {
    void *entries = memory->backings;
    int status = append(&entries, &memory->backing_count, &memory->backing_capacity, backing, sizeof *backing);
    memory->backings = entries;
    return status;
}

static int by_address(const void *a, const void *b) {
    const struct uspi_core_segment *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int backing_by_address(const void *a, const void *b) {
    const struct uspi_core_backing *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

/* Removes the first n bytes of a segment. */
static void cut_front(struct uspi_core_segment *segment, uint64_t n) {
    segment->low += n;
    segment->size -= n;
    segment->offset += n < segment->stored ? n : segment->stored;
    segment->stored -= n < segment->stored ? n : segment->stored;
    segment->promised -= n < segment->promised ? n : segment->promised;
}

static size_t cut_overlaps(struct uspi_core_memory *memory) {
    size_t kept = 0, overlaps = 0;
    usp_addr last = 0; /* last address of the segments kept so far */
    for (size_t i = 0; i < memory->segment_count; i++) {
        struct uspi_core_segment segment = memory->segments[i];
        if (kept > 0 && segment.low <= last) {
            overlaps++;
            if (last - segment.low >= segment.size - 1) continue;
            cut_front(&segment, last - segment.low + 1);
        }
        last = segment.low + (segment.size - 1);
        memory->segments[kept++] = segment;
    }
    memory->segment_count = kept;
    return overlaps;
}

/* Of two files for one address, keeps the one that begins lower, as with segments. */
static void cut_backings(struct uspi_core_memory *memory) {
    size_t kept = 0;
    for (size_t i = 0; i < memory->backing_count; i++) {
        struct uspi_core_backing backing = memory->backings[i];
        const struct uspi_core_backing *before = kept > 0 ? &memory->backings[kept - 1] : NULL;
        if (before != NULL && backing.low - before->low < before->size) continue;
        memory->backings[kept++] = backing;
    }
    memory->backing_count = kept;
}

size_t uspi_core_memory_seal(struct uspi_core_memory *memory) {
    if (memory->segment_count > 1) {
        qsort(memory->segments, memory->segment_count, sizeof *memory->segments, by_address);
    }
    if (memory->backing_count > 1) {
        qsort(memory->backings, memory->backing_count, sizeof *memory->backings, backing_by_address);
    }
    cut_backings(memory);
    return cut_overlaps(memory);
}

void uspi_core_memory_clear(struct uspi_core_memory *memory) {
    free(memory->segments);
    free(memory->backings);
    memset(memory, 0, sizeof *memory);
}

/* Returns how many entries begin at or below the address. Each entry has `size` bytes and begins with its lowest
 * address. */
static size_t count_up_to(const void *entries, size_t count, size_t size, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, count, *(const usp_addr *)(const void *)((const char *)entries + i * size) > address);
    return i;
}

_Static_assert(offsetof(struct uspi_core_segment, low) == 0 && offsetof(struct uspi_core_backing, low) == 0,
               "count_up_to looks for the address at an entry's beginning");

static size_t segments_up_to(const struct uspi_core_memory *memory, usp_addr address) {
    return count_up_to(memory->segments, memory->segment_count, sizeof *memory->segments, address);
}

size_t uspi_core_memory_first(const struct uspi_core_memory *memory, usp_addr address) {
    size_t i = segments_up_to(memory, address);
    return i > 0 && address - memory->segments[i - 1].low < memory->segments[i - 1].size ? i - 1 : i;
}

const struct uspi_core_segment *uspi_core_memory_find(const struct uspi_core_memory *memory, usp_addr address) {
    size_t i = uspi_core_memory_first(memory, address);
    return i < memory->segment_count && memory->segments[i].low <= address ? &memory->segments[i] : NULL;
}

static const struct uspi_core_backing *find_backing(const struct uspi_core_memory *memory, usp_addr address) {
    size_t i = count_up_to(memory->backings, memory->backing_count, sizeof *memory->backings, address);
    if (i == 0) return NULL;
    const struct uspi_core_backing *backing = &memory->backings[i - 1];
    return address - backing->low < backing->size ? backing : NULL;
}

/* Reads up to `limit` bytes from the file for an address. Returns the number of bytes read, or a negative status;
 * `absent` is the status if there is no file. */
static int64_t read_backing(const struct uspi_core_memory *memory, usp_addr from, void *to, uint64_t limit,
                            int absent) {
    const struct uspi_core_backing *backing = find_backing(memory, from);
    if (backing == NULL) return absent;
    uint64_t distance = from - backing->low;
    uint64_t there = backing->bytes.size < backing->size ? backing->bytes.size : backing->size;
    if (distance >= there) return USP_ERROR_ABSENT;
    if (limit > there - distance) limit = there - distance;
    int status = uspi_bytes_read(backing->bytes, distance, to, (size_t)limit, "text", NULL);
    return status == USP_OK ? (int64_t)limit : status;
}

/* Reads the first of n bytes at an address. Returns the number of bytes read, or a negative status. */
static int64_t read_some(const struct uspi_core_memory *memory, usp_addr from, void *to, size_t n) {
    size_t i = segments_up_to(memory, from);
    const struct uspi_core_segment *segment = i > 0 ? &memory->segments[i - 1] : NULL;
    uint64_t limit = n;
    if (segment == NULL || from - segment->low >= segment->size) {
        if (i < memory->segment_count && limit > memory->segments[i].low - from) {
            limit = memory->segments[i].low - from;
        }
        return read_backing(memory, from, to, limit, USP_ERROR_UNREADABLE);
    }
    uint64_t distance = from - segment->low;
    if (distance < segment->stored) {
        if (limit > segment->stored - distance) limit = segment->stored - distance;
        int status = uspi_bytes_read(memory->core, segment->offset + distance, to, (size_t)limit, "memory", NULL);
        return status == USP_OK ? (int64_t)limit : status;
    }
    /* Bytes that were cut off the core may have differed from the file's. */
    if (distance < segment->promised || (segment->access & USPI_CORE_WRITE) != 0) return USP_ERROR_ABSENT;
    if (limit > segment->size - distance) limit = segment->size - distance;
    return read_backing(memory, from, to, limit, USP_ERROR_ABSENT);
}

int uspi_core_memory_read(void *context, usp_addr from, void *to, size_t n) {
    const struct uspi_core_memory *memory = context;
    uint8_t *p = to;
    if (n > 0 && from + (n - 1) < from) return USP_ERROR_UNREADABLE;
    if (memory->live.read != NULL) return memory->live.read(memory->live.context, from, to, n);
    while (n > 0) {
        int64_t got = read_some(memory, from, p, n);
        if (got < 0) return (int)got;
        p += got;
        from += (usp_addr)got;
        n -= (size_t)got;
    }
    return USP_OK;
}

bool uspi_core_memory_lacks(const struct uspi_core_memory *memory, usp_addr low, uint64_t size) {
    size_t i = uspi_core_memory_first(memory, low);
    if (memory->live.read != NULL) return false;
    for (unsigned pieces = 0; size > 0; pieces++, i++) {
        if (i >= memory->segment_count || pieces > PIECES_MAX) return true;
        const struct uspi_core_segment *segment = &memory->segments[i];
        if (low < segment->low) return true;
        uint64_t distance = low - segment->low, covered = segment->size - distance;
        if (covered > size) covered = size;
        bool stored = distance + covered <= segment->stored;
        if (!stored && (segment->access & USPI_CORE_WRITE) == 0) return true;
        low += covered;
        size -= covered;
    }
    return false;
}
