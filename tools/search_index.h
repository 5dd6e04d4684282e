/* SPDX-License-Identifier: MIT */
/* The index of a folder of --search: which builds each file has, by path, size and times. A second search of the same
 * folder opens only files that are new or changed. It is kept in unspool/search of the user's cache. A wrong entry does
 * no harm: a file is used only if its own build id is the image's. */
#ifndef TOOLS_SEARCH_INDEX_H
#define TOOLS_SEARCH_INDEX_H

#include <unspool/images.h>

#include <sys/stat.h>

/* Opaque. */
struct search_index;

/* The ids of a file's images, each preceded by a byte with its length; length 0: no id. */
struct search_ids {
    const uint8_t *bytes;
    size_t size;
};

/* Reads the index of a folder. NULL: there is no cache, or memory is exhausted; then nothing is indexed. */
struct search_index *search_index_open(const char *folder);

/* Finds a file that has not changed since it was indexed. `index` may be NULL. */
bool search_index_find(struct search_index *index, const char *path, const struct stat *file, struct search_ids *ids);

/* Remembers what a file has, unless it is so new that it may still change within a second. `index` may be NULL. */
void search_index_add(struct search_index *index, const char *path, const struct stat *file,
                      const struct search_ids *ids);

/* Writes the index if it is worth it and differs from the file, and frees it. NULL is ignored. */
void search_index_close(struct search_index *index);

#endif
