/* SPDX-License-Identifier: MIT */
/* Unpacks zip archives to a temporary folder with libarchive, which is loaded if it is needed. Only files that begin
 * like object files are unpacked, no links, nothing outside the folder, and no more than a limit. */
#ifndef TOOLS_UNPACK_H
#define TOOLS_UNPACK_H

#include <stddef.h>

/* Unpacks an archive. *folder is the folder's path, for unpack_end even on failure; NULL: none. `error` gets a message.
 * Returns USP_OK, USP_ERROR_UNSUPPORTED (built without libarchive, or it is not installed), USP_ERROR_FORMAT (damaged,
 * hostile or too large), USP_ERROR_NOT_FOUND, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int unpack_begin(const char *archive, char **folder, char *error, size_t error_size);

/* Removes the folder with all that is in it, and frees its path. NULL is ignored. */
void unpack_end(char *folder);

#endif
