/* SPDX-License-Identifier: MIT */
/* What changes in the text of a JSON document: members with names, in the way in which the document writes its own. */
#ifndef USPI_EDITS_H
#define USPI_EDITS_H

#include "lib/base/gathered.h"
#include "lib/report/read/read.h"

/* `removed` bytes at `at` go, the new text takes their place. */
struct uspi_edit {
    size_t at, removed;
    size_t from, length; /* of the new text, in `texts` */
};

struct uspi_edits {
    struct uspi_edit *edits;
    size_t count, room;
    struct uspi_gathered texts; /* what the edits put in */
};

/* All zero is an empty list. Empties it, and keeps its memory; frees it. */
void uspi_edits_reset(struct uspi_edits *edits);
void uspi_edits_clear(struct uspi_edits *edits);

/* What an edit puts in: written to what uspi_edit_begin returns. Then it is added. Both: USP_OK or USP_ERROR_NO_MEMORY. */
struct uspi_edit_text {
    struct uspi_text text;
    char room[512];
};
struct uspi_text *uspi_edit_begin(struct uspi_edits *edits, struct uspi_edit_text *edit);
int uspi_edit_end(struct uspi_edits *edits, struct uspi_edit_text *edit, size_t at, size_t removed);

/* The members that a frame gets by an answer. Returns as above. */
int uspi_edits_add_frame(struct uspi_edits *edits, const struct uspi_json_document *document,
                         const struct uspi_json_frame *frame, const struct usp_answer *answer);

/* A member "unspool" of the outermost object, with what was counted since `before`, in place of the value of `member`
 * (USPI_JSON_NONE: behind the last member). Returns as above. */
int uspi_edits_add_counts(struct uspi_edits *edits, const struct uspi_json_document *document,
                          const struct usp_reader_counts *before, const struct usp_reader_counts *counts,
                          size_t member);

/* Puts them in the order of the text: those of an object may come in another, and those of objects in each other. */
void uspi_edits_sort(struct uspi_edits *edits);

#endif
