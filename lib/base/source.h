/* SPDX-License-Identifier: MIT */
/* Writes a source frame's file and line as text and as JSON, for the library's reports and for the command, which links
 * its own copy. */
#ifndef USPI_BASE_SOURCE_H
#define USPI_BASE_SOURCE_H

#include "lib/base/json.h"

#include <unspool/format.h>
#include <unspool/lines.h>

/* Returns whether the file and the line of a source frame are known. */
bool uspi_has_source(const struct usp_source_frame *frame);

/* Writes " (file.c:12)"; nothing when file or line is unknown. With USP_FORMAT_FULL_PATHS in `flags` (enum
 * usp_format_flags) the path: " (/directory/file.c:12)". With USP_FORMAT_COLUMNS the column, if known: "
 * (file.c:12:5)". */
void uspi_put_source(struct uspi_text *text, const struct usp_source_frame *frame, uint32_t flags);

/* Writes the keys "source_directory", "source_file", "source_line" and "source_column", each if it is known. */
void uspi_json_source(struct uspi_json *json, const struct usp_source_frame *frame);

#endif
