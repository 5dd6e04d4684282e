/* SPDX-License-Identifier: MIT */
/* Makes source frames from a block's answer, innermost inlined call first. */
#ifndef USPI_SYMBOLIZE_MODULE_LINES_FRAMES_H
#define USPI_SYMBOLIZE_MODULE_LINES_FRAMES_H

#include "lib/symbolize/module_lines/module_lines.h"

#include <unspool/lines.h>

/* How paths of source files are changed. */
struct uspi_source_paths {
    struct usp_path_map *maps; /* owned, including their strings */
    uint32_t count;
    uint32_t inlined_limit; /* maximum number of inlined calls */
};

/* Returns whether all maps have both strings. maps may be NULL. */
bool uspi_path_maps_are_whole(const struct usp_path_map *maps, uint32_t count);

/* Copies the maps, which may be NULL, and sets no limit for inlined calls. Returns false when memory is exhausted; the
 * paths must then still be cleared. */
bool uspi_source_paths_init(struct uspi_source_paths *paths, const struct usp_path_map *maps, uint32_t count);

/* Frees the maps. */
void uspi_source_paths_clear(struct uspi_source_paths *paths);

/* Returns a directory after the first matching map has replaced its prefix; NULL when memory is exhausted. A prefix
 * ends at the end of a path component. Trailing slashes of a prefix and its replacement are ignored. */
const char *uspi_source_folder(const struct uspi_source_paths *paths, struct uspi_names *names, const char *folder);

/* Counts a frame, and stores it if there is room. */
void uspi_put_source_frame(struct usp_lines *lines, const struct usp_source_frame *frame);

/* Adds the frames of an answer of debug information. Returns USP_OK, or USP_ERROR_FORMAT: the caller must discard the
 * added frames. */
int uspi_lines_frames(const struct uspi_source_paths *paths, struct uspi_names *names,
                      const struct uspi_lines_answer *answer, usp_addr address, struct usp_lines *lines);

#endif
