/* SPDX-License-Identifier: MIT */
/* Opens the object files that a linked image names as the source of its code: FILE.o, or LIB.a(MEMBER.o). They have no
 * build id; their modification time tells whether they are the files that were linked. */
#ifndef USPI_IMAGES_OBJECT_FILE_H
#define USPI_IMAGES_OBJECT_FILE_H

#include "lib/images/search.h"
#include "lib/object/fat.h"

/* An object file of an image. */
struct uspi_object_wanted {
    const char *path;  /* as the image names it */
    uint64_t modified; /* its modification time in seconds since 1970; another one is USP_ERROR_MISMATCH. 0: any */
    /* How many headers of archives' members were read for the image's object files so far; updated. An image can name
     * very many members of a very large archive, so there is a limit, from which on no archive is searched. */
    uint64_t *headers;
    struct uspi_wanted_slice slice; /* the processor whose slice of a fat archive is used */
};

/* Opens an object file. Of a member of an archive, *file has the member's bytes. `search` says where files are looked
 * for. On success the caller closes *file. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY, or another status,
 * with the reason in *error. */
int uspi_object_file_open(const struct uspi_search *search, const struct uspi_object_wanted *wanted,
                          struct uspi_file **file, struct uspi_error *error);

#endif
