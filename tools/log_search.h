/* SPDX-License-Identifier: MIT */
/* What object files lie in the folders of --search, by build-id or UUID and by name. No symbols are read here. A build is looked
 * for where the known layouts have it (layouts.h); folders are gone through when that is asked for, once. */
#ifndef TOOL_LOG_SEARCH_H
#define TOOL_LOG_SEARCH_H

#include <unspool/images.h>

#include "lib/base/span.h"

/* An image in a file; a fat file has several. */
struct log_file {
    char *path;
    uint64_t size;   /* of the file in bytes */
    bool is_symbols; /* in a dSYM bundle: nothing but symbols, all of them */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size; /* 0: it has none */
};

/* Opaque. */
struct log_search;

/* Places are folders, searched with all that is below them, and single files. `cache` (may be NULL) is a folder of which only the
 * known layouts are looked at; it need not exist. Symbolic links to folders are not followed. On success *search is the
 * caller's to free. Returns an enum exit_status; what went wrong is said on standard error. */
int log_search_create(const char *const *places, size_t count, const char *cache, struct log_search **search);

/* NULL is ignored. */
void log_search_free(struct log_search *search);

/* Whether the folders were gone through and no file was found. */
bool log_search_is_empty(const struct log_search *search);

/* The files of a build that lie where a layout has them: how many, at most LOG_LAID_MAX, those with symbols in front. They live
 * as long as the search. *has_symbols: one of them has the build's symbols by its place. */
#define LOG_LAID_MAX 4
size_t log_search_laid(struct log_search *search, const uint8_t *id, size_t id_size,
                       const struct log_file *files[LOG_LAID_MAX], bool *has_symbols);

/* Whether anything was given to go through. */
bool log_search_has_folders(const struct log_search *search);

/* Folder i that was given, for its indexes: the cache comes last; NULL behind it. */
const char *log_search_folder(const struct log_search *search, size_t i);

/* The files of a build in the folders, which are gone through at the first call: how many, and the first of them in *files, the
 * richest in symbols in front (bundles of symbols, then the largest, since what was stripped is smaller). They live as long as
 * the search. */
size_t log_search_build(struct log_search *search, const uint8_t *id, size_t id_size, const struct log_file **files);

/* The column in which callStackSymbols cuts an image's name (Libc gen/backtrace.c). */
#define LOG_IMAGE_WIDTH 35

/* How many builds there are of files with that name, which may have been cut at LOG_IMAGE_WIDTH; *file is a file of the
 * first. */
size_t log_search_name(struct log_search *search, struct uspi_span name, const struct log_file **file);

#endif
