/* SPDX-License-Identifier: MIT */
/* A map from addresses to the blocks that know something about them. It is made once from the ranges of all blocks, and
 * only read afterwards. An index file has it in the same form as memory (doc/index-format.md). Where several blocks
 * have ranges at one address (folded code, units that claim other units' code), it gives all of them. */
#ifndef USPI_SYMBOLIZE_LINES_ADDRESS_MAP_H
#define USPI_SYMBOLIZE_LINES_ADDRESS_MAP_H

#include "lib/symbolize/lines/checked.h"
#include "lib/symbolize/lines/packed.h"

struct uspi_map_range {
    uint64_t low, high;
    uint32_t block; /* number of the block, from 0 */
};

/* Writes the map. Sorts the ranges, which may overlap. The caller frees *bytes. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_map_write(struct uspi_map_range *ranges, size_t count, uint8_t **bytes, size_t *size);

struct uspi_map {
    const uint8_t *bytes;
    const struct uspi_checked *checked; /* NULL: the bytes have no checksums */
    uint64_t size, base, span;
    uint32_t count, buckets, sets, block_count;
    unsigned shift, start_width, value_width;
    uint64_t at_buckets, at_starts, at_values, at_sets;
};

/* Opens a map. Returns USP_OK, or USP_ERROR_FORMAT when the bytes are not a map. */
int uspi_map_open(struct uspi_map *map, const uint8_t *bytes, uint64_t size, const struct uspi_checked *checked);

/* The maximum number of blocks for one address. */
#define USPI_MAP_BLOCKS 64u

/* Finds the blocks of an address, in ascending order. Returns their number, or USP_ERROR_FORMAT when the map is
 * damaged. */
int uspi_map_find(const struct uspi_map *map, uint64_t address, uint32_t blocks[USPI_MAP_BLOCKS]);

#endif
