/* SPDX-License-Identifier: MIT */
/* CRC-32 (ISO 3309), the checksum of raw captures, gzip files and the monitor's record. */
#ifndef USPI_BASE_CRC32_H
#define USPI_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over n bytes, with the reversed polynomial 0xedb88320. The caller begins with all bits set and
 * inverts the result. It works bit by bit: the data is small, and the writer in a signal handler has no room for
 * tables. */
static inline uint32_t uspi_crc32(uint32_t crc, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0u - (crc & 1)));
    }
    return crc;
}

#endif
