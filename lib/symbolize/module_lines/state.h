/* SPDX-License-Identifier: MIT */
/* Data shared by the files behind module_lines.h: the opened lines of a module (open.c), blocks made of a source
 * (blocks.c), the object files of a debug map (objects.c). */
#ifndef USPI_SYMBOLIZE_MODULE_LINES_STATE_H
#define USPI_SYMBOLIZE_MODULE_LINES_STATE_H

#include "lib/symbolize/lines/line_source.h"
#include "lib/symbolize/macho/debug_map.h"
#include "lib/symbolize/module_lines/module_lines.h"
#include "lib/symbolize/store/index_file.h"

/* A cached block of debug information. */
struct uspi_made_block {
    struct uspi_cached cached;
    struct uspi_block block; /* entries 0: the unit has no code */
    uint8_t bytes[];
};

/* The code of units that do not claim any, known after their blocks were made. */
struct uspi_found_code {
    struct uspi_map map;
    uint8_t *bytes;
};

/* An object file of a debug map. */
struct uspi_line_object {
    bool was_tried;           /* protected by the lock of the lines */
    struct uspi_lines *lines; /* NULL: not usable */
    struct uspi_file *file;
    struct usp_image image; /* the object as an image of its own, not moved */
    struct uspi_macho_symbols symbols;
};

struct uspi_lines {
    struct uspi_cache *cache;
    struct uspi_lock *lock; /* held while blocks are made */
    uint64_t moved;         /* address as linked in the image − address in the debug information */
    struct uspi_file *file; /* file of the debug information; NULL: the image's own file, or there is none */
    struct uspi_line_source *source;
    void *reader;                  /* of the source */
    struct uspi_cache_slot *slots; /* by unit */
    struct uspi_map map;
    uint8_t *map_bytes;
    bool *unclaimed; /* by unit number: units that claim no code; NULL: none */
    _Atomic(struct uspi_found_code *) found;
    struct uspi_index_file *index;         /* an index; NULL: the lines are from debug information */
    _Atomic(struct uspi_lines *) fallback; /* lines without the index, used when it is damaged */
    struct uspi_debug_map debug_map;       /* Mach-O: set when the object files have the debug information. */
    struct uspi_macho_symbols map_symbols; /* the symbols of which debug_map is made */
    struct uspi_line_object *objects;      /* by number */
    uint64_t headers;                      /* how many members' headers of archives were read for them */
    const struct usp_image *image;         /* for debug_map */
    const struct uspi_image_sources *places;
    const struct uspi_file *image_file;
    bool is_in_memory;         /* uspi_lines_open_in_memory */
    bool has_damaged_index;    /* found when it was opened */
    int status;                /* result of the search: USP_OK when there are lines */
    char *file_path;           /* path of the file with the lines */
    struct uspi_error problem; /* what was wrong with the lines, or why there are none */
};

/* ---- blocks of an index or a source (blocks.c) ---- */

/* Finds a block, valid until the caller signs out. Returns USP_OK, USP_ERROR_FORMAT when the index is damaged there, or
 * USP_ERROR_NO_MEMORY. */
int uspi_lines_block(struct uspi_lines *lines, uint64_t number, const struct uspi_block **block);

/* Returns the code of the units that claim none; their blocks are made once. NULL when memory is exhausted. */
const struct uspi_map *uspi_lines_unclaimed(struct uspi_lines *lines);

/* ---- object files of a debug map (objects.c) ---- */

/* The location of an image's address in an object file. */
struct uspi_object_address {
    struct uspi_lines *lines; /* of the object file */
    usp_addr address;         /* in it */
    uint64_t moved;           /* added to an address of the object file to give the address as linked in the image */
};

/* Finds the object file that the function at the address came from, and opens it at the first call. Returns 1, 0 when
 * there is none, or USP_ERROR_NO_MEMORY. */
int uspi_lines_object_place(struct uspi_lines *lines, uint64_t address, struct uspi_object_address *place);

#endif
