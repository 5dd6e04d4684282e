/* SPDX-License-Identifier: MIT */
/* A view is a list of images with a slot for each image's module. The view of a given list lives as long as its
 * symbolizer. The view of this process is replaced and retired (lib/base/epoch.h) when libraries are loaded or
 * unloaded. */
#ifndef USPI_SYMBOLIZE_VIEW_H
#define USPI_SYMBOLIZE_VIEW_H

#include "lib/base/epoch.h"
#include "lib/symbolize/module.h"

struct uspi_view {
    struct uspi_retired retired;
    const struct usp_images *images;
    struct usp_images *owned;                /* the same list, if the view owns it; NULL: it does not */
    uint64_t generation;                     /* of this process's list of images; 0 for a given list */
    _Atomic(struct uspi_module *) modules[]; /* by the image's position in the list; NULL until needed; not owned */
};

/* Makes a view. Returns NULL when memory is exhausted; `owned` still belongs to the caller then. */
struct uspi_view *uspi_view_create(const struct usp_images *images, struct usp_images *owned, uint64_t generation);

/* Frees a view. Can be used as uspi_retired.destroy. NULL is ignored. */
void uspi_view_free(struct uspi_retired *view);

/* Returns the slot for the module of an image in the view. */
_Atomic(struct uspi_module *) *uspi_view_module(struct uspi_view *view, const struct usp_image *image);

/* Sets all slots to NULL. */
void uspi_view_forget_modules(struct uspi_view *view);

#endif
