/* SPDX-License-Identifier: MIT */
/* See string_pool.h.
 *
 *     header:  strings 8, bytes of the longest one 4, width of positions 1, 0 3
 *     groups:  position of each group's first string, counted from the first string of all
 *     strings: length shared with the string before it (0 for a group's first), length of the rest, the rest */
#include "lib/symbolize/lines/string_pool.h"

#include "arch/little_endian.h"
#include "lib/base/array.h"
#include "lib/base/hash.h"

#include <string.h>

#define HEADER 16u

/* ---- reading ---- */

int uspi_string_pool_open(struct uspi_string_pool *pool, const uint8_t *bytes, uint64_t size,
                          const struct uspi_checked *checked) {
    *pool = (struct uspi_string_pool){.bytes = bytes, .checked = checked, .size = size};
    if (size < HEADER + USPI_PACKED_SLACK || !uspi_checked_range(checked, bytes, HEADER)) return USP_ERROR_FORMAT;
    pool->count = uspi_le64(bytes);
    pool->longest = uspi_le32(bytes + 8);
    pool->width = bytes[12];
    if (pool->width == 0 || pool->width > 8 || pool->count > size) return USP_ERROR_FORMAT;
    const uint64_t groups = (pool->count + USPI_POOL_GROUP - 1) / USPI_POOL_GROUP;
    pool->at_groups = HEADER;
    pool->at_strings = HEADER + groups * pool->width;
    /* No string is longer than the whole pool. */
    return pool->at_strings + USPI_PACKED_SLACK <= size && pool->longest <= size ? USP_OK : USP_ERROR_FORMAT;
}

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*p)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

static bool group_at(const struct uspi_string_pool *pool, uint64_t group, uint64_t *at) {
    const uint64_t groups = (pool->count + USPI_POOL_GROUP - 1) / USPI_POOL_GROUP;
    const uint64_t left = pool->size - USPI_PACKED_SLACK - pool->at_strings;
    if (group >= groups) {
        *at = left;
        return group == groups;
    }
    const uint8_t *place = pool->bytes + (size_t)(pool->at_groups + group * pool->width);
    if (!uspi_checked_range(pool->checked, place, pool->width)) return false;
    *at = uspi_le(place, pool->width);
    return *at <= left;
}

/* Decodes string `number` of a group into `to`, which has `capacity` bytes. False: the bytes are damaged. */
static bool decode(const struct uspi_string_pool *pool, uint64_t group, unsigned number, char *to, size_t capacity,
                   size_t *length) {
    uint64_t from, end;
    if (!group_at(pool, group, &from) || !group_at(pool, group + 1, &end) || from > end) return false;
    const uint8_t *p = pool->bytes + (size_t)(pool->at_strings + from), *stop = p + (size_t)(end - from);
    if (!uspi_checked_range(pool->checked, p, end - from)) return false;
    *length = 0;
    for (unsigned i = 0; i <= number; i++) {
        uint64_t common, more;
        if (!read_varint(&p, stop, &common) || !read_varint(&p, stop, &more)) return false;
        if (common > *length || more > (uint64_t)(stop - p) || common + more >= capacity) return false;
        memcpy(to + (size_t)common, p, (size_t)more);
        p += (size_t)more;
        *length = (size_t)(common + more);
    }
    return memchr(to, 0, *length) == NULL;
}

/* The size of a buffer into which most strings fit. Longer strings need an allocation. */
#define ON_STACK 1024

int uspi_string_pool_find(const struct uspi_string_pool *pool, uint64_t number, uspi_pool_keep keep,
                          struct uspi_names *names, const char **text) {
    char small[ON_STACK], *buffer = small;
    size_t length;
    *text = NULL;
    if (number == 0 || number > pool->count) return USP_ERROR_FORMAT;
    const size_t wanted = (size_t)pool->longest + 1;
    const uint64_t group = (number - 1) / USPI_POOL_GROUP;
    const unsigned in_group = (unsigned)((number - 1) % USPI_POOL_GROUP);
    bool is_whole = decode(pool, group, in_group, buffer, sizeof small < wanted ? sizeof small : wanted, &length);
    if (!is_whole && wanted > sizeof small) {
        buffer = malloc(wanted);
        if (buffer == NULL) return USP_ERROR_NO_MEMORY;
        is_whole = decode(pool, group, in_group, buffer, wanted, &length);
    }
    const bool is_text = is_whole && length > 0;
    if (is_text) *text = keep(names, buffer, length);
    if (buffer != small) free(buffer);
    if (!is_text) return USP_ERROR_FORMAT;
    return *text != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length) {
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Compares a text with a string of the pool, which is decoded into `buffer`. Returns false when the bytes are
 * damaged. */
static bool compare_with(const struct uspi_string_pool *pool, uint64_t number, const char *text, char *buffer,
                         int *order) {
    size_t length;
    if (!decode(pool, number / USPI_POOL_GROUP, (unsigned)(number % USPI_POOL_GROUP), buffer, (size_t)pool->longest + 1,
                &length)) {
        return false;
    }
    *order = compare_bytes(text, strlen(text), buffer, length);
    return true;
}

int uspi_string_pool_number_of(const struct uspi_string_pool *pool, const char *text, uint64_t *number) {
    uint64_t low = 0, high = pool->count;
    *number = 0;
    if (strlen(text) > pool->longest) return USP_OK;
    char *buffer = malloc((size_t)pool->longest + 1);
    if (buffer == NULL) return USP_ERROR_NO_MEMORY;
    while (low < high && *number == 0) {
        const uint64_t middle = low + (high - low) / 2;
        int order;
        if (!compare_with(pool, middle, text, buffer, &order)) break;
        if (order == 0) {
            *number = middle + 1;
        } else if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    free(buffer);
    return USP_OK;
}

/* ---- writing ---- */

struct text {
    const char *bytes;
    size_t length;
    uint64_t number; /* from 1, in the order of adding */
};

struct uspi_string_pool_writer {
    struct text *all;
    size_t count, capacity;
    uint32_t *hash; /* numbers of strings; 0: the slot is empty */
    size_t hash_size;
    uint64_t *numbers; /* numbers in the pool, by the numbers before sorting */
    char **copies;
    size_t copy_count, copy_capacity;
};

struct uspi_string_pool_writer *uspi_pool_writer_create(void) {
    return calloc(1, sizeof(struct uspi_string_pool_writer));
}

void uspi_pool_writer_free(struct uspi_string_pool_writer *writer) {
    if (writer == NULL) return;
    for (size_t i = 0; i < writer->copy_count; i++) free(writer->copies[i]);
    free(writer->copies);
    free(writer->all);
    free(writer->hash);
    free(writer->numbers);
    free(writer);
}

static bool grow_hash(struct uspi_string_pool_writer *w) {
    const size_t size = w->hash_size == 0 ? 4096 : w->hash_size * 2;
    uint32_t *grown = calloc(size, sizeof *grown);
    if (grown == NULL) return false;
    for (size_t i = 0; i < w->count; i++) {
        size_t at = (size_t)uspi_hash_bytes(w->all[i].bytes, w->all[i].length) & (size - 1);
        while (grown[at] != 0) at = (at + 1) & (size - 1);
        grown[at] = (uint32_t)i + 1;
    }
    free(w->hash);
    w->hash = grown;
    w->hash_size = size;
    return true;
}

uint64_t uspi_string_pool_add(struct uspi_string_pool_writer *w, const char *text, bool is_copied) {
    const size_t length = strlen(text);
    if (w->count >= UINT32_MAX - 1 || length >= UINT32_MAX) return 0;
    if (w->count * 2 >= w->hash_size && !grow_hash(w)) return 0;
    size_t at = (size_t)uspi_hash_bytes(text, length) & (w->hash_size - 1);
    for (; w->hash[at] != 0; at = (at + 1) & (w->hash_size - 1)) {
        const struct text *found = &w->all[w->hash[at] - 1];
        if (found->length == length && memcmp(found->bytes, text, length) == 0) return w->hash[at];
    }
    if (!uspi_room_for(&w->all, &w->capacity, w->count, 1, sizeof *w->all)) return 0;
    if (is_copied) {
        if (!uspi_room_for(&w->copies, &w->copy_capacity, w->copy_count, 1, sizeof *w->copies)) return 0;
        char *copy = malloc(length + 1);
        if (copy == NULL) return 0;
        memcpy(copy, text, length + 1);
        w->copies[w->copy_count++] = copy;
        text = copy;
    }
    w->all[w->count++] = (struct text){text, length, w->count};
    w->hash[at] = (uint32_t)w->count;
    return w->count;
}

static int by_bytes(const void *a, const void *b) {
    const struct text *x = a, *y = b;
    return compare_bytes(x->bytes, x->length, y->bytes, y->length);
}

static uint8_t *put_varint(uint8_t *to, uint64_t value) {
    do {
        const uint8_t low = value & 0x7f;
        value >>= 7;
        *to++ = (uint8_t)(low | (value != 0 ? 0x80 : 0));
    } while (value != 0);
    return to;
}

/* Writes the strings after the room for the groups' positions. Returns the number of bytes written. */
static size_t put_strings(const struct text *all, size_t count, uint8_t *strings, uint64_t *places, uint64_t *longest) {
    uint8_t *to = strings;
    *longest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct text *text = &all[i], *before = i % USPI_POOL_GROUP != 0 ? text - 1 : NULL;
        size_t common = 0;
        if (before == NULL) places[i / USPI_POOL_GROUP] = (uint64_t)(to - strings);
        while (before != NULL && common < before->length && common < text->length &&
               before->bytes[common] == text->bytes[common]) {
            common++;
        }
        to = put_varint(to, common);
        to = put_varint(to, text->length - common);
        memcpy(to, text->bytes + common, text->length - common);
        to += text->length - common;
        if (text->length > *longest) *longest = text->length;
    }
    return (size_t)(to - strings);
}

int uspi_string_pool_write(struct uspi_string_pool_writer *w, uint8_t **bytes, size_t *size) {
    const size_t groups = (w->count + USPI_POOL_GROUP - 1) / USPI_POOL_GROUP;
    uint64_t all = 0, longest;
    /* Sort a copy, because the hash table refers to the original order. */
    struct text *sorted = malloc((w->count + 1) * sizeof *sorted);
    w->numbers = malloc((w->count + 1) * sizeof *w->numbers);
    uint64_t *places = malloc((groups + 1) * sizeof *places);
    for (size_t i = 0; i < w->count; i++) all += w->all[i].length + 20;
    uint8_t *to = all < SIZE_MAX / 2 ? malloc(HEADER + groups * 8 + (size_t)all + USPI_PACKED_SLACK) : NULL;
    if (sorted == NULL || w->numbers == NULL || places == NULL || to == NULL) {
        free(sorted);
        free(places);
        free(to);
        return USP_ERROR_NO_MEMORY;
    }
    if (w->count > 0) memcpy(sorted, w->all, w->count * sizeof *sorted);
    if (w->count > 1) qsort(sorted, w->count, sizeof *sorted, by_bytes);
    w->numbers[0] = 0;
    for (size_t i = 0; i < w->count; i++) w->numbers[sorted[i].number] = i + 1;
    uint8_t *strings = to + HEADER + groups * 8;
    const size_t used = put_strings(sorted, w->count, strings, places, &longest);
    free(sorted);
    const unsigned width = (uint64_t)used >> 32 != 0 ? 8 : used >> 24 != 0 ? 4 : 3;
    memset(to, 0, HEADER);
    uspi_store_le(to, w->count, 8);
    uspi_store_le(to + 8, longest, 4);
    to[12] = (uint8_t)width;
    for (size_t i = 0; i < groups; i++) uspi_store_le(to + HEADER + i * width, places[i], width);
    memmove(to + HEADER + groups * width, strings, used);
    *size = HEADER + groups * width + used + USPI_PACKED_SLACK;
    memset(to + *size - USPI_PACKED_SLACK, 0, USPI_PACKED_SLACK);
    *bytes = to;
    free(places);
    return USP_OK;
}

uint64_t uspi_string_pool_number(const struct uspi_string_pool_writer *w, uint64_t added) {
    return added <= w->count ? w->numbers[added] : 0;
}

uint64_t uspi_string_pool_count(const struct uspi_string_pool_writer *w) { return w->count; }
