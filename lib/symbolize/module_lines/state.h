/* SPDX-License-Identifier: MIT */
/* What the files behind module_lines.h know of each other: the lines of a module as they were opened (open.c), the blocks that are
 * made of a source (blocks.c), the object files of a debug map (objects.c). */
#ifndef USPI_MODULE_LINES_STATE_H
#define USPI_MODULE_LINES_STATE_H

#include "lib/symbolize/lines/line_source.h"
#include "lib/symbolize/macho/debug_map.h"
#include "lib/symbolize/module_lines/module_lines.h"
#include "lib/symbolize/store/index_file.h"

/* A block of debug information that is cached. */
struct uspi_made_block {
    struct uspi_cached cached;
    struct uspi_block block; /* entries 0: the unit says nothing of any address */
    uint8_t bytes[];
};

/* The code of units that claim none, which is known when their blocks have been made. */
struct uspi_found_code {
    struct uspi_map map;
    uint8_t *bytes;
};

/* An object file of a debug map. */
struct uspi_line_object {
    bool was_tried;           /* under the lock of the lines */
    struct uspi_lines *lines; /* NULL: it could not be used */
    struct uspi_file *file;
    struct usp_image image; /* the object as an image of its own, which is not moved */
    struct uspi_macho_symbols symbols;
};

struct uspi_lines {
    struct uspi_cache *cache;
    struct uspi_lock *lock; /* held while blocks are made */
    uint64_t moved;         /* address as linked in the image − address in the debug information */
    struct uspi_file *file; /* of the debug information; NULL: it is the image's own, or there is none */
    struct uspi_line_source *source;
    void *reader;                  /* of the source */
    struct uspi_cache_slot *slots; /* by unit */
    struct uspi_map map;
    uint8_t *map_bytes;
    bool *unclaimed; /* units that claim no code, by number; NULL: there are none */
    _Atomic(struct uspi_found_code *) found;
    struct uspi_index_file *index;         /* what follows is of debug information when there is none */
    _Atomic(struct uspi_lines *) fallback; /* instead of an index that is damaged */
    struct uspi_debug_map debug_map; /* instead: of a Mach-O image, where its object files have the debug information */
    struct uspi_macho_symbols map_symbols; /* which it is made of */
    struct uspi_line_object *objects;      /* by number */
    const struct usp_image *image;         /* for that */
    const struct uspi_places *places;
    const struct uspi_file *image_file;
    bool is_in_memory;         /* uspi_lines_open_in_memory */
    bool has_damaged_index;    /* found when it was opened */
    int status;                /* of the search: USP_OK when there are lines */
    char *file_path;           /* where they are */
    struct uspi_error problem; /* what was wrong with them, or why there are none */
};

/* ---- blocks of a source (blocks.c) ---- */

/* A unit's block, which stays until the caller signs out. NULL when memory lacks. */
const struct uspi_block *uspi_lines_block(struct uspi_lines *lines, size_t unit);

/* The code of the units that claim none: their blocks are made once. NULL when memory lacks. */
const struct uspi_map *uspi_lines_unclaimed(struct uspi_lines *lines);

/* ---- object files of a debug map (objects.c) ---- */

/* Where an address of the image lies in an object file. */
struct uspi_object_place {
    struct uspi_lines *lines; /* of the object file */
    usp_addr address;         /* in it */
    uint64_t moved;           /* what is added to such an address to have it as linked in the image */
};

/* Finds the object file that the function around the address came from, and opens it the first time. 1, 0 when there is none,
 * or USP_ERROR_NO_MEMORY. */
int uspi_lines_object_place(struct uspi_lines *lines, uint64_t address, struct uspi_object_place *place);

#endif
