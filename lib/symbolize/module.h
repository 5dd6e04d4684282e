/* SPDX-License-Identifier: MIT */
/* The symbols of one file, for all images that were loaded from it: opened, checked and indexed when the first address is
 * looked up, by one thread while others that want the same file wait; searched without a lock afterwards. What is looked
 * up first gets the index of an excerpt (excerpt.h); what that does not decide gets the whole. The index lies in a cache, which
 * may give it up; the files stay open as long as the module, because names point into them. */
#ifndef USPI_MODULE_H
#define USPI_MODULE_H

#include "lib/images/image_file.h"
#include "lib/symbolize/cache/cache.h"
#include "lib/symbolize/index/expected.h"
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/module_lines/module_lines.h"

#include <unspool/images.h>

struct uspi_module;

/* What is looked in, each with an index of its own. */
enum uspi_table {
    USPI_TABLE_SYMBOLS,                   /* symbol tables of the image's file, or of its memory */
    USPI_TABLE_OBJC,                      /* Objective-C metadata, likewise */
    USPI_TABLE_NAMED,                     /* how many of the above, which have names */
    USPI_TABLE_STARTS = USPI_TABLE_NAMED, /* where the functions of a Mach-O image begin; none has a name here */
    USPI_TABLE_COUNT
};

/* Opens nothing yet. `places` says where files are looked for; it and the cache must live as long as the module. NULL when
 * memory lacks. */
struct uspi_module *uspi_module_create(const struct usp_image *image, const struct uspi_places *places,
                                       struct uspi_cache *cache);

/* The cache must have been emptied. NULL is ignored. Names that point into the file go with it. */
void uspi_module_free(struct uspi_module *module);

/* The image's path, of a section that of its object; lives as long as the module. */
const char *uspi_module_path(const struct uspi_module *module);

/* Whether another image is the same file: path and build-id, for members and sections of objects the same object; with no
 * build-id, or when its memory may be read, nothing but the image that the module was made for, at the same place. */
bool uspi_module_is_of(const struct uspi_module *module, const struct usp_image *image);

/* The caller of the following has signed in at the cache (lib/base/epoch.h). */

/* Whether there are symbol tables to look in; builds an index if there is none. */
bool uspi_module_has_symbols(struct uspi_module *module);

/* The symbol of one table that an address, as linked, can belong to; whether its size reaches it, the caller checks. USP_OK,
 * USP_ERROR_NOT_FOUND when there is none, USP_ERROR_ABSENT when there is no table to look in (also later),
 * USP_ERROR_NO_MEMORY (a later call tries again). expected: what else is going to be looked up; NULL: not known. */
int uspi_module_find(struct uspi_module *module, enum uspi_table which, usp_addr address,
                     const struct uspi_expected *expected, struct uspi_names *names, struct uspi_symbol_answer *named);

/* The first place at or above an address, as linked, where something begins or ends in one table. Makes the whole index.
 * Returns as uspi_module_find. */
int uspi_module_next(struct uspi_module *module, enum uspi_table which, usp_addr address, usp_addr *start);

/* Where the function with a name begins, as linked. Names are those of the symbol tables, aliases too. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when none or several functions have the name, USP_ERROR_NO_MEMORY. */
int uspi_module_named(struct uspi_module *module, const char *name, usp_addr *start);

/* The module's lines, which are looked for when they are first asked for; they stay as long as the module. NULL when memory
 * lacks. */
struct uspi_lines *uspi_module_lines(struct uspi_module *module);

#endif
