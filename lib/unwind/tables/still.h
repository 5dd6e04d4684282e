/* SPDX-License-Identifier: MIT */
/* The memory of an image that stays readable until the process ends (image_tables.h). */
#ifndef USPI_UNWIND_TABLES_STILL_H
#define USPI_UNWIND_TABLES_STILL_H

#include <unspool/unwind.h>

/* Maximum number of ranges of one image. Linkers write one, or two with a gap between them, or three. */
#define USPI_STILL_RANGES 3u

struct uspi_still {
    struct usp_memory_range ranges[USPI_STILL_RANGES]; /* ascending; the last ones may be empty */
};

/* Adds a range that begins at or above the last one. Joins the two if no page is between them. */
void uspi_add_still(struct uspi_still *still, usp_addr low, usp_addr size);

/* Returns the range that contains an address; empty: none. Async-signal-safe. */
struct usp_memory_range uspi_still_at(const struct uspi_still *still, usp_addr address);

#endif
