/* SPDX-License-Identifier: MIT */
/* A list of images with room for each one's module. A list that was given lasts as long as its symbolizer; that of this
 * process is replaced when libraries come or go, and retired (lib/base/epoch.h). */
#ifndef USPI_VIEW_H
#define USPI_VIEW_H

#include "lib/base/epoch.h"
#include "lib/symbolize/module.h"

struct uspi_view {
    struct uspi_retired retired;
    const struct usp_images *images;
    struct usp_images *owned;                /* the same, when it goes with the view; NULL otherwise */
    uint64_t generation;                     /* of the process's images */
    _Atomic(struct uspi_module *) modules[]; /* by the image's position; NULL until it is asked for. Not owned */
};

/* NULL when memory lacks; `owned` is the caller's still then. */
struct uspi_view *uspi_view_create(const struct usp_images *images, struct usp_images *owned, uint64_t generation);

/* The shape of uspi_retired.destroy; NULL is ignored. */
void uspi_view_free(struct uspi_retired *view);

/* The place for the module of an image of the view. */
_Atomic(struct uspi_module *) *uspi_view_module(struct uspi_view *view, const struct usp_image *image);

/* Forgets all modules. */
void uspi_view_forget_modules(struct uspi_view *view);

#endif
