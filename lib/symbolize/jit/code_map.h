/* SPDX-License-Identifier: MIT */
/* A sorted map of address ranges to pieces of generated code, with their names and lines. Where pieces overlap, the
 * newest one holds the address. The pieces are read elsewhere (perf_map.h, jitdump.h, gdb_jit.h). */
#ifndef USPI_SYMBOLIZE_JIT_CODE_MAP_H
#define USPI_SYMBOLIZE_JIT_CODE_MAP_H

#include "lib/demangle/names.h"

#include <unspool/base.h>

#include <stdbool.h>
#include <stddef.h>

/* The maximum length of a name in bytes. A longer one is cut. */
#define USPI_JIT_NAME_MAX 4096u

/* The maximum number of pieces, and of bytes of names. Later ones are dropped. */
#define USPI_JIT_CODES_MAX (UINT32_C(1) << 22)
#define USPI_JIT_TEXT_MAX  (UINT32_C(1) << 28)

/* The maximum number of rows. */
#define USPI_JIT_ROWS_MAX (UINT32_C(1) << 24)

/* A row: the code from `offset` up to the next row's offset has this line. */
struct uspi_jit_row {
    uint32_t offset;  /* from the start of the piece, plus the map's row_base */
    uint32_t line;    /* 0: not known */
    const char *file; /* path of the source file, in the map's `files`; NULL: not known */
};

struct uspi_jit_code {
    usp_addr start;
    uint64_t size;        /* > 0; start + size does not wrap */
    uint64_t order;       /* the higher one is newer; if equal, the one that was added later */
    size_t name;          /* offset of its name in `text` */
    uint32_t name_length; /* 0: the code was removed */
    uint32_t row_count;   /* number of its rows, whose offsets ascend */
    size_t first_row;     /* in `rows` */
    uint32_t object;      /* number of the object that has its debug information, from 1 (object_lines.h); 0: none */
};

/* A part of the address space, from `start` up to the next part's start. */
struct uspi_jit_part {
    usp_addr start;
    uint32_t code; /* number of the piece that holds it; UINT32_MAX: none */
};

/* All zero: empty. */
struct uspi_jit_map {
    struct uspi_jit_code *codes;
    size_t count, capacity;
    char *text; /* names, not terminated */
    size_t text_used, text_capacity;
    struct uspi_jit_part *parts; /* sorted by start; made by the first lookup after something was added */
    size_t part_count, part_capacity;
    bool is_sorted;
    struct uspi_jit_row *rows;
    size_t row_count, row_capacity;
    uint32_t row_base; /* what the writer of the rows added to their offsets */
    struct uspi_names *files;
};

/* Adds a piece of code. Does nothing if its size is 0, it wraps around, or the map is full. A name of length 0 means
 * that the code was removed. The name is cut at a NUL. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_map_add(struct uspi_jit_map *map, const struct uspi_jit_code *code, const char *name, size_t length);

/* Returns whether no further piece can be added. */
bool uspi_jit_map_is_full(const struct uspi_jit_map *map);

/* Finds the newest piece that holds an address. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. */
int uspi_jit_map_find(struct uspi_jit_map *map, usp_addr address, const struct uspi_jit_code **code);

/* Adds a row after the last one. Does nothing if the map is full. The path has `length` bytes without a NUL; NULL:
 * row->file is not changed. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_map_add_row(struct uspi_jit_map *map, struct uspi_jit_row row, const char *path, size_t length);

/* Returns the row of an address that a piece holds; NULL: its line is not known. */
const struct uspi_jit_row *uspi_jit_map_row(const struct uspi_jit_map *map, const struct uspi_jit_code *code,
                                            usp_addr address);

/* Empties the map and frees its memory. */
void uspi_jit_map_clear(struct uspi_jit_map *map);

#endif
