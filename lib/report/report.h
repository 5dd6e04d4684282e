/* SPDX-License-Identifier: MIT */
/* What the styles of usp_format_stack and usp_format_snapshot share: which threads there are, and how a frame gets its
 * name. Each style stands in a file of its own, below. */
#ifndef USPI_REPORT_H
#define USPI_REPORT_H

#include "lib/report/format.h"
#include "lib/report/naming.h"
#include "lib/symbolize/tail_calls.h"

struct uspi_report {
    struct uspi_expected expected;     /* that the frames' names are going to be asked for */
    struct usp_format_options options; /* complete */
    const struct usp_snapshot *snapshot;
    const struct usp_snapshot_thread *only; /* without a snapshot: the one stack */
    const struct usp_snapshot_info *info;   /* of the snapshot, or as much as a stack tells */
    const struct usp_images *images;        /* NULL: not known */
    struct uspi_sources *sources;
    struct uspi_text text;
};

/* Thread i, NULL behind the last. */
const struct usp_snapshot_thread *uspi_report_thread(const struct uspi_report *report, size_t i);

/* A frame to be shown. */
struct uspi_shown {
    const struct uspi_backend *backend;
    const struct usp_frame *frame;
    uint64_t number;               /* counts the frames that were left out */
    struct uspi_named named;       /* its call site; the symbol's name is demangled as the options say */
    const char *mangled;           /* the name as the symbol table has it; NULL: no name */
    const struct usp_image *image; /* NULL: none, or not known */
};

/* Whether frame i of a stack is to be shown; if so, its name and number. */
bool uspi_report_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                       struct uspi_shown *shown);

/* The tail calls between frame i of a stack and the next one (tail_calls.h). 0 where lines are not wanted. */
uint32_t uspi_report_tail_calls(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                                usp_addr jumps[USPI_TAIL_CALLS_MAX]);

/* The function that made a tail call at `jump`, and was called by frame i of a stack, as a frame to be shown. False: it is not to be
 * shown. *frame has to stay as long as *shown. */
bool uspi_report_inferred(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i, usp_addr jump,
                          struct usp_frame *frame, struct uspi_shown *shown);

/* The name of a source frame, demangled as the options say. */
const char *uspi_report_name(const struct uspi_report *report, const struct usp_source_frame *source);

/* Lines for each frame in a style that frames have (report_lines.c). */
void uspi_report_lines(struct uspi_report *report);

/* The frames alone: physical ones and async ones with what is known to be missing between them. */
void uspi_report_frames(struct uspi_report *report, uint32_t style, const struct usp_stack *stack);

void uspi_report_crash(struct uspi_report *report);
void uspi_report_json(struct uspi_report *report);
void uspi_report_folded(struct uspi_report *report);

#endif
