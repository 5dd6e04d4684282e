/* SPDX-License-Identifier: MIT */
/* Apple's loader's own list of images, dyld_all_image_infos, out of the memory of a process or a core. What the images are
 * is macho.h's.
 *
 * Source of the layout: dyld include/mach-o/dyld_images.h. */
#ifndef USPI_DYLD_LIST_H
#define USPI_DYLD_LIST_H

#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_dyld_list {
    struct uspi_bytes entries;
    uint32_t count;
    unsigned word;   /* bytes of a pointer in the process */
    usp_addr loader; /* where the loader itself is, which is not in the list; 0 unknown */
    bool has_cache;  /* the images of the system's shared cache are mapped: */
    struct usp_shared_cache cache;
};

/* Reads the head of the list at `infos`. `source` (target memory) must live as long as the list; wide: pointers have 64
 * bits. USP_OK, USP_ERROR_BUSY while the loader changes the list (try again), USP_ERROR_FORMAT when it is longer than a
 * list can be, or the source's status. */
int uspi_dyld_list_open(struct uspi_dyld_list *list, const struct uspi_source *source, usp_addr infos, bool wide,
                        struct uspi_error *error);

/* Entry i: where the image is loaded, and where its path stands (0: it has none). USP_OK or the source's status. */
int uspi_dyld_list_entry(const struct uspi_dyld_list *list, uint32_t i, usp_addr *load, usp_addr *path,
                         struct uspi_error *error);

#endif
