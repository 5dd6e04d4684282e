/* SPDX-License-Identifier: MIT */
/* The lines of one module: from an index file, from debug information, from the debug information of the object files
 * that a Mach-O image was linked from, from Go's function table, or from a symbol file. All of them are looked up as
 * blocks. Blocks of an index file are used in place. Other blocks are made when a lookup needs them. The symbolizer
 * caches them and may discard them. */
#ifndef USPI_SYMBOLIZE_MODULE_LINES_MODULE_LINES_H
#define USPI_SYMBOLIZE_MODULE_LINES_MODULE_LINES_H

#include "lib/demangle/names.h"
#include "lib/images/image_file.h"
#include "lib/symbolize/cache/cache.h"
#include "lib/symbolize/lines/address_map.h"
#include "lib/symbolize/lines/block.h"

struct uspi_lines;
struct uspi_line_source;
struct uspi_index_file;

/* Finds the lines of an image. `file` is the image's file; NULL: it was not found. The arguments must live as long as
 * the lines. Returns NULL when memory is exhausted; if no lines were found, the result has no blocks. */
struct uspi_lines *uspi_lines_open(const struct usp_image *image, const struct uspi_image_sources *places,
                                   const struct uspi_file *file, struct uspi_cache *cache);

/* Frees lines. The cache must have been emptied. NULL is ignored. */
void uspi_lines_close(struct uspi_lines *lines);

/* One block's answer for an address. */
struct uspi_lines_answer {
    const struct uspi_lines *lines;
    uint64_t moved; /* added to an address of the answer to give the address as linked in the image */
    const struct uspi_block *block;
    uint32_t number; /* of the block */
    struct uspi_block_entry place;
    struct uspi_block_part part; /* size 0: the address is in no function */
};

/* Finds the answers for an address as linked in the image. answers[0] is the one to use; the others are from blocks
 * whose functions have the same code. Returns the number of answers, 0 when nothing is known, USP_ERROR_NO_MEMORY or
 * USP_ERROR_FORMAT. The caller has entered the cache, and may use the answers until it leaves. */
int uspi_lines_find(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]);

/* Finds the answers without the index of `lines`, after it was found to be damaged, which uspi_lines_explain then
 * reports. Returns 0 when the lines are not from an index. */
int uspi_lines_fall_back(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]);

/* Returns the index of the lines; NULL: they are not from an index. */
struct uspi_index_file *uspi_lines_index(const struct uspi_lines *lines);

/* Like uspi_lines_open, but ignores indexes: for comparing an index with its source. */
struct uspi_lines *uspi_lines_open_without_index(const struct usp_image *image, const struct uspi_image_sources *places,
                                                 const struct uspi_file *file, struct uspi_cache *cache);

/* Like uspi_lines_open, but uses only the debug information in `file`, which was copied from memory. No other file is
 * searched for. All strings are copied into the names, so `file` may be freed before them. */
struct uspi_lines *uspi_lines_open_in_memory(const struct usp_image *image, const struct uspi_image_sources *places,
                                             const struct uspi_file *file, struct uspi_cache *cache);

/* Calls `visit` with each address at which an answer may change, as linked in the image: all entries and calls of all
 * blocks. A result other than 0 ends the visit and is returned. */
int uspi_lines_visit(struct uspi_lines *lines, int (*visit)(void *context, uint64_t address), void *context);

/* Returns the source of the blocks: debug information, Go's function table or a symbol file. NULL: an index, object
 * files, or nothing. */
struct uspi_line_source *uspi_lines_source(const struct uspi_lines *lines);

/* Finds a string of an answer. It is valid as long as the lines, or is copied into `names`. *found is NULL when there
 * is none. Returns USP_OK, USP_ERROR_FORMAT, USP_ERROR_NO_MEMORY. */
int uspi_lines_find_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names,
                         const char **found);

/* Returns the string that uspi_lines_find_text finds; NULL when there is none, or when it cannot be read. */
const char *uspi_lines_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names);

/* Returns what is added to an address in the debug information to give the address as linked in the image; 0 for
 * object files. */
uint64_t uspi_lines_moved(const struct uspi_lines *lines);

/* Returns the permissions that the files with the lines withhold, as uspi_file_withheld does. */
uint32_t uspi_lines_withheld(const struct uspi_lines *lines);

/* Writes the sentence of usp_symbolizer_explain_lines and returns its status. */
int uspi_lines_explain(const struct uspi_lines *lines, char *text, size_t size);

bool uspi_lines_are_indexed(const struct uspi_lines *lines);

/* Returns whether the lines are from the object files that a Mach-O image was linked from. The linker moved their
 * functions apart. */
bool uspi_lines_has_objects(const struct uspi_lines *lines);

#endif
