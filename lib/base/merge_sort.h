/* SPDX-License-Identifier: MIT */
/* Sorts arrays that are nearly sorted, such as ranges of code in the order of the source. Equal elements keep their
 * order. */
#ifndef USPI_BASE_MERGE_SORT_H
#define USPI_BASE_MERGE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns whether x must be before y. */
typedef bool (*uspi_before)(const void *x, const void *y);

/* Merges the elements before `middle` with those from there on. Both parts are sorted. */
static inline void uspi_merge(uint8_t *from, uint8_t *middle, uint8_t *end, uint8_t *spare, size_t size,
                              uspi_before before) {
    while (from < middle && !before(middle, from)) from += size;
    const size_t left = (size_t)(middle - from);
    const uint8_t *x = spare, *x_end = spare + left, *y = middle;
    memcpy(spare, from, left);
    for (; x < x_end && y < end; from += size) {
        const bool is_right = before(y, x);
        memcpy(from, is_right ? y : x, size);
        y += is_right ? size : 0;
        x += is_right ? 0 : size;
    }
    memcpy(from, x, (size_t)(x_end - x));
}

/* Sorts `count` elements of `size` bytes. `spare` has room for as many. With a constant size and function, compilers
 * make code for them. */
static inline void uspi_merge_sort(void *array, void *spare, size_t count, size_t size, uspi_before before) {
    uint8_t *all = array;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i + width < count; i += 2 * width) {
            const size_t right = count - i - width < width ? count - i - width : width;
            uint8_t *from = all + i * size, *middle = from + width * size;
            if (before(middle, middle - size)) uspi_merge(from, middle, middle + right * size, spare, size, before);
        }
    }
}

#endif
