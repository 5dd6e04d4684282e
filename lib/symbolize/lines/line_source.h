/* SPDX-License-Identifier: MIT */
/* A source of blocks (block.h), behind one contract: the units of DWARF debug information (lib/symbolize/dwarf), or
 * runs of functions of Go's table (lib/symbolize/go) or of a symbol file (lib/symbolize/symfile). */
#ifndef USPI_SYMBOLIZE_LINES_LINE_SOURCE_H
#define USPI_SYMBOLIZE_LINES_LINE_SOURCE_H

#include "lib/symbolize/lines/address_map.h"
#include "lib/symbolize/lines/strings.h"

#include <stdatomic.h>

/* The first member of each implementation. */
struct uspi_line_source {
    const char *what; /* for messages, such as "debug information" */
    size_t units;     /* number of units; each is one block */
    uint64_t size;    /* bytes that are read for all units */
    usp_addr header;  /* address of the file's first byte as linked; for a dSYM, of its image's first byte */
    bool is_relative; /* addresses count from the header, also for ELF images: Breakpad's symbols */
    bool is_partial;  /* it says less than debug information does: GSYM, Breakpad's symbols, Go's function table */
    /* Files to which it refers were not found. Threads that build blocks set it. */
    atomic_bool lacks_files;
    /* Permissions that files to which it refers withhold (uspi_file_withheld). Threads that build blocks add to it. */
    _Atomic(uint32_t) withheld;

    /* Returns the bytes that are read for a unit, which is what its block costs to make. */
    uint64_t (*unit_size)(const struct uspi_line_source *source, size_t unit);

    /* Lists the ranges of code that units claim, some of which claim too much. unclaimed[i] becomes true if unit i
     * claims none, although it may have code. The caller frees *ranges. Returns false when memory is exhausted. */
    bool (*claims)(const struct uspi_line_source *source, struct uspi_map_range **ranges, size_t *count,
                   bool *unclaimed);

    /* Makes what one thread needs to make blocks, one after the other. Returns NULL when memory is exhausted. */
    void *(*create_reader)(void);

    /* Frees what create_reader made. NULL is ignored. */
    void (*free_reader)(void *reader);

    /* Makes a unit's block. *bytes stays valid until the reader's next call; size 0: the unit has no code. *error says
     * the first thing that was wrong with the unit, even if the rest is used (USP_OK). The caller keeps calls for the
     * same unit apart. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FULL. */
    int (*build)(struct uspi_line_source *source, void *reader, size_t unit, const uint8_t **bytes, size_t *size,
                 struct uspi_error *error);

    /* Returns the sections that have the strings of a unit's block. They stay as long as the source. */
    const struct uspi_texts *(*texts)(const struct uspi_line_source *source, size_t unit);

    void (*close)(struct uspi_line_source *source);
};

/* Returns the maximum size in bytes of all blocks of a source together. Blocks take about a tenth of what they are made
 * of, and never more than a few times as much. Only in damaged or malicious files do so many units share one line table
 * or list of ranges that they take more. */
static inline uint64_t uspi_line_source_limit(const struct uspi_line_source *source) {
    return source->size <= UINT64_MAX / 32 ? source->size * 16 + (UINT64_C(1) << 20) : UINT64_MAX;
}

#endif
