/* SPDX-License-Identifier: MIT */
/* See view.h. */
#include "lib/symbolize/view.h"

#include <stdlib.h>

struct uspi_view *uspi_view_create(const struct usp_images *images, struct usp_images *owned, uint64_t generation) {
    size_t count = usp_images_count(images);
    struct uspi_view *view = malloc(sizeof *view + count * sizeof view->modules[0]);
    if (view == NULL) return NULL;
    view->images = images;
    view->owned = owned;
    view->generation = generation;
    atomic_init(&view->users, 1);
    for (size_t i = 0; i < count; i++) atomic_init(&view->modules[i], NULL);
    return view;
}

void uspi_view_release(struct uspi_view *view) {
    if (view == NULL || atomic_fetch_sub_explicit(&view->users, 1, memory_order_acq_rel) != 1) return;
    usp_images_free(view->owned);
    free(view);
}

_Atomic(struct uspi_module *) *uspi_view_module(struct uspi_view *view, const struct usp_image *image) {
    return &view->modules[image - usp_images_get(view->images, 0)];
}
