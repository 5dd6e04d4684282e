/* SPDX-License-Identifier: MIT */
/* JSON documents: which of their objects are frames, which lists of images these are in, what changes in the text. Texts in
 * strings, several lines long, are read as lines. */
#ifndef USPI_DOCUMENTS_H
#define USPI_DOCUMENTS_H

#include "lib/report/read/edits.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/lines.h"

struct uspi_documents {
    struct uspi_lines *lines;           /* whose `find`, `given` and counts are used */
    struct uspi_json_document document; /* the one that is being read */
    struct uspi_tables tables;          /* its lists of images */
    struct uspi_scope *scopes;          /* where each of them counts */
    size_t scope_count, scope_room;
    struct uspi_level *levels; /* objects and arrays around a node */
    size_t level_room;
    struct uspi_edits edits;
    char *scratch; /* a string without its escapes */
    size_t scratch_room;
    char *gathered; /* a line of a string, with its answers */
    size_t gathered_size, gathered_room;
    bool is_record; /* the outermost object gets a member with the counts */
};

/* All zero but `lines` is a fresh one. Frees what it holds. */
void uspi_documents_clear(struct uspi_documents *documents);

/* Gets each frame with its answer. Of a frame in a string, frame->shape is NULL, object->node and object->list are the
 * string, and object->list_key is its key or that of its array. */
typedef int (*uspi_take_json_frame)(void *context, const struct uspi_json_object *object,
                                    const struct uspi_json_frame *frame, const struct uspi_located *located,
                                    const struct usp_answer *answer);

/* Reads the next document of documents->document.text: its images, its frames, which `take` gets if it is not NULL;
 * otherwise the changes are collected in `edits`, in the order of the text. Returns as uspi_json_read, and what `find` or
 * `take` returned. */
int uspi_documents_read(struct uspi_documents *documents, uspi_take_json_frame take, void *context);

#endif
