/* SPDX-License-Identifier: MIT */
/* A checksum that is fast enough to check data before each use. It detects damage, not manipulation. It is the same on
 * every host and is specified in doc/index-format.md:
 *
 *     h = 0; for each word of 8 bytes, little-endian, the last one filled up with zeros:
 *         h = (h xor word) × 0x9e3779b97f4a7c15 modulo 2^64, rotated left by 29 bits
 *     the sum is h xor (h >> 32) xor the number of bytes, of which 32 bits are kept */
#ifndef USPI_BASE_CHECKSUM_H
#define USPI_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t uspi_checksum(const uint8_t *bytes, size_t n);

#endif
