/* SPDX-License-Identifier: MIT */
/* Pieces of generated code with their names and lines: a sorted map of address ranges. Where pieces overlap, the newest one
 * holds the address. Where the pieces come from is the readers' business (perf_map.h, jitdump.h, gdb_jit.h). */
#ifndef USPI_JIT_CODE_MAP_H
#define USPI_JIT_CODE_MAP_H

#include "lib/demangle/names.h"

#include <unspool/base.h>

#include <stdbool.h>
#include <stddef.h>

/* So many bytes of a name are kept; what is longer is cut. */
#define USPI_JIT_NAME_MAX 4096u

/* So many pieces, and so many bytes of names, are kept at most; what comes later is left out. */
#define USPI_JIT_CODES_MAX (UINT32_C(1) << 22)
#define USPI_JIT_TEXT_MAX  (UINT32_C(1) << 28)

/* So many rows are kept at most. */
#define USPI_JIT_ROWS_MAX (UINT32_C(1) << 24)

/* From `offset` on, up to the next row's offset, code is of that line. */
struct uspi_jit_row {
    uint32_t offset;  /* from the start of the piece, plus the map's row_base */
    uint32_t line;    /* 0: not known */
    const char *file; /* its path, in the map's `files`; NULL: not known */
};

struct uspi_jit_code {
    usp_addr start;
    uint64_t size;        /* > 0; start + size does not wrap */
    uint64_t order;       /* the higher is newer; of equals the one that was added last */
    size_t name;          /* where its name begins in `text` */
    uint32_t name_length; /* 0: the code that was here is gone */
    uint32_t row_count;   /* its rows, of which the offsets ascend */
    size_t first_row;     /* in `rows` */
    uint32_t object;      /* whose debug information is of it, from 1 (object_lines.h); 0: none's */
};

/* From `start` up to the next part's start. */
struct uspi_jit_part {
    usp_addr start;
    uint32_t code; /* number of the piece; UINT32_MAX: none */
};

/* All zero is an empty one. */
struct uspi_jit_map {
    struct uspi_jit_code *codes;
    size_t count, room;
    char *text; /* names, not terminated */
    size_t text_used, text_room;
    struct uspi_jit_part *parts; /* ascending; made by the first look-up after something was added */
    size_t part_count, part_room;
    bool is_sorted;
    struct uspi_jit_row *rows;
    size_t row_count, row_room;
    uint32_t row_base; /* what the writer of the rows adds to their offsets */
    struct uspi_names *files;
};

/* Adds a piece of code, without an effect where its size is 0, it wraps around, or the map is full. A name of length 0 says
 * that nothing is there any more. The name is cut at a NUL. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_map_add(struct uspi_jit_map *map, const struct uspi_jit_code *code, const char *name, size_t length);

/* The newest piece that holds an address. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. */
int uspi_jit_map_find(struct uspi_jit_map *map, usp_addr address, const struct uspi_jit_code **code);

/* Adds a row behind the last one, without an effect where the map has all that it may have. The path is `length` bytes without
 * a NUL among them; NULL: row->file stays NULL. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_map_add_row(struct uspi_jit_map *map, struct uspi_jit_row row, const char *path, size_t length);

/* The row of an address that a piece holds; NULL: none whose line is known. */
const struct uspi_jit_row *uspi_jit_map_row(const struct uspi_jit_map *map, const struct uspi_jit_code *code,
                                            usp_addr address);

/* Empties the map and frees what it holds. */
void uspi_jit_map_clear(struct uspi_jit_map *map);

#endif
