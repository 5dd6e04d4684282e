/* SPDX-License-Identifier: MIT */
/* The name of a call site, its source line and the calls that were inlined there: the one way by which reports, hangs and profiles
 * get what they show of a frame. */
#ifndef USPI_NAMING_H
#define USPI_NAMING_H

#include "lib/symbolize/index/expected.h"

/* Room for the source frames of one call site. All zero: none yet. */
struct uspi_sources {
    struct usp_source_frame *frames;
    uint32_t room;
};

void uspi_sources_free(struct uspi_sources *sources);

/* What is asked. */
struct uspi_naming {
    struct usp_symbolizer *symbolizer;
    const struct usp_image *image;        /* in which the call site lies; NULL: as the symbolizer's own list says */
    const struct uspi_expected *expected; /* may be NULL */
    struct uspi_sources *sources;         /* room for lines and inlined calls; NULL: they are not wanted */
};

/* The answer. */
struct uspi_named {
    struct usp_symbol
        symbol; /* of the function that was not inlined; as the symbol table or debug information has it */
    /* The calls that were inlined, innermost first, each with a name; valid until the room is used again. */
    const struct usp_source_frame *inlined;
    uint32_t inlined_count;
    struct usp_source_frame
        source; /* file and line in the function that was not inlined, each 0 where it is not known */
};

/* Names a call site: usp_frame_call_site(), not the return address. Returns what usp_symbolize or usp_symbolize_lines returned.
 * Where memory lacks for the lines, USP_ERROR_NO_MEMORY, and the answer is the name alone. */
int uspi_name_site(const struct uspi_naming *naming, usp_addr site, struct uspi_named *named);

#endif
