/* SPDX-License-Identifier: MIT */
/* The lines of one module: from an index file, from debug information, or from that of the object files that a Mach-O image was
 * linked from, whichever is found, behind one look-up over blocks.
 * Blocks of debug information are made when a question needs them and lie in the cache of the symbolizer, which may give them
 * up; those of an index file are used where they lie. */
#ifndef USPI_MODULE_LINES_H
#define USPI_MODULE_LINES_H

#include "lib/demangle/names.h"
#include "lib/images/image_file.h"
#include "lib/symbolize/cache/cache.h"
#include "lib/symbolize/lines/address_map.h"

struct uspi_lines;
struct uspi_line_source;
struct uspi_index_file;

/* Finds where the lines of an image are. `file` is the image's file; NULL: it was not found. What is given must stay as
 * long as the lines. NULL when memory lacks; lines that were not found are lines without blocks. */
struct uspi_lines *uspi_lines_open(const struct usp_image *image, const struct uspi_places *places,
                                   const struct uspi_file *file, struct uspi_cache *cache);

/* The cache must have been emptied. NULL is ignored. */
void uspi_lines_close(struct uspi_lines *lines);

/* What is said of an address by one block. */
struct uspi_lines_answer {
    const struct uspi_lines *lines;
    uint64_t moved; /* what is added to an address of the answer to have it as linked in the image */
    struct uspi_block block;
    uint32_t number; /* of the block */
    struct uspi_block_place place;
    struct uspi_block_part part; /* size 0: in no function */
};

/* Answers for an address of the image as linked: answers[0] is the one that counts, the others are of blocks whose function
 * has the same code. Returns how many, 0 when nothing is known, or USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT. The caller has
 * signed in at the cache, and uses them until it signs out. */
int uspi_lines_find(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]);

/* The same without the index that `lines` are from, when it was found to be damaged; uspi_lines_explain reports that then.
 * Returns 0 when the lines are not from an index. */
int uspi_lines_fall_back(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]);

/* The index that they are from; NULL: from none. */
const struct uspi_index_file *uspi_lines_index(const struct uspi_lines *lines);

/* The same out of what is given, whatever else there is: for comparing an index with its source. */
struct uspi_lines *uspi_lines_open_without_index(const struct usp_image *image, const struct uspi_places *places,
                                                 const struct uspi_file *file, struct uspi_cache *cache);

/* The same out of the debug information in `file` alone, which was copied from memory and may go before the names that are
 * given: no other file is looked for, and all strings are kept in the names. */
struct uspi_lines *uspi_lines_open_in_memory(const struct usp_image *image, const struct uspi_places *places,
                                             const struct uspi_file *file, struct uspi_cache *cache);

/* Calls `visit` with each place at which an answer may change, in the addresses of the image as linked: all entries and all calls of
 * all blocks. Not 0: no more, and it is returned. */
int uspi_lines_visit(struct uspi_lines *lines, int (*visit)(void *context, uint64_t address), void *context);

/* What their blocks are made from: debug information, or Go's function table; NULL: an index, object files, or nothing. */
struct uspi_line_source *uspi_lines_source(const struct uspi_lines *lines);

/* A string of an answer, which stays as long as the lines or in `names`; *found is NULL when there is none. USP_OK,
 * USP_ERROR_FORMAT, USP_ERROR_NO_MEMORY. */
int uspi_lines_find_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names,
                         const char **found);

/* The same; NULL also when it cannot be read. */
const char *uspi_lines_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names);

/* What is added to an address in the debug information to have it as linked in the image; of object files 0. */
uint64_t uspi_lines_moved(const struct uspi_lines *lines);

/* A sentence for usp_symbolizer_explain_lines, and its status. */
int uspi_lines_explain(const struct uspi_lines *lines, char *text, size_t size);

bool uspi_lines_are_indexed(const struct uspi_lines *lines);

/* Whether they are those of the object files that a Mach-O image was linked from: the linker has moved their functions apart. */
bool uspi_lines_has_objects(const struct uspi_lines *lines);

#endif
