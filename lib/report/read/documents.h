/* SPDX-License-Identifier: MIT */
/* JSON documents: finds the objects that are frames, the lists of images that they refer to, and the changes to the
 * text. Strings with several lines of text are read as lines. */
#ifndef USPI_REPORT_READ_DOCUMENTS_H
#define USPI_REPORT_READ_DOCUMENTS_H

#include "lib/report/read/edits.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/lines.h"

/* An object or array that contains the current node. */
struct uspi_level {
    uint32_t node;
    /* Levels of the innermost report that it is or is inside of, and of the innermost object with outer_keys, counted
     * from 1; 0: none. Valid with is_report_known. */
    uint32_t report, outer;
    uint32_t elements;   /* number of elements so far, for an array */
    uint32_t trampoline; /* number of the last element if that calls signal handlers; otherwise 0 */
    bool is_report_known;
    bool is_in_crash; /* it is MetricKit's crashDiagnostics, or is inside of them */
    /* MetricKit: its frames are the innermost, or its only frame is; their children are their callers. */
    bool is_innermost_first;
    bool is_stack; /* MetricKit: each of its frames has at most one child */
};

struct uspi_documents {
    struct uspi_line_reader *lines;     /* its `find`, `given` and counts are used */
    struct uspi_json_document document; /* the current document */
    struct uspi_text_tables tables;     /* the document's lists of images */
    struct uspi_scope *scopes;          /* where each list of images is valid */
    size_t scope_count, scope_capacity;
    struct uspi_level *levels; /* the containers of the current node, outermost first; as many as its depth */
    size_t level_capacity;
    struct uspi_edits edits;
    char *scratch; /* buffer for a string with resolved escapes */
    size_t scratch_capacity;
    struct uspi_gathered gathered; /* a line of a string, with its answers */
    bool is_record;                /* a member with the counts is added to the outermost object */
};

/* Frees the contents. All zero but `lines` is an empty one. */
void uspi_documents_clear(struct uspi_documents *documents);

/* Receives a frame and its answer. For a frame in a string, frame->shape is NULL, object->node is the string.
 * object->list is the string, too, or the array of a string of one line; object->list_key is the key of either. */
typedef int (*uspi_take_json_frame)(void *context, const struct uspi_json_object *object,
                                    const struct uspi_json_frame *frame, const struct uspi_located *located,
                                    const struct usp_answer *answer);

/* Reads the next document of documents->document.text: its images and its frames. If `take` is not NULL, it receives
 * the frames; otherwise the changes are collected in `edits`, in the order of the text. Returns as uspi_json_read
 * does, or the result of `find` or `take`. */
int uspi_documents_read(struct uspi_documents *documents, uspi_take_json_frame take, void *context);

/* Returns whether the last document was cut off by the end of the text. *is_readable: since the counts were `before`, a
 * frame with a known image was found. */
bool uspi_documents_is_cut(const struct uspi_documents *documents, const struct usp_reader_counts *before,
                           bool *is_readable);

/* Finds the innermost report around a node, whose level is `depth`, and the innermost object with outer_keys. Both are
 * levels, counted from 1; 0: none. */
void uspi_documents_find_report(struct uspi_documents *documents, size_t depth, size_t *report, size_t *outer);

#endif
