/* SPDX-License-Identifier: MIT */
/* Source frames: an answer of a block as the caller gets it, innermost inlined call first. */
#ifndef USPI_MODULE_LINES_FRAMES_H
#define USPI_MODULE_LINES_FRAMES_H

#include "lib/symbolize/module_lines/module_lines.h"

#include <unspool/lines.h>

/* How paths of source files are written. */
struct uspi_source_paths {
    struct usp_path_map *maps; /* owned, strings too */
    uint32_t count;
    uint32_t inlined_limit; /* so many inlined calls are given at most */
};

/* Returns whether no map lacks a string. maps may be NULL. */
bool uspi_path_maps_are_whole(const struct usp_path_map *maps, uint32_t count);

/* Copies the maps, which may be NULL, and sets no limit for inlined calls. Returns false when memory lacks; then, too, they are to
 * be cleared. */
bool uspi_source_paths_init(struct uspi_source_paths *paths, const struct usp_path_map *maps, uint32_t count);

/* Frees the maps. */
void uspi_source_paths_clear(struct uspi_source_paths *paths);

/* A directory with the first prefix replaced that the caller wants replaced; NULL when memory lacks. A prefix ends where a
 * part of the path ends; slashes at the end of a prefix and of its replacement count as none. */
const char *uspi_source_folder(const struct uspi_source_paths *paths, struct uspi_names *names, const char *folder);

/* Counts a frame, and keeps it where there is room. */
void uspi_put_source_frame(struct usp_lines *lines, const struct usp_source_frame *frame);

/* Puts what debug information says of an address. USP_OK, or USP_ERROR_FORMAT: what was put is to be thrown away. */
int uspi_lines_frames(const struct uspi_source_paths *paths, struct uspi_names *names,
                      const struct uspi_lines_answer *answer, usp_addr address, struct usp_lines *lines);

#endif
