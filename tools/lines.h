/* SPDX-License-Identifier: MIT */
/* Lines in the commands' output: which store of indexes they come from, and messages about images that have none. */
#ifndef TOOLS_LINES_H
#define TOOLS_LINES_H

#include "tools/caches.h"

#include <unspool/unspool.h>

/* The options for lines, and for names of the system's libraries. */
struct line_options {
    const char *index_store;        /* of --index; NULL: the default one */
    struct usp_path_map *path_maps; /* of --map-path; owned, but its strings belong to the command line */
    uint32_t path_map_count;
    struct cache_options caches; /* of --shared-cache; opened by its user */
};

/* Adds the value of a --map-path, OLD=NEW, which is cut at its first "=". Complains if there is none, or if memory is
 * exhausted. */
bool add_path_map(struct line_options *lines, char *text);

void line_options_clear(struct line_options *lines);

/* Sets the symbolizer's options for lines. Returns the store, which the caller frees after the symbolizer is made. */
char *use_line_options(const struct line_options *lines, struct usp_symbolizer_options *names);

/* Returns the store of indexes: `given` by an option, otherwise $UNSPOOL_INDEX_STORE, otherwise unspool/index in
 * $XDG_CACHE_HOME or ~/.cache. The caller frees it. NULL: memory is exhausted, or there is no $HOME. */
char *find_index_store(const char *given);

/* Takes the value of --index. Complains if it is not a folder, which may still become one. */
void take_index_store(struct line_options *lines, const char *path);

/* Whether there is a store for symbols: one `given` by an option, or the default one if its folder exists. */
bool has_index_store(const char *given);

/* For each image, an address in it that was looked up; 0: none was. */
struct looked_up {
    const struct usp_images *images;
    usp_addr *addresses; /* by the image's number; NULL: memory was exhausted, and no message is printed */
};

void looked_up_create(struct looked_up *looked_up, const struct usp_images *images);
void looked_up_add(struct looked_up *looked_up, usp_addr address);
void looked_up_clear(struct looked_up *looked_up);

/* Complains of each image whose file was found and is not used. */
void complain_of_files(const struct looked_up *looked_up, struct usp_symbolizer *symbolizer);

/* Complains of each image whose index is damaged. With `are_wanted`, when the main program or all images
 * lack lines: complains once that lines need debug information, and where it was looked for. */
void complain_of_lines(const struct looked_up *looked_up, struct usp_symbolizer *symbolizer, bool are_wanted);

#endif
