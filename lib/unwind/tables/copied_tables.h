/* SPDX-License-Identifier: MIT */
/* Call frame information that is not loaded, or that the linker made no sorted table for: copied from an image's file, or
 * from that of its debugging symbols, and sorted here, so that a capture reads nothing but memory of this process. */
#ifndef USPI_KEPT_TABLES_H
#define USPI_KEPT_TABLES_H

#include "lib/images/image_file.h"

/* Fills tables->eh_frame or tables->debug_frame, its sorted table, and the memory they are read from, which must be given
 * to uspi_copied_tables_free. USP_OK, USP_ERROR_NOT_FOUND when there is no such file or nothing of that kind in it, other
 * statuses when it cannot be read. Not async-signal-safe. */
int uspi_copied_tables_make(const struct usp_image *image, const struct uspi_places *places,
                            struct usp_unwind_tables *tables);

/* The bytes that were copied and made; 0 of others' tables. */
uint64_t uspi_copied_tables_size(const struct usp_unwind_tables *tables);

/* Frees what was made; others' tables are left alone. */
void uspi_copied_tables_free(struct usp_unwind_tables *tables);

#endif
