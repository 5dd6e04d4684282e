/* SPDX-License-Identifier: MIT */
/* A list of images with room for each one's module. A list that was given lasts as long as its symbolizer; that of this
 * process is replaced when libraries come or go, and freed when the last look-up that uses it is done. */
#ifndef USPI_VIEW_H
#define USPI_VIEW_H

#include "lib/symbolize/module.h"

#include <stdatomic.h>

struct uspi_view {
    const struct usp_images *images;
    struct usp_images *owned; /* the same, when it goes with the view; NULL otherwise */
    uint64_t generation;      /* of the process's images */
    atomic_size_t users;
    _Atomic(struct uspi_module *) modules[]; /* by the image's position; NULL until it is asked for. Not owned */
};

/* Begins with one user. NULL when memory lacks; `owned` is the caller's still then. */
struct uspi_view *uspi_view_create(const struct usp_images *images, struct usp_images *owned, uint64_t generation);

/* One user less; the last one frees it. NULL is ignored. */
void uspi_view_release(struct uspi_view *view);

/* The place for the module of an image of the view. */
_Atomic(struct uspi_module *) *uspi_view_module(struct uspi_view *view, const struct usp_image *image);

#endif
