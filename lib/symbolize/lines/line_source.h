/* SPDX-License-Identifier: MIT */
/* Where blocks (block.h) are made from: the units of DWARF debugging information (lib/symbolize/dwarf), or runs of functions of
 * Go's table (lib/symbolize/go) or of a file of symbols (lib/symbolize/symfile), behind one contract. */
#ifndef USPI_LINE_SOURCE_H
#define USPI_LINE_SOURCE_H

#include "lib/symbolize/lines/address_map.h"
#include "lib/symbolize/lines/strings.h"

/* Implementations embed it at their beginning. */
struct uspi_line_source {
    const char *what; /* in messages: "debug information" */
    size_t units;     /* each is one block; by number */
    uint64_t size;    /* bytes that are read for all of them */
    usp_addr header;  /* address of the file's first byte as linked; of a dSYM that of its image */
    bool is_relative; /* addresses count from the header, of ELF images too: Breakpad's */
    bool is_partial;  /* it says less than debug information: GSYM, Breakpad's symbols, Go's function table */

    /* The bytes that are read for a unit: what its block costs to be made. */
    uint64_t (*unit_size)(const struct uspi_line_source *source, size_t unit);

    /* The ranges of code that units claim, some of which claim too much. unclaimed[i] becomes whether unit i claims none,
     * although it may have code. *ranges is the caller's to free. False when memory lacks. */
    bool (*claims)(const struct uspi_line_source *source, struct uspi_map_range **ranges, size_t *count,
                   bool *unclaimed);

    /* What a thread needs to make blocks, one after the other; NULL when memory lacks. To be freed, NULL is ignored. */
    void *(*create_reader)(void);
    void (*free_reader)(void *reader);

    /* Makes a unit's block. *bytes stays until the reader's next call; size 0: the unit has no code. *error tells the first
     * thing that was wrong with the unit, of which the rest is used (USP_OK). Calls for one unit are kept out of each other by
     * the caller. USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FULL. */
    int (*build)(struct uspi_line_source *source, void *reader, size_t unit, const uint8_t **bytes, size_t *size,
                 struct uspi_error *error);

    /* The sections that the strings of a unit's block are in; stays as long as the source. */
    const struct uspi_texts *(*texts)(const struct uspi_line_source *source, size_t unit);

    void (*close)(struct uspi_line_source *source);
};

/* So many bytes all blocks of a source may have together. Blocks take about a tenth of what they are made of, never more than a
 * few times as much, unless many units share one line table or list of ranges, as only damage and malice have it. */
static inline uint64_t uspi_line_source_limit(const struct uspi_line_source *source) {
    return source->size <= UINT64_MAX / 32 ? source->size * 16 + (UINT64_C(1) << 20) : UINT64_MAX;
}

#endif
