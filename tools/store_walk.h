/* SPDX-License-Identifier: MIT */
/* Visits a store of indexes (doc/index-format.md): STORE/ab/cdef.../index, and files that killed commands have left
 * there. */
#ifndef TOOLS_STORE_WALK_H
#define TOOLS_STORE_WALK_H

#include <unspool/unspool.h>

enum store_kind {
    STORE_INDEX,
    STORE_TEMPORARY, /* file of a command that is writing an index, or was killed meanwhile */
    STORE_FOLDER     /* folder of a build; visited after its files */
};

struct store_entry {
    enum store_kind kind;
    const char *path;                   /* for messages and for reading */
    int at;                             /* descriptor of the folder that holds it */
    const char *name;                   /* its name in that folder; it is removed with both, not by its path */
    uint8_t build_id[USP_BUILD_ID_MAX]; /* according to the path */
    uint32_t build_id_size;
};

/* A function that is called for an entry. The walk ends if it does not return EXIT_ALL_WELL. */
typedef int (*store_visitor)(void *context, const struct store_entry *entry);

/* Calls `visit` for each entry, in the order of the build ids; files with other names are ignored. Complains of folders
 * that cannot be listed, and of links below the store, which are not followed: another user could have made them.
 * Returns an enum exit_status: the result of `visit`, EXIT_NO_TARGET, EXIT_FAILED or EXIT_ALL_WELL. */
int store_walk(const char *store, store_visitor visit, void *context);

/* Checks that the index at an entry's path is intact and of the build that the path names. Returns USP_OK, or the
 * error, with a message in `error`. Without `is_thorough` it reads only the header. */
int store_examine(const struct store_entry *entry, bool is_thorough, struct usp_index_info *info, char *error,
                  size_t error_size);

#endif
