/* SPDX-License-Identifier: MIT */
/* Finds what reports, hangs and profiles show of a frame: the name of its call site, its source line and the calls that
 * were inlined there. */
#ifndef USPI_REPORT_NAMING_H
#define USPI_REPORT_NAMING_H

#include "lib/symbolize/index/expected.h"

/* Memory for the source frames of one call site. All zero: nothing is allocated yet. */
struct uspi_sources {
    struct usp_source_frame *frames;
    uint32_t capacity;
};

void uspi_sources_free(struct uspi_sources *sources);

/* The question to uspi_name_site. */
struct uspi_naming {
    struct usp_symbolizer *symbolizer;
    const struct usp_image *image;        /* image that contains the call site; NULL: from the symbolizer's own list */
    const struct uspi_expected *expected; /* may be NULL */
    struct uspi_sources *sources;         /* memory for lines and inlined calls; NULL: they are not wanted */
};

/* The answer of uspi_name_site. */
struct uspi_named {
    /* The function that was not inlined, as the symbol table or debug information names it. */
    struct usp_symbol symbol;
    /* The inlined calls, innermost first; each has a name. Valid until `sources` is used again. */
    const struct usp_source_frame *inlined;
    uint32_t inlined_count;
    /* File and line in the function that was not inlined; each is NULL or 0 if it is not known. */
    struct usp_source_frame source;
};

/* Names a call site (usp_frame_call_site(), not the return address). Returns the result of usp_symbolize or
 * usp_symbolize_lines. If memory for the lines is exhausted, returns USP_ERROR_NO_MEMORY, and *named has only the
 * name. */
int uspi_name_site(const struct uspi_naming *naming, usp_addr site, struct uspi_named *named);

#endif
