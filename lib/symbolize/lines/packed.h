/* SPDX-License-Identifier: MIT */
/* Arrays of records whose fields have as many bits as their largest value needs. Most tables of a block have this form
 * (block.h). Bit n of such an array is bit n % 8 of byte n / 8, on every host. A field has at most 56 bits. Eight bytes
 * may be read from the byte where it begins, so code that makes such an array leaves eight bytes after it. */
#ifndef USPI_SYMBOLIZE_LINES_PACKED_H
#define USPI_SYMBOLIZE_LINES_PACKED_H

#include "lib/object/bytes.h"

#define USPI_PACKED_WIDTH_MAX 56u
#define USPI_PACKED_SLACK     8u

static inline uint64_t uspi_packed_get(const uint8_t *bytes, uint64_t bit, unsigned width) {
    return uspi_le64(bytes + (size_t)(bit / 8)) >> (bit % 8) & ((UINT64_C(1) << width) - 1);
}

/* Writes a field into bytes whose bits are 0 there. The value needs at most as many bits as the field has. */
static inline void uspi_packed_put(uint8_t *bytes, uint64_t bit, uint64_t value) {
    uint8_t *at = bytes + (size_t)(bit / 8);
    uspi_store_le64(at, uspi_le64(at) | value << (bit % 8));
}

/* Returns how many bits a value needs. */
static inline unsigned uspi_packed_width(uint64_t value) {
    unsigned width = 0;
    for (; value != 0; value >>= 1) width++;
    return width;
}

static inline uint64_t uspi_packed_size(uint64_t count, unsigned record) { return (count * record + 7) / 8; }

#endif
