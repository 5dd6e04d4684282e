/* SPDX-License-Identifier: MIT */
/* A hash of bytes for tables in memory: quick, and the same for equal bytes. It is not written to files, and nothing keeps hostile
 * bytes from colliding. */
#ifndef USPI_HASH_H
#define USPI_HASH_H

#include "arch/little_endian.h"

/* Words are multiplied by 2^64 over the golden ratio, what is left by FNV-1a's factor (RFC 9923). */
static inline uint64_t uspi_hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = length;
    for (; length >= 8; bytes += 8, length -= 8) {
        hash = (hash ^ uspi_le64((const uint8_t *)bytes)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; length > 0; bytes++, length--) hash = (hash ^ (uint8_t)*bytes) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* A hash with one more value in it; begins with any number. The order of the values matters: splitmix64's finalizer (Steele, Lea,
 * Flood, 2014) at each of them. */
static inline uint64_t uspi_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

#endif
