/* SPDX-License-Identifier: MIT */
/* The unwind tables of loaded images, located beforehand by their headers: a capture only searches the list. The frame
 * readers read the tables. */
#ifndef USPI_UNWIND_TABLES_IMAGE_TABLES_H
#define USPI_UNWIND_TABLES_IMAGE_TABLES_H

#include "lib/images/image_sources.h"

/* The tables of a list's images; reference-counted. */
struct uspi_image_tables;

/* Locates the tables of each image of the list from the headers in memory. If an ELF image's headers have none, they
 * are taken from the image's file, which is searched for at `places` (NULL: nowhere). An image has no tables if
 * neither can be read, or if copies would exceed what is left of `limit`, in bytes as counted by
 * uspi_image_tables_size. Keeps the list. Returns USP_OK or USP_ERROR_NO_MEMORY. Not async-signal-safe. */
int uspi_image_tables_create(const struct usp_images *images, const struct usp_memory *memory,
                             const struct uspi_image_sources *places, uint64_t limit,
                             struct uspi_image_tables **tables);

/* Does the same for another process, without a limit. Each read of its memory costs a system call, and a stack runs
 * through few of the images: uspi_image_tables_at locates an image's tables when it is first asked for them, and is not
 * async-signal-safe then. What `memory` points to must live as long as the tables. */
int uspi_image_tables_of_process(const struct usp_images *images, const struct usp_memory *memory, int64_t process,
                                 struct uspi_image_tables **tables);

/* Locates the tables of one image by its headers in memory. Fields without a table stay 0. Async-signal-safe. */
void uspi_image_tables_locate(const struct usp_image *image, const struct usp_memory *memory,
                              struct usp_unwind_tables *found);

/* Finds .debug_frame of the image that contains pc, for code that none of the tables of uspi_image_tables_at describes:
 * in the image's file or in its separate file of debugging symbols, which are read when the first such address of the
 * image is met. Images of this process have none. Returns USP_OK, or USP_ERROR_NOT_FOUND. Not async-signal-safe. */
int uspi_image_tables_beside(struct uspi_image_tables *tables, usp_addr pc, struct usp_unwind_tables *found);

/* Whether uspi_image_tables_beside has had too little memory. */
bool uspi_image_tables_ran_out(const struct uspi_image_tables *tables);

/* Adds a reference. Async-signal-safe. */
struct uspi_image_tables *uspi_image_tables_keep(struct uspi_image_tables *tables);

/* Removes a reference; the last one frees the tables. NULL is ignored. */
void uspi_image_tables_free(struct uspi_image_tables *tables);

/* Returns the bytes that the tables take in this process: their locations, and copies of tables that are not loaded. */
uint64_t uspi_image_tables_size(const struct uspi_image_tables *tables);

/* Implements target.unwind_tables_at; the context is a struct uspi_image_tables. Thread-safe. Async-signal-safe for
 * tables that uspi_image_tables_create made. */
int uspi_image_tables_at(void *tables, usp_addr pc, struct usp_unwind_tables *found);

/* Implements target.image_at, with the same context, by the list of images (uspi_images_region_at).
 * Async-signal-safe. */
int uspi_image_tables_region_at(void *tables, usp_addr pc, struct usp_region *region);

/* Gives a target of a live process both callbacks (NULL: none). The target must have no other callbacks, and the
 * tables must outlive its use. Async-signal-safe. */
void uspi_image_tables_describe(struct uspi_image_tables *tables, struct usp_target *target);

/* ---- memory that stays ----
 *
 * In an image of this process that is never unloaded (USP_IMAGE_PERMANENT), memory that is mapped readable and not
 * writable can always be read directly: its code and unwind tables. Memory of other images is copied, with a check
 * each time, even if the captured stack seems to run through the image. The word on the stack may be a leftover, and
 * another thread may be unloading the image while it is judged. (A program that makes its own code unreadable, or
 * truncates its own file, crashes anyway.) */

/* Returns the longest range of such memory around an address. It stays readable until the process ends. Empty when
 * there is none. Async-signal-safe. */
struct usp_memory_range uspi_image_tables_still(const struct uspi_image_tables *tables, usp_addr address);

/* Returns the bytes of memory that this data takes. */
uint64_t uspi_image_tables_still_size(const struct uspi_image_tables *tables);

#endif
