/* SPDX-License-Identifier: MIT */
/* Changes to the text of a JSON document: adds members with names, in the document's own formatting. */
#ifndef USPI_REPORT_READ_EDITS_H
#define USPI_REPORT_READ_EDITS_H

#include "lib/base/gathered.h"
#include "lib/report/read/read.h"

/* Replaces `removed` bytes at `at` by new text. */
struct uspi_edit {
    size_t at, removed;
    size_t from, length; /* the new text, in `texts` */
};

struct uspi_edits {
    struct uspi_edit *edits;
    size_t count, capacity;
    struct uspi_gathered texts; /* the new texts of the edits */
};

/* uspi_edits_reset empties a list and keeps its memory; uspi_edits_clear frees it. All zero is an empty list. */
void uspi_edits_reset(struct uspi_edits *edits);
void uspi_edits_clear(struct uspi_edits *edits);

/* Make an edit: write the new text to the result of uspi_edit_begin, then add it with uspi_edit_end. USP_OK or
 * USP_ERROR_NO_MEMORY. */
struct uspi_edit_text {
    struct uspi_text text;
    char buffer[512];
};
struct uspi_text *uspi_edit_begin(struct uspi_edits *edits, struct uspi_edit_text *edit);
int uspi_edit_end(struct uspi_edits *edits, struct uspi_edit_text *edit, size_t at, size_t removed);

/* Whether a frame has a source line. */
bool uspi_json_has_source(const struct uspi_json_document *document, const struct uspi_json_frame *frame);

/* Adds the members for a frame's answer. A frame that keeps its name (USPI_FRAME_NAMED) gets its source line and the
 * inlined calls. Returns as above. */
int uspi_edits_add_frame(struct uspi_edits *edits, const struct uspi_json_document *document,
                         const struct uspi_json_frame *frame, const struct usp_answer *answer);

/* Adds the source line of code without a function, answer->frames[0], to a frame that has none. Returns as above. */
int uspi_edits_add_line(struct uspi_edits *edits, const struct uspi_json_document *document,
                        const struct uspi_json_frame *frame, const struct usp_answer *answer);

/* Adds a member "unspool" with the counts since `before` to the outermost object, or replaces the value of its
 * `member` (USPI_JSON_NONE: appends it). Returns as above. */
int uspi_edits_add_counts(struct uspi_edits *edits, const struct uspi_json_document *document,
                          const struct usp_reader_counts *before, const struct usp_reader_counts *counts,
                          size_t member);

/* Returns the key of a frame's inlined calls, for shapes without inlined_key. */
struct uspi_span uspi_inlines_key(const struct uspi_json_shape *shape);

/* Sorts the edits by their position in the text. Members of an object, and nested objects, may have been edited in
 * another order. */
void uspi_edits_sort(struct uspi_edits *edits);

#endif
