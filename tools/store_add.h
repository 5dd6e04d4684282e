/* SPDX-License-Identifier: MIT */
/* Making indexes of files, folders and archives in a store, or comparing them with their source: what `unspool store add` and
 * `unspool index` do. */
#ifndef TOOL_STORE_ADD_H
#define TOOL_STORE_ADD_H

#include "tools/progress.h"

struct store_adding {
    const char *store;
    uint32_t threads; /* 0: as many as there are processors */
    bool is_verification;
    bool is_forced; /* indexes that are there are made again */
    bool is_quiet;
    /* The rest is store_add's; begin with zeros. */
    bool is_searching;    /* below a folder: files that are no images are passed over */
    const char *archive;  /* that is being worked on; NULL: none */
    const char *unpacked; /* where its files are */
    const char *path;     /* of the file that is being worked on */
    struct progress progress;
    int result; /* enum exit_status: the worst so far */
};

/* Each path is a file, a dSYM bundle, a folder or a zip archive. Complains. Returns an enum exit_status. */
int store_add(struct store_adding *adding, char *const *paths, size_t count);

#endif
