/* SPDX-License-Identifier: MIT */
/* Reads the list of images of Apple's loader, dyld_all_image_infos, from the memory of a process or a core file.
 * macho.h reads the images.
 *
 * Source of the layout: dyld include/mach-o/dyld_images.h. */
#ifndef USPI_OBJECT_DYLD_LIST_H
#define USPI_OBJECT_DYLD_LIST_H

#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_dyld_list {
    struct uspi_bytes entries;
    uint32_t count;
    unsigned word;   /* size of a pointer in bytes, in the process */
    usp_addr loader; /* address of the loader itself, which is not in the list; 0: unknown */
    bool has_cache;  /* the system's shared cache is mapped, and `cache` is valid */
    struct usp_shared_cache cache;
};

/* Reads the head of the list at `infos`. `source` (target memory) must live as long as the list. wide: pointers have 64
 * bits. Returns USP_OK, USP_ERROR_BUSY while the loader changes the list (try again), USP_ERROR_FORMAT when it has more
 * images than any process, or the source's status. */
int uspi_dyld_list_open(struct uspi_dyld_list *list, const struct uspi_source *source, usp_addr infos, bool wide,
                        struct uspi_error *error);

/* Reads entry i: the image's load address, and the address of its path (0: it has none). Returns USP_OK or the source's
 * status. */
int uspi_dyld_list_entry(const struct uspi_dyld_list *list, uint32_t i, usp_addr *load, usp_addr *path,
                         struct uspi_error *error);

#endif
