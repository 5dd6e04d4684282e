/* SPDX-License-Identifier: MIT */
/* The images of this process: one list for all callers. A new list is made when a library was loaded or unloaded since the last
 * one; a list is freed when its last reader leaves. A higher layer's data about a list (unwind tables) is published with it, so
 * that both always belong to the same moment.
 *
 * The public part is usp_images_create_self, usp_images_acquire, usp_images_release, usp_image_at, usp_images_generation. */
#ifndef USPI_OWN_IMAGES_H
#define USPI_OWN_IMAGES_H

#include <stdbool.h>
#include <unspool/images.h>

/* A list as it was published. */
struct uspi_own_images {
    const struct usp_images *images; /* NULL: none yet */
    uint64_t generation;             /* differs between lists; not 0 */
    void *extra;                     /* what a higher layer made of the list; NULL: nothing */
};

/* Fills *own with what was published last; it stays until usp_images_release gets the ticket that is returned.
 * Async-signal-safe. */
uint32_t uspi_own_images_enter(struct uspi_own_images *own);

/* Whether the list of a generation is the one that was published last, and nothing was loaded or unloaded since.
 * Async-signal-safe. */
bool uspi_own_images_are_current(uint64_t generation);

/* Whether an image of the list of a generation is still loaded; false also when that list is no longer the one that was
 * published last. Async-signal-safe. */
bool uspi_own_images_have(uint64_t generation, const struct usp_image *image);

/* Publishes a new list if something was loaded or unloaded since the last one was made. Otherwise it costs the look at the
 * loader's list (doc/benchmarks.md). Takes no lock of the loader's. While the loader changes its list, it is read again until
 * `deadline` (usp_clock; UINT64_MAX: none). USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED, or USP_ERROR_BUSY when too
 * many old lists are still held or the loader never rests; on failure what was published last stays. Not
 * async-signal-safe. */
int uspi_own_images_refresh(uint64_t deadline);

/* The same without a deadline, and gives *images, which the caller frees with usp_images_free, and its generation. Where that
 * fails, the last list is given rather than none. */
int uspi_own_images_get(struct usp_images **images, uint64_t *generation);

/* What a higher layer makes of lists. */
struct uspi_images_extra {
    /* *extra is published with the list, which outlives it. USP_OK or USP_ERROR_NO_MEMORY. Called without a lock. */
    int (*make)(const struct usp_images *images, void **extra);
    void (*free)(void *extra);
};

/* Publishes the list anew with an extra that is made now; the lists that follow get theirs as well. `extra` is a constant of
 * the only caller's. Without a deadline. Returns as uspi_own_images_refresh. */
int uspi_own_images_extend(const struct uspi_images_extra *extra);

/* Takes back what was published; the next refresh publishes a list without an extra. */
void uspi_own_images_withdraw(void);

#endif
