/* SPDX-License-Identifier: MIT */
/* CRC-32 (ISO 3309), the checksum of raw captures, gzip files and the monitor's record. */
#ifndef USPI_BASE_CRC32_H
#define USPI_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over n bytes, with the reversed polynomial 0xedb88320. The caller begins with all bits set and
 * inverts the result. It takes four bits at a time: the data is small. */
static inline uint32_t uspi_crc32(uint32_t crc, const uint8_t *bytes, size_t n) {
    /* The checksums of the numbers 0 … 15. */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#endif
