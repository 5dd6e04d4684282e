/* SPDX-License-Identifier: MIT */
/* Functions that images.c (another process) and loaded.c (this one) share. */
#ifndef USPI_OS_LINUX_IMAGES_H
#define USPI_OS_LINUX_IMAGES_H

#include "lib/object/elf.h"

#include <unspool/images.h>

struct uspi_images_found; /* lib/os/os.h */
struct uspi_mapping;      /* lib/os/linux/proc.h */

/* Reads the image that begins at `load` from its headers in memory. Fills *image except for its path and flags.
 * Returns false when there are no headers or they contradict themselves. */
bool uspi_linux_describe_image(const struct uspi_source *source, usp_addr load, struct uspi_elf *elf,
                               struct usp_image *image);

/* A list of another process's images that is being made from its mappings. */
struct uspi_image_listing;

/* Begins a listing.
 *   living  a thread of the process that has not ended
 *   memory  descriptor of the process's memory
 * Returns NULL when memory is exhausted. */
struct uspi_image_listing *uspi_image_listing_begin(int64_t living, int memory, struct uspi_images_found *found);

/* Takes the next mapping. */
void uspi_image_listing_take(struct uspi_image_listing *listing, const struct uspi_mapping *mapping);

/* Ends the listing and frees it. Returns USP_OK, or the first failure. */
int uspi_image_listing_end(struct uspi_image_listing *listing);

/* Gives the path of a process's program (0: this one's), cut to `n` bytes; "" when it is not known. */
void uspi_linux_read_program(int64_t pid, char *path, size_t n);

#endif
