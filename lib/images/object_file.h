/* SPDX-License-Identifier: MIT */
/* The object files that a linked image names as the source of its code: FILE.o, or LIB.a(MEMBER.o). Nothing in them says which
 * build they are of; the time at which they were written does. */
#ifndef USPI_OBJECT_FILE_H
#define USPI_OBJECT_FILE_H

#include "lib/images/search.h"
#include "lib/object/fat.h"

/* Opens one, a member of an archive in its place.
 *   search    where files are looked for
 *   path      as the image names it
 *   modified  when it was written, in seconds since 1970; another time is USP_ERROR_MISMATCH. 0: not checked
 *   wanted    the slice of a fat archive, by its processor
 * On success *file is the caller's, to be closed. USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY, or why it cannot be used, with *error
 * saying it. */
int uspi_object_file_open(const struct uspi_search *search, const char *path, uint64_t modified,
                          const struct uspi_wanted_slice *wanted, struct uspi_file **file, struct uspi_error *error);

#endif
