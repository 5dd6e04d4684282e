/* SPDX-License-Identifier: MIT */
/* Opens the files of a Mach-O image: the file it was loaded from, and the dSYM with its symbols. The image's UUID
 * decides whether a file is accepted, and which slice of it. Callers use image_file.h, which serves images of any
 * format. */
#ifndef USPI_IMAGES_MACHO_FILE_H
#define USPI_IMAGES_MACHO_FILE_H

#include "lib/images/search.h"
#include "lib/object/fat.h"

#include <unspool/images.h>

/* Returns which slice of a fat file the image was loaded from: the slice with its UUID or, if it has none, the slice
 * for its processor. The result points to the UUID in *image. */
struct uspi_wanted_slice uspi_slice_of_image(const struct usp_image *image);

/* Does what uspi_image_file_open does for a Mach-O image. If the file is not found, opens the image's dSYM. */
int uspi_macho_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error);

/* Does what uspi_debug_file_open does for a Mach-O image. Candidates are PATH.dSYM and, if the file lies in a bundle
 * (NAME.app, NAME.framework), BUNDLE.dSYM; each also in a folder dSYMs beside the file or bundle. USP_ERROR_NOT_FOUND
 * for an image without a UUID, since nothing shows which dSYM is its own. */
int uspi_macho_debug_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                          struct uspi_error *error);

#endif
