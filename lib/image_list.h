/* SPDX-License-Identifier: MIT */
/* Building a list of images. Who finds them (the loader, /proc/PID/maps, a core) adds them one by one; sealed, they are
 * the public, sorted, immutable struct usp_images. */
#ifndef USPI_IMAGE_LIST_H
#define USPI_IMAGE_LIST_H

#include <unspool/images.h>
#include <unspool/unwind.h>

#include <string.h>

struct uspi_image_list {
    struct usp_image *images; /* paths are owned */
    size_t count, capacity;
    bool has_cache;
    struct usp_shared_cache cache; /* where has_cache says so */
};

/* Adds a copy of *image, its path included. USP_OK or USP_ERROR_NO_MEMORY (the list is as before). */
int uspi_image_list_add(struct uspi_image_list *list, const struct usp_image *image);

/* Turns the list into a sorted struct usp_images and empties it, also on failure. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_image_list_seal(struct uspi_image_list *list, struct usp_images **images);

/* Gives a list the unwind tables of its images, one for each in the list's order; they are malloc'ed and become the
 * list's. */
void uspi_images_give_tables(struct usp_images *images, struct usp_unwind_tables *tables);

/* Those of an image of the list; NULL when it was given none. Any time. */
const struct usp_unwind_tables *uspi_images_tables(const struct usp_images *images, const struct usp_image *image);

/* The bytes that a list takes, its paths included and its tables not. */
uint64_t uspi_images_size(const struct usp_images *images);

/* Moves an image's path into the caller's room, cut off where that ends. Any time. */
static inline void uspi_image_move_path(struct usp_image *image, char *path, size_t path_size) {
    size_t length = strnlen(image->path, path_size - 1);
    memcpy(path, image->path, length);
    path[length] = '\0';
    image->path = path;
}

/* Frees what was added and not sealed. */
void uspi_image_list_clear(struct uspi_image_list *list);

#endif
