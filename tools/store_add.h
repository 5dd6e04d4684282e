/* SPDX-License-Identifier: MIT */
/* Makes indexes of files, folders and archives in a store, or compares them with their source, for `unspool store add`
 * and `unspool index`. */
#ifndef TOOLS_STORE_ADD_H
#define TOOLS_STORE_ADD_H

#include "tools/progress.h"

/* Number of lists of what was indexed: with 100,000 builds each stays short. */
#define STORE_ADDED_LISTS 1024

struct store_adding {
    const char *store;
    uint32_t threads; /* 0: as many as there are processors */
    bool is_verification;
    bool is_forced; /* make existing indexes again */
    bool is_quiet;
    const char *only; /* names of images of shared caches, with commas between them; NULL: all images */
    /* The following fields belong to store_add; initially zero. */
    bool is_searching;                            /* below a folder: files that are not images are ignored */
    const char *archive;                          /* path of the current archive; NULL: none */
    const char *unpacked;                         /* folder of its unpacked files */
    const char *path;                             /* displayed name of the current file */
    struct store_added *added[STORE_ADDED_LISTS]; /* what was indexed, by build; each list begins with the newest */
    /* Indexes that were made, how many of them have lines, and those that were there; sizes of what was made. */
    uint64_t written, with_lines, kept, index_bytes, source_bytes;
    uint64_t found; /* images and shared caches that were found */
    struct progress progress;
    int result; /* enum exit_status: the worst so far */
};

/* Each path is a file, a dSYM bundle, a folder or a zip archive. Complains. Returns an enum exit_status. */
int store_add(struct store_adding *adding, char *const *paths, size_t count);

#endif
