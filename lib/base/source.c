/* SPDX-License-Identifier: MIT */
/* See source.h. */
#include "lib/base/source.h"

bool uspi_has_source(const struct usp_source_frame *frame) { return frame->file != NULL && frame->line > 0; }

void uspi_put_source(struct uspi_text *text, const struct usp_source_frame *frame, uint32_t flags) {
    if (!uspi_has_source(frame)) return;
    uspi_put_string(text, " (");
    if ((flags & USP_FORMAT_FULL_PATHS) != 0 && frame->directory != NULL) {
        uspi_put_harmless(text, uspi_span_of(frame->directory), "");
        uspi_put_string(text, "/");
    }
    uspi_put_harmless(text, uspi_span_of(frame->file), "");
    uspi_put_string(text, ":");
    uspi_put_decimal(text, frame->line, 0);
    if ((flags & USP_FORMAT_COLUMNS) != 0 && frame->column > 0) {
        uspi_put_string(text, ":");
        uspi_put_decimal(text, frame->column, 0);
    }
    uspi_put_string(text, ")");
}

void uspi_json_source(struct uspi_json *json, const struct usp_source_frame *frame) {
    if (frame->directory != NULL) uspi_json_string(json, "source_directory", frame->directory);
    if (frame->file != NULL) uspi_json_string(json, "source_file", frame->file);
    if (frame->line > 0) uspi_json_number(json, "source_line", frame->line);
    if (frame->column > 0) uspi_json_number(json, "source_column", frame->column);
}
