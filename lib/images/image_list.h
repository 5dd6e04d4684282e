/* SPDX-License-Identifier: MIT */
/* Building a list of images. A source of images (the loader, /proc/PID/maps, a core) adds them one by one; sealed, they are
 * the public, sorted, immutable struct usp_images. */
#ifndef USPI_IMAGE_LIST_H
#define USPI_IMAGE_LIST_H

#include <unspool/images.h>
#include <unspool/unwind.h>

#include <stdbool.h>

struct uspi_image_list {
    struct usp_image *images; /* paths are owned */
    size_t count, capacity;
    struct usp_memory_range *data; /* readable memory without code, ascending */
    size_t data_count, data_room;
    bool has_cache;
    struct usp_shared_cache cache; /* where has_cache says so */
};

/* Adds a copy of *image, its path included. USP_OK or USP_ERROR_NO_MEMORY (the list is as before). */
int uspi_image_list_add(struct uspi_image_list *list, const struct usp_image *image);

/* Adds a range behind all others that can be read and holds no code. Returns as above. */
int uspi_image_list_add_data(struct uspi_image_list *list, usp_addr low, usp_addr high);

/* Turns the list into a sorted struct usp_images and empties it, also on failure. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_image_list_seal(struct uspi_image_list *list, struct usp_images **images);

/* The same of what `find` finds, called with `context`. Returns as above, and what `find` returned. (lib/images/images.c) */
struct uspi_images_found; /* lib/os/os.h */
int uspi_images_seal_found(int (*find)(void *context, struct uspi_images_found *found), void *context,
                           struct usp_images **images);

/* One more reference to a list; usp_images_free gives it up. */
struct usp_images *uspi_images_keep(const struct usp_images *images);

/* Whether code can be at an address: USP_OK and *region in an image's text; USP_ERROR_NOT_FOUND in an image beside its text,
 * and in memory that was listed as holding none; otherwise USP_ERROR_ABSENT: code that was generated may be there.
 * Async-signal-safe. */
int uspi_images_region_at(const struct usp_images *images, usp_addr address, struct usp_region *region);

/* The bytes that a list takes, its paths included. */
uint64_t uspi_images_size(const struct usp_images *images);

/* Frees what was added and not sealed. */
void uspi_image_list_clear(struct uspi_image_list *list);

#endif
