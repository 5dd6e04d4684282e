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

/* Adds a value to a hash, which may begin as any number. The order of the values matters. Each value is mixed with
 * splitmix64's finalizer (Steele, Lea, Flood, 2014). */
static inline uint64_t uspi_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

#endif
