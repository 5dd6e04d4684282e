/* SPDX-License-Identifier: MIT */
/* JSON documents: which of their objects are frames, which lists of images these are in, what changes in the text. Texts in
 * strings, several lines long, are read as lines. */
#ifndef USPI_DOCUMENTS_H
#define USPI_DOCUMENTS_H

#include "lib/report/read/edits.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/lines.h"

/* An object or array around a node. */
struct uspi_level {
    uint32_t node;
    uint32_t report;         /* the level of the innermost report that it is or lies in, counted from 1; 0: none */
    uint32_t elements;       /* of an array, so far */
    uint32_t trampoline;     /* the number of the last element if it calls signal handlers; 0: it does not */
    bool is_in_crash;        /* it is MetricKit's crashDiagnostics, or lies in them */
    bool is_innermost_first; /* MetricKit's frames in it are, or its only frame is, called by those below; */
    bool is_stack;           /* and each has no more than one below it */
};

struct uspi_documents {
    struct uspi_lines *lines;           /* whose `find`, `given` and counts are used */
    struct uspi_json_document document; /* the one that is being read */
    struct uspi_tables tables;          /* its lists of images */
    struct uspi_scope *scopes;          /* where each of them counts */
    size_t scope_count, scope_room;
    struct uspi_level *levels; /* around the node that is being read, from the outermost on; as many as its depth */
    size_t level_room;
    struct uspi_edits edits;
    char *scratch; /* a string without its escapes */
    size_t scratch_room;
    struct uspi_gathered gathered; /* a line of a string, with its answers */
    bool is_record;                /* the outermost object gets a member with the counts */
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
