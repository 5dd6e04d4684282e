/* SPDX-License-Identifier: MIT */
/* Finds object files in the folders of --search, by build id or UUID and by name. It reads no symbols. It first looks
 * at the paths of the known layouts (layouts.h). The folders are searched only on request, and once. */
#ifndef TOOLS_LOG_SEARCH_H
#define TOOLS_LOG_SEARCH_H

#include <unspool/images.h>

#include "lib/base/span.h"
#include "tools/image_choice.h"

/* An image in a file; a fat file has several. */
struct log_file {
    char *path;
    uint64_t size;   /* size of the file in bytes */
    bool is_symbols; /* in a dSYM bundle: it contains only symbols, and all of them */
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size; /* 0: it has none */
};

/* Opaque. */
struct log_search;

/* Creates a search, which the caller frees. Places are folders, searched with everything below them, and single files.
 * Of a place in an archive's Products, the archive's dSYMs are searched too.
 * `cache` (may be NULL) is a folder in which only the known layouts' paths are looked at; it need not exist. Symbolic
 * links to folders are not followed. Complains. Returns an enum exit_status. */
int log_search_create(const char *const *places, size_t count, const char *cache, struct log_search **search);

/* NULL is ignored. */
void log_search_free(struct log_search *search);

/* Whether the folders were searched and no file was found. */
bool log_search_is_empty(const struct log_search *search);

/* Finds the files of a build at the layouts' paths: returns how many, at most LOG_LAID_MAX, those with symbols first.
 * They live as long as the search. *has_symbols: one of them has the build's symbols according to its path. */
#define LOG_LAID_MAX 4
size_t log_search_laid(struct log_search *search, const uint8_t *id, size_t id_size,
                       const struct log_file *files[LOG_LAID_MAX], bool *has_symbols);

/* Whether there are places to search. */
bool log_search_has_folders(const struct log_search *search);

/* Returns folder i that was given, for its indexes. The cache comes last, then NULL. */
const char *log_search_folder(const struct log_search *search, size_t i);

/* Finds the files of a build in the folders, which are searched at the first call. Returns how many; *files is the
 * first. The file with most symbols comes first: bundles of symbols, then the largest file, since a stripped file is
 * smaller. They live as long as the search. */
size_t log_search_build(struct log_search *search, const uint8_t *id, size_t id_size, const struct log_file **files);

/* The column in which callStackSymbols cuts an image's name (Libc gen/backtrace.c). */
#define LOG_IMAGE_WIDTH 35

/* Returns file i of all in the folders, which are searched at the first call; NULL past the last one. */
const struct log_file *log_search_get(struct log_search *search, size_t i);

/* Returns how many builds have files with that name, which may have been cut at LOG_IMAGE_WIDTH. *file is a file of the
 * first build. */
size_t log_search_name(struct log_search *search, struct uspi_span name, const struct log_file **file);

/* Does the same and gives a file of each of the first `most` builds. */
size_t log_search_names(struct log_search *search, struct uspi_span name, const struct log_file **files, size_t most);

/* Chooses the file of a bundle: of the build that the choice names; else of the only build that has the bundle's name
 * without its ending, or else of the only build. A fat file counts as one. Complains. Returns an enum exit_status. */
int log_search_choose(struct log_search *search, const struct image_choice *choice, const struct log_file **file);

/* Complains of dSYMs that were found damaged or without their file, once. */
void log_search_say_faults(struct log_search *search);

#endif
