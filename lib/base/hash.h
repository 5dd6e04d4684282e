/* SPDX-License-Identifier: MIT */
/* A fast hash of bytes for tables in memory. It is not written to files, and does not resist bytes that are chosen to
 * collide. */
#ifndef USPI_BASE_HASH_H
#define USPI_BASE_HASH_H

#include "arch/little_endian.h"

/* Hashes bytes. Words, and the rest as one, are multiplied by 2^64 divided by the golden ratio. A last multiplication
 * lets each bit change the lowest ones, by which tables find their slots: names differ in few bits, as in "f101" and
 * "f102". */
static inline uint64_t uspi_hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = length, rest = 0;
    for (; length >= 8; bytes += 8, length -= 8) {
        hash = (hash ^ uspi_le64((const uint8_t *)bytes)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; length > 0; bytes++, length--) rest = rest << 8 | (uint8_t)*bytes;
    hash = (hash ^ rest) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 29;
}

/* splitmix64's finalizer (Steele, Lea, Flood, 2014): each bit of the number changes each bit of the result. */
static inline uint64_t uspi_finalize(uint64_t hash) {
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* Adds a value to a hash, which may begin as any number. The order of the values matters. */
static inline uint64_t uspi_mix(uint64_t hash, uint64_t value) {
    return uspi_finalize((hash ^ value) + UINT64_C(0x9e3779b97f4a7c15));
}

/* Adds a word to the sum of many that is only compared: one multiplication instead of uspi_mix's two. */
static inline uint64_t uspi_add_word(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    return sum ^ sum >> 31;
}

#endif
