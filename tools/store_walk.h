/* SPDX-License-Identifier: MIT */
/* Going through a store of indexes (doc/index-format.md): STORE/ab/cdef.../index, and what killed commands have left there. */
#ifndef TOOL_STORE_WALK_H
#define TOOL_STORE_WALK_H

#include <unspool/unspool.h>

enum store_kind {
    STORE_INDEX,
    STORE_TEMPORARY, /* of a command that is writing an index, or was killed while it did */
    STORE_FOLDER     /* of a build; comes after the files in it */
};

struct store_entry {
    enum store_kind kind;
    const char *path;
    const char *folder;                 /* of the build */
    uint8_t build_id[USP_BUILD_ID_MAX]; /* by the path */
    uint32_t build_id_size;
};

/* Ends the walk when it returns something other than EXIT_ALL_WELL. */
typedef int (*store_visitor)(void *context, const struct store_entry *entry);

/* Calls `visit` for each entry, in the order of the build-ids; files of other names are passed over. Complains of folders that
 * cannot be listed. Returns an enum exit_status: what `visit` returned, EXIT_NO_TARGET, EXIT_FAILED, EXIT_ALL_WELL. */
int store_walk(const char *store, store_visitor visit, void *context);

/* Whether the index at the path of an entry is whole and of the build that the path names: USP_OK, or what is wrong with it, with
 * a sentence in `error`. Without `is_thorough` only its header is read. */
int store_examine(const struct store_entry *entry, bool is_thorough, struct usp_index_info *info, char *error,
                  size_t error_size);

#endif
