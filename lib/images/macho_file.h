/* SPDX-License-Identifier: MIT */
/* The files of a Mach-O image: the one it was loaded from and the dSYM with its symbols. The image's UUID decides whether a
 * file is taken, and which slice of it. image_file.h is the entrance for images of any format. */
#ifndef USPI_MACHO_FILE_H
#define USPI_MACHO_FILE_H

#include "lib/images/search.h"
#include "lib/object/fat.h"

#include <unspool/images.h>

/* The slice of a fat file that an image was loaded from: the one with its UUID or, where it has none, the one for its processor. Its
 * UUID is the image's own memory. */
struct uspi_wanted_slice uspi_slice_of_image(const struct usp_image *image);

/* As uspi_image_file_open. Where there is no such file, a dSYM of the image is as good. */
int uspi_macho_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error);

/* As uspi_debug_file_open: PATH.dSYM, and for what lies in a bundle (NAME.app, NAME.framework) the bundle's, each
 * also in a folder dSYMs beside. An image without a UUID has none, because nothing says which is its own. */
int uspi_macho_debug_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                          struct uspi_error *error);

#endif
