/* SPDX-License-Identifier: MIT */
/* A frame as a line of text, in each style: for usp_format_frame, and for the stacks and reports that lib/report/ writes. */
#ifndef USPI_FORMAT_H
#define USPI_FORMAT_H

#include "arch/backend.h"
#include "lib/base/source.h"

struct uspi_line {
    const struct uspi_backend *backend;
    uint64_t index;
    const struct usp_frame *frame;
    const struct usp_symbol *symbol;
    bool harmless;    /* names are escaped for a terminal; otherwise they stay as they are */
    bool is_inlined;  /* the symbol is a call that was inlined: it has a name and no place of its own */
    bool is_inferred; /* the function has left no frame: debug information tells that it made a tail call */
    uint32_t flags;   /* enum usp_format_flags: how file and line are written */
    const struct usp_source_frame *source; /* file and line; NULL: not wanted */
};

/* A frame in one of the styles that frames have, without a newline. False: it is not one of these. */
bool uspi_put_frame(struct uspi_text *text, uint32_t style, const struct uspi_line *line);

/* Whether a style has a place for source files and inlined calls. */
bool uspi_style_has_lines(uint32_t style);

/* The last part of a path, at most `width` bytes of it. "???" for none. */
struct uspi_span uspi_image_name(const char *path, size_t width);

/* An enum usp_frame_kind as JSON has it. (report_json.c) */
const char *uspi_frame_kind_name(uint32_t kind);

/* b − a as the target's words do: modulo the width of a pointer. */
uint64_t uspi_target_offset(const struct uspi_backend *backend, usp_addr b, usp_addr a);

#endif
