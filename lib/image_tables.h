/* SPDX-License-Identifier: MIT */
/* The unwind tables of loaded images, found by their headers beforehand: during a capture nothing is looked up but the
 * list. How the tables are read is lib/unwind/'s. */
#ifndef USPI_IMAGE_TABLES_H
#define USPI_IMAGE_TABLES_H

#include "lib/symbolize/image_file.h"

/* Learns where each image of the list has its tables, from the headers in memory, or, where an ELF image's name none,
 * from the image's file, which is looked for at `places` (NULL: nowhere). An image of which neither can be read has none,
 * nor has one whose copies would take more than what others have left of `limit`, in the bytes that
 * uspi_images_tables_size counts. To be called before anybody else has the list. USP_OK or USP_ERROR_NO_MEMORY (then no
 * image has any). */
int uspi_images_learn_tables(struct usp_images *images, const struct usp_memory *memory,
                             const struct uspi_places *places, uint64_t limit);

/* Frees the tables of `count` images; for images.c. NULL is ignored. */
void uspi_image_tables_free(struct usp_unwind_tables *tables, size_t count);

/* The bytes that the tables of a list take in this process: what is known of where they are, and copies of those that are
 * not loaded. */
uint64_t uspi_images_tables_size(const struct usp_images *images);

/* Has the shape of target.unwind_tables_at; the context is a struct usp_images that has learnt its tables, otherwise there
 * are none. Any time. */
int uspi_images_tables_at(void *images, usp_addr pc, struct usp_unwind_tables *tables);

/* Gives a target the tables of a list, which must stay until the target is used no more. For targets that have no other
 * callbacks. Any time. */
void uspi_images_describe_tables(const struct usp_images *images, struct usp_target *target);

#endif
