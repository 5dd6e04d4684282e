/* SPDX-License-Identifier: MIT */
/* Builds a list of images. A source of images (the loader, /proc/PID/maps, a core file) adds them one by one. Sealing
 * turns the list into the public, sorted, immutable struct usp_images. */
#ifndef USPI_IMAGES_IMAGE_LIST_H
#define USPI_IMAGES_IMAGE_LIST_H

#include "lib/os/os.h"

#include <unspool/images.h>
#include <unspool/unwind.h>

#include <stdbool.h>

struct uspi_image_list {
    struct usp_image *images; /* the list owns their paths */
    size_t count, capacity;
    struct usp_memory_range *data; /* readable memory without code, by ascending address */
    size_t data_count, data_capacity;
    bool has_cache;
    struct usp_shared_cache cache; /* valid if has_cache is true */
    enum uspi_files_seen files;    /* by the images' process, when they were listed */
};

/* Adds a copy of *image and its path. Returns USP_OK, or USP_ERROR_NO_MEMORY, which leaves the list as it was. */
int uspi_image_list_add(struct uspi_image_list *list, const struct usp_image *image);

/* Adds a readable range without code. It must lie above all ranges that were added before. Returns what
 * uspi_image_list_add returns. */
int uspi_image_list_add_data(struct uspi_image_list *list, usp_addr low, usp_addr high);

/* Turns the list into a sorted struct usp_images and empties it, also on failure. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_image_list_seal(struct uspi_image_list *list, struct usp_images **images);

/* Makes *found add to a list. Both must stay where they are until the list is sealed or cleared. Defined in
 * lib/images/images.c, as are the following functions. */
void uspi_images_receive(struct uspi_images_found *found, struct uspi_image_list *list);

/* Seals the list that *found added to. `status`: why the finder failed, which clears the list and is returned; or
 * USP_OK. Otherwise returns what uspi_image_list_seal returns. */
int uspi_images_seal_received(const struct uspi_images_found *found, int status, struct usp_images **images);

/* Does both with the images that `find` adds; `find` gets `context`, and its result is the status. */
int uspi_images_seal_found(int (*find)(void *context, struct uspi_images_found *found), void *context,
                           struct usp_images **images);

/* Sets the build ids of a live process's images to which their headers in memory do not lead
 * (uspi_elf_find_build_id). */
void uspi_image_list_find_build_ids(struct uspi_image_list *list, int64_t pid);

/* Returns one more reference to a list; usp_images_free releases it. */
struct usp_images *uspi_images_keep(const struct usp_images *images);

/* Tells whether code can be at an address. USP_OK: in an image's text, whose range becomes *region.
 * USP_ERROR_NOT_FOUND: in an image but outside its text, or in memory that is listed as having no code.
 * USP_ERROR_ABSENT: anywhere else, or in an image without text; generated code may be there. Async-signal-safe. */
int uspi_images_region_at(const struct usp_images *images, usp_addr address, struct usp_region *region);

/* Returns which files the images' process (0: this one) finds at their paths: what was found out when they were listed,
 * otherwise what the system says now. */
enum uspi_files_seen uspi_images_files_seen(const struct usp_images *images, int64_t process);

/* The stricter of two answers: what is known, and what that list's process saw. `images` may be NULL. */
enum uspi_files_seen uspi_images_stricter_files(enum uspi_files_seen known, const struct usp_images *images);

/* Sets what the process of a new list's images saw. */
void uspi_images_set_files(struct usp_images *images, enum uspi_files_seen files);

/* Returns the size of a list in bytes, with its paths. */
uint64_t uspi_images_size(const struct usp_images *images);

/* Empties a list that was not sealed and frees its images. */
void uspi_image_list_clear(struct uspi_image_list *list);

#endif
