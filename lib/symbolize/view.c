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
    for (size_t i = 0; i < count; i++) atomic_init(&view->modules[i], NULL);
    return view;
}

void uspi_view_free(struct uspi_retired *retired) {
    struct uspi_view *view = (struct uspi_view *)retired;
    if (view == NULL) return;
    usp_images_free(view->owned);
    free(view);
}

_Atomic(struct uspi_module *) *uspi_view_module(struct uspi_view *view, const struct usp_image *image) {
    return &view->modules[image - usp_images_get(view->images, 0)];
}

void uspi_view_forget_modules(struct uspi_view *view) {
    size_t count = usp_images_count(view->images);
    for (size_t i = 0; i < count; i++) atomic_store_explicit(&view->modules[i], NULL, memory_order_relaxed);
}
