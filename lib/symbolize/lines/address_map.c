/* SPDX-License-Identifier: MIT */
/* See address_map.h.
 *
 *     header:  base 8, span 8, count 4, buckets 4, words of sets 4, shift 1, width of starts 1, width of values 1, 0 1,
 *              blocks 4, 0 4
 *     buckets: number of the first entry whose start − base is not below bucket << shift; one more at the end
 *     starts:  of the entries, from base on, ascending
 *     values:  what applies from there on: 0: nothing; 1 + number of a block; or 1 + blocks + position of a set
 *     sets:    number of blocks, and the blocks' numbers, ascending */
#include "lib/symbolize/lines/address_map.h"
#include "lib/base/bisect.h"

#include "arch/little_endian.h"
#include "lib/base/array.h"
#include "lib/base/merge_sort.h"

#include <string.h>

#define HEADER 40u

/* ---- writing ---- */

struct entry {
    uint64_t start;
    uint64_t value; /* 0, 1 + block, or SET | place in sets */
};

#define SET (UINT64_C(1) << 63)

struct writing {
    struct entry *entries;
    size_t count, capacity;
    uint32_t *sets;
    size_t set_count, set_room;
    uint32_t *open; /* blocks with a range here, ascending */
    uint64_t *ends; /* where the range of each open block ends */
    size_t open_count, open_capacity, end_capacity;
    size_t *seen; /* by hashes: 1 + the place of the last set with such a hash; 0: none */
    bool is_out_of_memory;
};

/* The number of bits of a hash of a set. */
#define SEEN_BITS 12u

/* A uspi_before function. */
static bool range_before(const void *a, const void *b) {
    const struct uspi_map_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low;
    if (x->block != y->block) return x->block < y->block;
    return x->high < y->high;
}

/* Returns the value for the open blocks, of which there are several. Many functions are in the same units, so an equal
 * set is used again. */
static uint64_t value_of_set(struct writing *w) {
    const size_t count = w->open_count, bytes = count * sizeof *w->open;
    uint32_t hash = (uint32_t)count;
    for (size_t i = 0; i < count; i++) hash = (hash ^ w->open[i]) * UINT32_C(0x9e3779b1);
    size_t *seen = &w->seen[hash >> (32 - SEEN_BITS)];
    if (*seen != 0 && w->sets[*seen - 1] == count && memcmp(w->sets + *seen, w->open, bytes) == 0)
        return SET | (*seen - 1);
    if (!uspi_room_for(&w->sets, &w->set_room, w->set_count, count + 1, sizeof *w->sets)) {
        w->is_out_of_memory = true;
        return 0;
    }
    const size_t at = w->set_count;
    w->sets[at] = (uint32_t)count;
    memcpy(w->sets + at + 1, w->open, bytes);
    w->set_count += count + 1;
    *seen = at + 1;
    return SET | at;
}

/* Adds an entry: from `start` on, the open blocks apply. */
static void add_entry(struct writing *w, uint64_t start) {
    uint64_t value = 0;
    if (w->open_count == 1) value = 1 + (uint64_t)w->open[0];
    if (w->open_count > 1) value = value_of_set(w);
    if (w->is_out_of_memory) return;
    if (w->count > 0 && w->entries[w->count - 1].start == start) w->count--;
    if (w->count > 0 && w->entries[w->count - 1].value == value) return;
    if (!uspi_room_for(&w->entries, &w->capacity, w->count, 1, sizeof *w->entries)) {
        w->is_out_of_memory = true;
        return;
    }
    w->entries[w->count++] = (struct entry){start, value};
}

/* Closes the ranges that end at or before an address, in the order of their ends. */
static void close_until(struct writing *w, uint64_t address) {
    for (;;) {
        uint64_t end = UINT64_MAX;
        size_t kept = 0;
        for (size_t i = 0; i < w->open_count; i++) end = w->ends[i] < end ? w->ends[i] : end;
        if (w->open_count == 0 || end > address) return;
        for (size_t i = 0; i < w->open_count; i++) {
            if (w->ends[i] == end) continue;
            w->open[kept] = w->open[i];
            w->ends[kept++] = w->ends[i];
        }
        w->open_count = kept;
        add_entry(w, end);
    }
}

static void open_range(struct writing *w, const struct uspi_map_range *range) {
    size_t at = 0;
    while (at < w->open_count && w->open[at] < range->block) at++;
    if (at < w->open_count && w->open[at] == range->block) {
        if (range->high > w->ends[at]) w->ends[at] = range->high;
        return;
    }
    /* More units than this do not share code; further ones would only cost time. */
    if (w->open_count == USPI_MAP_BLOCKS) return;
    if (!uspi_room_for(&w->open, &w->open_capacity, w->open_count, 1, sizeof *w->open) ||
        !uspi_room_for(&w->ends, &w->end_capacity, w->open_count, 1, sizeof *w->ends)) {
        w->is_out_of_memory = true;
        return;
    }
    memmove(w->open + at + 1, w->open + at, (w->open_count - at) * sizeof *w->open);
    memmove(w->ends + at + 1, w->ends + at, (w->open_count - at) * sizeof *w->ends);
    w->open[at] = range->block;
    w->ends[at] = range->high;
    w->open_count++;
}

static unsigned bytes_for(uint64_t value) {
    const unsigned bits = uspi_packed_width(value);
    return bits == 0 ? 1 : (bits + 7) / 8;
}

static int lay_out(struct writing *w, uint32_t blocks, uint8_t **bytes, size_t *size) {
    const uint64_t base = w->count > 0 ? w->entries[0].start : 0;
    const uint64_t span = w->count > 0 ? w->entries[w->count - 1].start - base : 0;
    unsigned shift = 0;
    /* Make about eight entries for each bucket. */
    while (shift < 63 && span >> shift > w->count / 8) shift++;
    const uint64_t buckets = w->count > 0 ? (span >> shift) + 1 : 0;
    const unsigned start_width = bytes_for(span), value_width = bytes_for(1 + (uint64_t)blocks + w->set_count);
    const uint64_t all = HEADER + 4 * (buckets + 1) + w->count * ((uint64_t)start_width + value_width) +
                         4 * (uint64_t)w->set_count + USPI_PACKED_SLACK;
    if (w->count > UINT32_MAX - 1 || w->set_count > UINT32_MAX || all > SIZE_MAX / 2) return USP_ERROR_NO_MEMORY;
    uint8_t *to = calloc(1, (size_t)all);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    uspi_store_le(to, base, 8);
    uspi_store_le(to + 8, span, 8);
    uspi_store_le(to + 16, w->count, 4);
    uspi_store_le(to + 20, buckets, 4);
    uspi_store_le(to + 24, w->set_count, 4);
    to[28] = (uint8_t)shift;
    to[29] = (uint8_t)start_width;
    to[30] = (uint8_t)value_width;
    uspi_store_le(to + 32, blocks, 4);
    uint8_t *bucket = to + HEADER, *starts = bucket + 4 * (size_t)(buckets + 1),
            *values = starts + w->count * start_width;
    uint8_t *sets = values + w->count * value_width;
    uint64_t next = 0;
    /* Eight bytes are stored of each number. What is after it is stored later. */
    for (size_t i = 0; i < w->count; i++) {
        const struct entry *entry = &w->entries[i];
        for (; next <= (entry->start - base) >> shift; next++) uspi_store_le32(bucket + 4 * next, (uint32_t)i);
        uspi_store_le64(starts + i * start_width, entry->start - base);
    }
    for (size_t i = 0; i < w->count; i++) {
        const uint64_t value = w->entries[i].value;
        uspi_store_le64(values + i * value_width, (value & SET) != 0 ? 1 + (uint64_t)blocks + (value & ~SET) : value);
    }
    for (; next <= buckets; next++) uspi_store_le32(bucket + 4 * next, (uint32_t)w->count);
    for (size_t i = 0; i < w->set_count; i++) uspi_store_le32(sets + 4 * i, w->sets[i]);
    *bytes = to;
    *size = (size_t)all;
    return USP_OK;
}

int uspi_map_write(struct uspi_map_range *ranges, size_t count, uint8_t **bytes, size_t *size) {
    struct writing w = {0};
    uint32_t blocks = 0;
    struct uspi_map_range *spare = malloc((count + 1) * sizeof *spare);
    if (spare == NULL) return USP_ERROR_NO_MEMORY;
    uspi_merge_sort(ranges, spare, count, sizeof *ranges, range_before);
    free(spare);
    w.seen = calloc((size_t)1 << SEEN_BITS, sizeof *w.seen);
    if (w.seen == NULL) return USP_ERROR_NO_MEMORY;
    bool has_begun = false; /* a range begins at this address */
    for (size_t i = 0; i < count && !w.is_out_of_memory; i++) {
        const struct uspi_map_range *range = &ranges[i];
        if (range->low < range->high) {
            if (!has_begun) close_until(&w, range->low);
            has_begun = true;
            open_range(&w, range);
            if (range->block >= blocks) blocks = range->block + 1;
        }
        if (i + 1 < count && range[1].low == range->low) continue;
        if (has_begun) add_entry(&w, range->low);
        has_begun = false;
    }
    close_until(&w, UINT64_MAX);
    int status = w.is_out_of_memory ? USP_ERROR_NO_MEMORY : lay_out(&w, blocks, bytes, size);
    free(w.entries);
    free(w.sets);
    free(w.seen);
    free(w.open);
    free(w.ends);
    return status;
}

/* ---- reading ---- */

/* Returns whether bytes of the map have the right checksum. */
static bool is_right(const struct uspi_map *map, uint64_t at, uint64_t size) {
    return uspi_checked_range(map->checked, map->bytes + (size_t)at, size);
}

/* Returns a number of 1 to 8 bytes. Reads eight bytes: the map ends with as many zeros. */
static inline uint64_t get(const struct uspi_map *map, uint64_t at, unsigned width) {
    return uspi_le64(map->bytes + (size_t)at) & UINT64_MAX >> (64 - 8 * width);
}

int uspi_map_open(struct uspi_map *map, const uint8_t *bytes, uint64_t size, const struct uspi_checked *checked) {
    *map = (struct uspi_map){.bytes = bytes, .checked = checked, .size = size};
    if (size < HEADER || !uspi_checked_range(checked, bytes, HEADER)) return USP_ERROR_FORMAT;
    map->base = uspi_le64(bytes);
    map->span = uspi_le64(bytes + 8);
    map->count = uspi_le32(bytes + 16);
    map->buckets = uspi_le32(bytes + 20);
    map->sets = uspi_le32(bytes + 24);
    map->shift = bytes[28];
    map->start_width = bytes[29];
    map->value_width = bytes[30];
    map->block_count = uspi_le32(bytes + 32);
    if (map->shift > 63 || map->start_width - 1 > 7 || map->value_width - 1 > 7) return USP_ERROR_FORMAT;
    map->at_buckets = HEADER;
    map->at_starts = map->at_buckets + 4 * ((uint64_t)map->buckets + 1);
    map->at_values = map->at_starts + (uint64_t)map->count * map->start_width;
    map->at_sets = map->at_values + (uint64_t)map->count * map->value_width;
    return map->at_sets + 4 * (uint64_t)map->sets + USPI_PACKED_SLACK == size ? USP_OK : USP_ERROR_FORMAT;
}

/* Finds the last entry at or before a distance from the base. *entry becomes its number + 1; 0: none. Returns false
 * when the map is damaged. */
static bool find_entry(const struct uspi_map *map, uint64_t distance, uint64_t *entry) {
    const uint64_t bucket = distance >> map->shift, at = map->at_buckets + 4 * bucket;
    if (bucket >= map->buckets) {
        *entry = map->count;
        return true;
    }
    if (!is_right(map, at, 8)) return false;
    const uint64_t low = get(map, at, 4), high = get(map, at + 4, 4);
    if (low > high || high > map->count) return false;
    if (!is_right(map, map->at_starts + low * map->start_width, (high - low) * map->start_width)) return false;
    USPI_FIRST(*entry, low, high, get(map, map->at_starts + *entry * map->start_width, map->start_width) > distance);
    return true;
}

int uspi_map_find(const struct uspi_map *map, uint64_t address, uint32_t blocks[USPI_MAP_BLOCKS]) {
    uint64_t entry;
    if (map->count == 0 || address < map->base) return 0;
    if (!find_entry(map, address - map->base, &entry)) return USP_ERROR_FORMAT;
    if (entry == 0) return 0;
    const uint64_t at = map->at_values + (entry - 1) * map->value_width;
    if (!is_right(map, at, map->value_width)) return USP_ERROR_FORMAT;
    const uint64_t value = get(map, at, map->value_width);
    if (value == 0) return 0;
    if (value <= map->block_count) {
        blocks[0] = (uint32_t)(value - 1);
        return 1;
    }
    const uint64_t place = value - 1 - map->block_count, set = map->at_sets + 4 * place;
    if (place >= map->sets || !is_right(map, set, 4)) return USP_ERROR_FORMAT;
    const uint64_t count = get(map, set, 4);
    if (count > USPI_MAP_BLOCKS || count > map->sets - place - 1) return USP_ERROR_FORMAT;
    if (!is_right(map, set + 4, 4 * count)) return USP_ERROR_FORMAT;
    for (uint64_t i = 0; i < count; i++) blocks[i] = (uint32_t)get(map, set + 4 + 4 * i, 4);
    return (int)count;
}
