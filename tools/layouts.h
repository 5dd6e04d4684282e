/* SPDX-License-Identifier: MIT */
/* Finds debug files of a build in the folders of symbol servers and their caches. The path follows from the UUID or
 * build id, so that no folder has to be searched. */
#ifndef TOOLS_LAYOUTS_H
#define TOOLS_LAYOUTS_H

#include <unspool/images.h>

/* Maximum number of paths of a build in one folder. */
#define LAYOUTS_MAX 12

struct layout_file {
    char *path; /* freed by the caller */
    uint64_t size;
    bool is_debug; /* its path says that it has symbols and lines; otherwise it is the program or library itself */
};

/* Finds the files of a build: at most LAYOUTS_MAX, those with symbols first. Returns their number. Empty files, with
 * which caches record that there is nothing, are left out. The contents are not checked. */
size_t layouts_find(const char *folder, const uint8_t *id, size_t id_size, struct layout_file files[LAYOUTS_MAX]);

/* Returns the path of a build's file in the unified layout: FOLDER/ab/cdef.../NAME, which the caller frees. NULL if
 * memory is exhausted or the id is too short. */
char *layouts_unified(const char *folder, const uint8_t *id, size_t id_size, const char *name);

#endif
