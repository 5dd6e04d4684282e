/* SPDX-License-Identifier: MIT */
/* Where debug files of a build lie in the folders of symbol servers and their caches: known by the UUID or build-id alone, so
 * that nothing has to be searched. */
#ifndef TOOL_LAYOUTS_H
#define TOOL_LAYOUTS_H

#include <unspool/images.h>

/* Paths of a build in one folder. */
#define LAYOUTS_MAX 12

struct layout_file {
    char *path; /* the caller's to free */
    uint64_t size;
    bool is_debug; /* by its place it has the symbols and lines; else it is the program or library itself */
};

/* The files that are there for a build: at most LAYOUTS_MAX, those with symbols in front. Empty files, by which caches keep
 * that there is nothing, are left out. What the files hold is not looked at. */
size_t layouts_find(const char *folder, const uint8_t *id, size_t id_size, struct layout_file files[LAYOUTS_MAX]);

/* Where the unified layout has a file of a build: FOLDER/ab/cdef.../NAME. The caller's to free; NULL when memory lacks or the id
 * is too short. */
char *layouts_unified(const char *folder, const uint8_t *id, size_t id_size, const char *name);

#endif
