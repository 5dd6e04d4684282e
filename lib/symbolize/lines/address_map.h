/* SPDX-License-Identifier: MIT */
/* Which blocks say something of an address: a table that is made once of all their ranges and then only read. In an index file
 * it lies as it is in memory (doc/index-format.md). Where several blocks have ranges at one address (folded code, units that
 * claim what is not theirs), it tells all of them. */
#ifndef USPI_ADDRESS_MAP_H
#define USPI_ADDRESS_MAP_H

#include "lib/symbolize/lines/block.h"

struct uspi_map_range {
    uint64_t low, high;
    uint32_t block; /* its number, from 0 */
};

/* Writes the table. Ranges may overlap and are sorted here. *bytes is the caller's to free. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_map_write(struct uspi_map_range *ranges, size_t count, uint8_t **bytes, size_t *size);

struct uspi_map {
    const uint8_t *bytes;
    const struct uspi_checked *checked; /* as in struct uspi_block */
    uint64_t size, base, span;
    uint32_t count, buckets, sets, block_count;
    unsigned shift, start_width, value_width;
    uint64_t at_buckets, at_starts, at_values, at_sets;
};

/* USP_OK, or USP_ERROR_FORMAT when the bytes are no such table. */
int uspi_map_open(struct uspi_map *map, const uint8_t *bytes, uint64_t size, const struct uspi_checked *checked);

/* So many blocks are given for one address. */
#define USPI_MAP_BLOCKS 64u

/* The blocks of an address, ascending. Returns how many, or USP_ERROR_FORMAT when the table is damaged. */
int uspi_map_find(const struct uspi_map *map, uint64_t address, uint32_t blocks[USPI_MAP_BLOCKS]);

#endif
