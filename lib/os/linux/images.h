/* SPDX-License-Identifier: MIT */
/* Functions that images.c (another process) and loaded.c (this one) share. */
#ifndef USPI_LINUX_IMAGES_H
#define USPI_LINUX_IMAGES_H

#include "lib/object/elf.h"

#include <unspool/images.h>

/* Reads the image that begins at `load` from its headers in memory. Fills *image except for its path and flags.
 * Returns false when there are no headers or they contradict themselves. */
bool uspi_linux_describe_image(const struct uspi_source *source, usp_addr load, struct uspi_elf *elf,
                               struct usp_image *image);

/* Gives the path of a process's program (0: this one's), cut to `n` bytes; "" when it is not known. */
void uspi_linux_read_program(int64_t pid, char *path, size_t n);

#endif
