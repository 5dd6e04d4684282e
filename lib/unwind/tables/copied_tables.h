/* SPDX-License-Identifier: MIT */
/* Copies of call frame information that is not loaded or has no sorted table. They are copied from an image's file or
 * its file of debugging symbols, and sorted, so that a capture reads only memory of this process. */
#ifndef USPI_UNWIND_TABLES_COPIED_TABLES_H
#define USPI_UNWIND_TABLES_COPIED_TABLES_H

#include "lib/images/image_sources.h"

/* Fills tables->eh_frame or tables->debug_frame, its sorted table, and the memory they are read from. The caller frees
 * it with uspi_copied_tables_free. Returns USP_OK, USP_ERROR_NOT_FOUND when there is no such file or it has no such
 * table, or another status when the file cannot be read. Not async-signal-safe. */
int uspi_copied_tables_make(const struct usp_image *image, const struct uspi_image_sources *places,
                            struct usp_unwind_tables *tables);

/* Does the same with .debug_frame only, for an image that has loaded tables too. */
int uspi_copied_debug_frame_make(const struct usp_image *image, const struct uspi_image_sources *places,
                                 struct usp_unwind_tables *tables);

/* Returns the size of the copies in bytes; 0 for tables that are not copies. */
uint64_t uspi_copied_tables_size(const struct usp_unwind_tables *tables);

/* Frees copies. Other tables are left alone. */
void uspi_copied_tables_free(struct usp_unwind_tables *tables);

#endif
