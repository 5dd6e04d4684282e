/* SPDX-License-Identifier: MIT */
/* The list of this process's images, one for all callers. A new list is made after a library was loaded or unloaded. A
 * list is freed when its last reader releases it. A higher layer can attach data to each list, such as unwind tables.
 * List and data are published together, so that both always describe the same moment.
 *
 * The public part is usp_images_create_self, usp_images_acquire, usp_images_release, usp_image_at,
 * usp_images_generation. */
#ifndef USPI_IMAGES_OWN_IMAGES_H
#define USPI_IMAGES_OWN_IMAGES_H

#include <stdbool.h>
#include <unspool/images.h>

/* A published list. */
struct uspi_own_images {
    const struct usp_images *images; /* NULL: none yet */
    uint64_t generation;             /* higher for newer lists; 0: no list yet */
    void *extra;                     /* the higher layer's data about the list; NULL: none */
};

/* Copies the list that was published last to *own. The list and its data stay valid until usp_images_release gets the
 * returned ticket. Async-signal-safe. */
uint32_t uspi_own_images_enter(struct uspi_own_images *own);

/* Returns whether the list with this generation is the last published one and nothing was loaded or unloaded since.
 * Async-signal-safe. */
bool uspi_own_images_are_current(uint64_t generation);

/* Returns whether an image of the list with this generation is still loaded. False also if a newer list was published
 * and the image need not stay. Async-signal-safe. */
bool uspi_own_images_have(uint64_t generation, const struct usp_image *image);

/* Publishes a new list if something was loaded or unloaded since the last list was made; otherwise only compares the
 * loader's list (cost: doc/benchmarks.md). Takes no lock of the loader. While the loader changes its list, reads it
 * again until `deadline` (usp_clock; UINT64_MAX: none).
 *
 * Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED, USP_ERROR_SYSTEM when the system lets no image be read,
 * or USP_ERROR_BUSY when too many old lists are still held or the loader keeps changing its list. On failure the last
 * published list stays. Not async-signal-safe. */
int uspi_own_images_refresh(uint64_t deadline);

/* Refreshes the list without a deadline and returns it in *images with its generation; the caller frees it with
 * usp_images_free. If the refresh fails, returns the last published list if there is one. */
int uspi_own_images_get(struct usp_images **images, uint64_t *generation);

/* How a higher layer makes and frees its data about a list. */
struct uspi_images_extra {
    /* Makes the data for a list, which outlives the data. Called without a lock. Returns USP_OK or
     * USP_ERROR_NO_MEMORY. */
    int (*make)(const struct usp_images *images, void **extra);
    void (*free)(void *extra);
};

/* Publishes a new list with data that `extra` makes; later lists get such data as well. There is only one caller, and
 * `extra` is its constant. No deadline. Returns what uspi_own_images_refresh returns. */
int uspi_own_images_extend(const struct uspi_images_extra *extra);

/* Withdraws the published list. The next refresh publishes a list without extra data. */
void uspi_own_images_withdraw(void);

#endif
