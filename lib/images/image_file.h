/* SPDX-License-Identifier: MIT */
/* Opens the file that an image was loaded from, and the file with its split debugging symbols, in each format that
 * unspool reads. A file of another build is refused, because its names would be wrong. Who needs only ELF files calls
 * elf_file.h, so that a program that is linked statically does not contain the readers of the other formats. */
#ifndef USPI_IMAGES_IMAGE_FILE_H
#define USPI_IMAGES_IMAGE_FILE_H

#include "lib/images/image_sources.h"

/* Opens the file at the image's path or, without one, makes it from a shared cache that has the image. search.file is
 * used for the main program's image only. An image without a build id accepts a file whose id is in the image's memory,
 * and one without an id, unless the image's own file is known to have been replaced. If no file fits, asks the system
 * for the file that a live process has mapped. On success the caller closes *file. Returns USP_OK, USP_ERROR_NOT_FOUND,
 * USP_ERROR_MISMATCH (only files of other builds were found), USP_ERROR_NO_MEMORY, or what opening failed with. */
int uspi_image_file_open(const struct usp_image *image, const struct uspi_image_sources *places,
                         struct uspi_file **file, struct uspi_error *error);

/* Opens the file of debugging symbols of an image (uspi_elf_debug_open, uspi_macho_debug_open). Returns what
 * uspi_image_file_open returns. */
int uspi_debug_file_open(const struct usp_image *image, const struct uspi_file *file,
                         const struct uspi_image_sources *places, struct uspi_file **debug, struct uspi_error *error);

#endif
