/* SPDX-License-Identifier: MIT */
/* Reads and writes little-endian numbers on any host. */
#ifndef USPI_ARCH_LITTLE_ENDIAN_H
#define USPI_ARCH_LITTLE_ENDIAN_H

#include <unspool/base.h>

/* Stores the lowest `width` bytes (0 … 8) of a number. */
static inline void uspi_store_le(uint8_t *to, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* These functions are written out, so that compilers make one store of each. */
static inline void uspi_store_le32(uint8_t *to, uint32_t value) {
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
}

static inline void uspi_store_le64(uint8_t *to, uint64_t value) {
    uspi_store_le32(to, (uint32_t)value);
    uspi_store_le32(to + 4, (uint32_t)(value >> 32));
}

/* Returns a number of `width` bytes (0 … 8). */
static inline uint64_t uspi_le(const uint8_t *p, unsigned width) {
    uint64_t value = 0;
    while (width-- > 0) value = value << 8 | p[width];
    return value;
}

/* These functions are written out, so that compilers make one load of each. */
static inline uint16_t uspi_le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static inline uint32_t uspi_le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t uspi_le64(const uint8_t *p) { return uspi_le32(p) | (uint64_t)uspi_le32(p + 4) << 32; }

#endif
