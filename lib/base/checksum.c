/* SPDX-License-Identifier: MIT */
/* See checksum.h. */
#include "lib/base/checksum.h"

#include "arch/little_endian.h"

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h << 29 | h >> 35;
}

uint32_t uspi_checksum(const uint8_t *bytes, size_t n) {
    uint64_t h = 0;
    size_t at = 0;
    for (; n - at >= 8; at += 8) h = mix(h, uspi_le64(bytes + at));
    if (at < n) h = mix(h, uspi_le(bytes + at, (unsigned)(n - at)));
    return (uint32_t)(h ^ h >> 32 ^ n);
}
