/* SPDX-License-Identifier: MIT */
/* Growing arrays with elements of any type. */
#ifndef USPI_BASE_ARRAY_H
#define USPI_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `needed` elements of `size` bytes each. Doubles the array, so that appending elements one by one takes
 * linear time.
 *   capacity  for how many elements there is room; updated
 * Returns the array, which may have moved, or NULL when memory lacks; then the old array and *capacity are unchanged.
 * The second function is called when the room does not suffice, so that only the comparison is inline. */
void *uspi_array_grow(void *array, size_t *capacity, size_t needed, size_t size);
static inline void *uspi_array_reserve(void *array, size_t *capacity, size_t needed, size_t size) {
    if (array != NULL && needed <= *capacity) return array;
    return uspi_array_grow(array, capacity, needed, size);
}

/* Makes room for `more` elements after the first `count`. `pointer` is the address of the array's pointer, which is
 * updated. False when memory lacks. */
static inline bool uspi_room_for(void *pointer, size_t *capacity, size_t count, size_t more, size_t size) {
    void *array;
    memcpy(&array, pointer, sizeof array);
    if (more > SIZE_MAX - count) return false;
    array = uspi_array_reserve(array, capacity, count + more, size);
    if (array == NULL) return false;
    memcpy(pointer, &array, sizeof array);
    return true;
}

#endif
