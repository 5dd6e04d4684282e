/* SPDX-License-Identifier: MIT */
/* Zip archives, unpacked to a temporary folder by libarchive, which is loaded when it is needed. Only files that begin as
 * object files do are unpacked, no links, nothing outside of the folder, and no more than a limit. */
#ifndef TOOL_UNPACK_H
#define TOOL_UNPACK_H

#include <stddef.h>

/* Unpacks an archive. *folder is the folder's path, for unpack_end also on failure; NULL: none. `error` receives a sentence.
 * Returns USP_OK, USP_ERROR_UNSUPPORTED (built without libarchive, or it is not installed), USP_ERROR_FORMAT (damaged, hostile
 * or too large), USP_ERROR_NOT_FOUND, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int unpack_begin(const char *archive, char **folder, char *error, size_t error_size);

/* Removes the folder with all that is in it, and frees its path. NULL is ignored. */
void unpack_end(char *folder);

#endif
