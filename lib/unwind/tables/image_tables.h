/* SPDX-License-Identifier: MIT */
/* The unwind tables of loaded images, found by their headers beforehand: during a capture nothing is looked up but the list.
 * How the tables are read is the frame readers'. */
#ifndef USPI_IMAGE_TABLES_H
#define USPI_IMAGE_TABLES_H

#include "lib/images/image_file.h"

/* The tables of a list's images. Never changed once it is made; counted by holders. */
struct uspi_image_tables;

/* Learns where each image of the list has its tables, from the headers in memory, or, where an ELF image's name none, from the
 * image's file, which is looked for at `places` (NULL: nowhere). An image of which neither can be read has none, nor has one
 * whose copies would take more than what others have left of `limit`, in the bytes that uspi_image_tables_size counts.
 * Keeps the list. USP_OK or USP_ERROR_NO_MEMORY. Not async-signal-safe. */
int uspi_image_tables_create(const struct usp_images *images, const struct usp_memory *memory,
                             const struct uspi_places *places, uint64_t limit, struct uspi_image_tables **tables);

/* The same for another process, without a limit: each read of its memory costs a system call, so headers are read by pages. */
int uspi_image_tables_of_process(const struct usp_images *images, const struct usp_memory *memory,
                                 const struct uspi_places *places, struct uspi_image_tables **tables);

/* One more holder. Async-signal-safe. */
struct uspi_image_tables *uspi_image_tables_keep(struct uspi_image_tables *tables);

/* The last holder's call frees them. NULL is ignored. */
void uspi_image_tables_free(struct uspi_image_tables *tables);

/* The bytes that the tables take in this process: what is known of where they are, and copies of those that are not loaded. */
uint64_t uspi_image_tables_size(const struct uspi_image_tables *tables);

/* Has the shape of target.unwind_tables_at; the context is a struct uspi_image_tables. Async-signal-safe. */
int uspi_image_tables_at(void *tables, usp_addr pc, struct usp_unwind_tables *found);

/* Has the shape of target.image_at; the context is the same: what the list of images says (uspi_images_region_at).
 * Async-signal-safe. */
int uspi_image_tables_region_at(void *tables, usp_addr pc, struct usp_region *region);

/* Gives a target of a live process both (NULL: none); the tables must stay until the target is used no more. For targets that
 * have no other callbacks. Async-signal-safe. */
void uspi_image_tables_describe(struct uspi_image_tables *tables, struct usp_target *target);

/* ---- memory that stays ----
 *
 * Of an image of this process that is never unloaded (USP_IMAGE_PERMANENT), what the loader has mapped readable and not
 * writable, its text, its unwind tables, can always be read directly. Of any other image it cannot, not even of one that
 * the captured stack runs through: a frame is known to be one only after it was judged, and for that it has to be read, while
 * another thread may be unloading what a leftover word on the stack points to. Such memory is copied with a check each time.
 * (A program that makes its own text unreadable, or cuts the file that it was loaded from, ends by that in any case.) */

/* The longest range of such memory around an address, which then stays until the process ends; empty when there is none.
 * Async-signal-safe. */
struct usp_memory_range uspi_image_tables_still(const struct uspi_image_tables *tables, usp_addr address);

/* The bytes that knowing this takes. */
uint64_t uspi_image_tables_still_size(const struct uspi_image_tables *tables);

#endif
