/* SPDX-License-Identifier: MIT */
/* The symbols of one file, for all images that were loaded from it. The first lookup opens, checks and indexes the
 * file; other threads that need the file wait for that. Later lookups take no lock. The first addresses get the index
 * of an excerpt (excerpt.h); when the excerpt cannot decide, the whole file is indexed. The index is in a cache, which
 * may discard it. The files stay open as long as the module, because names point into them. */
#ifndef USPI_SYMBOLIZE_MODULE_H
#define USPI_SYMBOLIZE_MODULE_H

#include "lib/images/image_file.h"
#include "lib/symbolize/cache/cache.h"
#include "lib/symbolize/index/expected.h"
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/module_lines/module_lines.h"

#include <unspool/lines.h>

struct uspi_module;

/* Sources of symbols, each with its own index. */
enum uspi_table {
    USPI_TABLE_SYMBOLS,                   /* symbol tables of the image's file or memory */
    USPI_TABLE_OBJC,                      /* Objective-C metadata of the image's file or memory */
    USPI_TABLE_NAMED,                     /* number of the sources above, which have names */
    USPI_TABLE_STARTS = USPI_TABLE_NAMED, /* function starts of a Mach-O image; they have no names */
    USPI_TABLE_COUNT
};

/* Makes a module. Opens nothing yet. `places` says where files are searched for; it and the cache must live as long as
 * the module. Returns NULL when memory is exhausted. */
struct uspi_module *uspi_module_create(const struct usp_image *image, const struct uspi_image_sources *places,
                                       struct uspi_cache *cache);

/* Frees a module. The cache must have been emptied. NULL is ignored. Names that point into the files become invalid. */
void uspi_module_free(struct uspi_module *module);

/* Returns the image's path, for a section its object's path. Valid as long as the module. */
const char *uspi_module_path(const struct uspi_module *module);

/* Returns whether the module can be used for an image: it has the same path and build id; for members and sections of
 * objects, the same object. Without a build id, or when the image's memory may be read, only the image that the module
 * was made for qualifies, at the same address. */
bool uspi_module_is_of(const struct uspi_module *module, const struct usp_image *image);

/* Returns a hash of an image that is the same for all images for which the same module can be used. */
uint64_t uspi_module_hash(const struct usp_image *image);

/* Callers of the following functions have entered the cache (lib/base/epoch.h). */

/* Returns whether there are symbol tables; builds an index if there is none. */
bool uspi_module_has_symbols(struct uspi_module *module);

/* Finds the symbol of one source that may contain an address as linked. The caller checks whether the symbol's size
 * reaches the address. expected: further addresses that will be looked up; NULL: not known. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when there is none, USP_ERROR_ABSENT when the source does not exist and never will,
 * USP_ERROR_NO_MEMORY (a later call tries again). */
int uspi_module_find(struct uspi_module *module, enum uspi_table which, usp_addr address,
                     const struct uspi_expected *expected, struct uspi_names *names, struct uspi_symbol_answer *named);

/* A function that was found; addresses are as linked. */
struct uspi_found_function {
    uint32_t strategy; /* enum usp_strategy: what found it */
    usp_addr address;  /* what was looked up */
    usp_addr start;
};

/* Visits the other names of a function. Only symbol tables and Objective-C metadata have other names. A name can come
 * several times, also the one that was found; it is valid as long as the module and `names`. Returns USP_OK, what
 * `visit` returned if that is not 0, USP_ERROR_NO_MEMORY. */
int uspi_module_visit_aliases(struct uspi_module *module, const struct uspi_found_function *found,
                              struct uspi_names *names, usp_name_visitor visit, void *context);

/* Finds the first address at or above `address`, as linked, at which a symbol of one source begins or ends. Makes the
 * whole index. Returns as uspi_module_find does. */
int uspi_module_next(struct uspi_module *module, enum uspi_table which, usp_addr address, usp_addr *start);

/* Finds the start of the function with a name, as linked. Names are those of the symbol tables, including aliases.
 * Returns USP_OK, USP_ERROR_NOT_FOUND when none or several functions have the name, USP_ERROR_NO_MEMORY. */
int uspi_module_named(struct uspi_module *module, const char *name, usp_addr *start);

/* Returns the module's lines, which are searched for at the first call. They live as long as the module. NULL when
 * memory is exhausted. */
struct uspi_lines *uspi_module_lines(struct uspi_module *module);

/* Returns the permissions that the files that were opened so far withhold, as uspi_file_withheld does. */
uint32_t uspi_module_withheld(struct uspi_module *module);

/* Writes the path of the module's file or why it has none to `text`, as usp_symbolizer_explain_file. */
int uspi_module_explain_file(struct uspi_module *module, char *text, size_t size);

#endif
