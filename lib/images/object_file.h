/* SPDX-License-Identifier: MIT */
/* Opens the object files that a linked image names as the source of its code: FILE.o, or LIB.a(MEMBER.o). They have no
 * build id; their modification time tells whether they are the files that were linked. */
#ifndef USPI_IMAGES_OBJECT_FILE_H
#define USPI_IMAGES_OBJECT_FILE_H

#include "lib/images/search.h"
#include "lib/object/fat.h"

/* Opens an object file. Of a member of an archive, *file has the member's bytes.
 *   search    where files are looked for
 *   path      as the image names it
 *   modified  its modification time in seconds since 1970; another time is USP_ERROR_MISMATCH. 0: not checked
 *   wanted    the processor whose slice of a fat archive is used
 * On success the caller closes *file. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY, or another status, with
 * the reason in *error. */
int uspi_object_file_open(const struct uspi_search *search, const char *path, uint64_t modified,
                          const struct uspi_wanted_slice *wanted, struct uspi_file **file, struct uspi_error *error);

#endif
