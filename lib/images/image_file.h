/* SPDX-License-Identifier: MIT */
/* The file that an image was loaded from, the one that its symbols were split off to, and the memory it lies in. A file of
 * another build is refused: a name out of it would be a wrong name. */
#ifndef USPI_IMAGE_FILE_H
#define USPI_IMAGE_FILE_H

#include "lib/images/pointers.h"
#include "lib/images/search.h"

#include <unspool/images.h>
#include <unspool/unwind.h>

/* Where a symbolizer finds what its images are made of. */
struct uspi_places {
    struct uspi_search search;
    bool in_process;                 /* the images are this process's */
    int64_t process;                 /* the live process that they are of; 0: none, or this one */
    const struct usp_memory *memory; /* of the target; NULL: not given */
    struct uspi_pointers pointers;   /* in that memory */
    const char *index_store;         /* a folder of index files (lib/symbolize/lines/); NULL: none */
};

/* Looks for the image's path; search.file counts for the program's image alone. Without a build-id in the image, a file
 * without one is taken, unless the image's own is known to have been replaced. What a live process has mapped is asked
 * for from the system then. On success *file is the caller's. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_MISMATCH (there are
 * files, but of other builds), USP_ERROR_NO_MEMORY, or what opening failed with. */
int uspi_image_file_open(const struct usp_image *image, const struct uspi_places *places, struct uspi_file **file,
                         struct uspi_error *error);

/* The file of debugging symbols: the one with the image's build-id, as Debian installs them, below search.sysroot and
 * below /; or the one that the image's `file` names in its .gnu_debuglink, with the checksum that stands there: beside it,
 * in .debug beside it, and below /usr/lib/debug. Returns as above. */
int uspi_debug_file_open(const struct usp_image *image, const struct uspi_file *file, const struct uspi_places *places,
                         struct uspi_file **debug, struct uspi_error *error);

/* The memory that holds the image, to be closed. */
struct uspi_image_memory {
    struct usp_memory memory;
    bool is_opened; /* by us */
};

/* USP_OK, USP_ERROR_NOT_FOUND when there is none, or what opening failed with. */
int uspi_image_memory_open(const struct uspi_places *places, struct uspi_image_memory *memory);

void uspi_image_memory_close(struct uspi_image_memory *memory);

#endif
