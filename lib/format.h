/* SPDX-License-Identifier: MIT */
/* What the styles share: a frame's line, for usp_format_frame and for the reports of lib/report*.c. */
#ifndef USPI_FORMAT_H
#define USPI_FORMAT_H

#include "arch/backend.h"
#include "lib/text.h"

struct uspi_line {
    const struct uspi_backend *backend;
    uint64_t index;
    const struct usp_frame *frame;
    const struct usp_symbol *symbol;
    bool harmless; /* names are escaped for a terminal; otherwise they stay as they are */
};

/* A frame in one of the styles that frames have, without a newline. False: it is not one of these. */
bool uspi_put_frame(struct uspi_text *text, uint32_t style, const struct uspi_line *line);

/* The last part of a path, at most `width` bytes of it. "???" for none. */
struct uspi_span uspi_image_name(const char *path, size_t width);

/* b − a as the target's words do: modulo the width of a pointer. */
uint64_t uspi_target_offset(const struct uspi_backend *backend, usp_addr b, usp_addr a);

/* A build-id or UUID: as a UUID if it is as long as one, otherwise as digits. */
void uspi_put_build_id(struct uspi_text *text, const uint8_t *bytes, uint32_t size);

#endif
