/* SPDX-License-Identifier: MIT */
/* Pieces of generated code with their names: a sorted map of address ranges. Where pieces overlap, the newest one holds the
 * address. Where the pieces come from is the readers' business (perf_map.h, jitdump.h, gdb_jit.h). */
#ifndef USPI_JIT_CODE_MAP_H
#define USPI_JIT_CODE_MAP_H

#include <unspool/base.h>

#include <stdbool.h>
#include <stddef.h>

/* So many bytes of a name are kept; what is longer is cut. */
#define USPI_JIT_NAME_MAX 4096u

/* So many pieces, and so many bytes of names, are kept at most; what comes later is left out. */
#define USPI_JIT_CODES_MAX (UINT32_C(1) << 22)
#define USPI_JIT_TEXT_MAX  (UINT32_C(1) << 28)

struct uspi_jit_code {
    usp_addr start;
    uint64_t size;        /* > 0; start + size does not wrap */
    uint64_t order;       /* the higher is newer; of equals the one that was added last */
    size_t name;          /* where its name begins in `text` */
    uint32_t name_length; /* 0: the code that was here is gone */
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
};

/* Adds a piece of code, without an effect where its size is 0, it wraps around, or the map is full. A name of length 0 says
 * that nothing is there any more. The name is cut at a NUL. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_map_add(struct uspi_jit_map *map, const struct uspi_jit_code *code, const char *name, size_t length);

/* The newest piece that holds an address. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. */
int uspi_jit_map_find(struct uspi_jit_map *map, usp_addr address, const struct uspi_jit_code **code);

/* Empties the map and frees what it holds. */
void uspi_jit_map_clear(struct uspi_jit_map *map);

#endif
