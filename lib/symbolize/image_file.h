/* SPDX-License-Identifier: MIT */
/* The file that an image was loaded from, and the one that its symbols were split off to. A file of another build is
 * refused: a name out of it would be a wrong name. */
#ifndef USPI_IMAGE_FILE_H
#define USPI_IMAGE_FILE_H

#include "lib/object/search.h"

#include <unspool/images.h>

/* Looks for the image's path; search->file counts for the program's image alone. Without a build-id in the image, a file
 * without one is taken, unless the image's own is known to have been replaced. On success *file is the caller's.
 * USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_MISMATCH (there are files, but of other builds), USP_ERROR_NO_MEMORY, or what
 * opening failed with. */
int uspi_image_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error);

/* The file of debugging symbols with the image's build-id, as Debian installs them, below search->sysroot and below /.
 * Returns as above. */
int uspi_debug_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error);

#endif
