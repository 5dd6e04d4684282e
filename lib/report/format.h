/* SPDX-License-Identifier: MIT */
/* Writes one frame as a line of text, in each style. Used by usp_format_frame and by the stacks and reports that
 * lib/report/ writes. */
#ifndef USPI_REPORT_FORMAT_H
#define USPI_REPORT_FORMAT_H

#include "arch/backend.h"
#include "lib/base/source.h"

struct uspi_frame_line {
    const struct uspi_backend *backend;
    uint64_t index;
    const struct usp_frame *frame;
    const struct usp_symbol *symbol;
    bool harmless;     /* names are escaped for a terminal; otherwise they are written unchanged */
    bool is_inlined;   /* the symbol is an inlined call: it has a name, but no offset of its own */
    bool is_inferred;  /* the function left no frame: debug information shows that it made a tail call */
    bool is_own_style; /* the style is not that of another tool: unverified frames are marked */
    uint32_t flags;    /* enum usp_format_flags: how file and line are written */
    const struct usp_source_frame *source; /* file and line; NULL: they are not written */
};

/* Writes a frame in a style for single frames, without a newline. Returns false for any other style. */
bool uspi_put_frame(struct uspi_text *text, uint32_t style, const struct uspi_frame_line *line);

/* Returns whether a style shows source files and inlined calls. */
bool uspi_style_has_lines(uint32_t style);

/* Returns the last component of a path, cut at `width` bytes; "???" if the path is NULL or empty. */
struct uspi_span uspi_image_name(const char *path, size_t width);

/* Return the name of an enum usp_frame_kind, and of an enum usp_frame_method, in JSON. (report_json.c) */
const char *uspi_frame_kind_name(uint32_t kind);
const char *uspi_frame_method_name(uint32_t method);

/* Returns b − a modulo the width of the target's pointers. */
uint64_t uspi_target_offset(const struct uspi_backend *backend, usp_addr b, usp_addr a);

#endif
