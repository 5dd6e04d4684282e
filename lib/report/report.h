/* SPDX-License-Identifier: MIT */
/* Data and functions that the styles of usp_format_stack and usp_format_snapshot share: which threads there are, and
 * how a frame gets its name. Each style is in a file of its own. */
#ifndef USPI_REPORT_REPORT_H
#define USPI_REPORT_REPORT_H

#include "lib/report/format.h"
#include "lib/report/naming.h"
#include "lib/symbolize/tail_calls.h"

struct uspi_report {
    /* The call sites that will be named. It is the first member, because styles.c casts it to the report. */
    struct uspi_expected expected;
    struct usp_format_options options; /* completed with the defaults */
    const struct usp_snapshot *snapshot;
    const struct usp_snapshot_thread *only; /* the one stack, if there is no snapshot */
    const struct usp_snapshot_info *info;   /* of the snapshot, or what is known from the stack alone */
    const struct usp_images *images;        /* NULL: not known */
    struct uspi_sources *sources;
    struct uspi_text text;
};

/* Returns thread i, or NULL past the last one. */
const struct usp_snapshot_thread *uspi_report_thread(const struct uspi_report *report, size_t i);

/* Returns the thread that holds the lock that a thread waits for, and sets *number to its number; NULL: none. */
const struct usp_snapshot_thread *uspi_report_lock_owner(const struct uspi_report *report,
                                                         const struct usp_snapshot_thread *thread, size_t *number);

/* A frame to be written. */
struct uspi_shown {
    const struct uspi_backend *backend;
    const struct usp_frame *frame;
    uint64_t number;               /* its number, which counts the frames that were left out before it */
    struct uspi_named named;       /* the names of its call site; the symbol's name is demangled as the options say */
    const char *mangled;           /* the name in the symbol table; NULL: no name */
    const struct usp_image *image; /* NULL: none, or not known */
};

/* Returns whether frame i of a stack is to be written. If so, fills *shown. */
bool uspi_report_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                       struct uspi_shown *shown);

/* Finds the tail calls between frame i of a stack and the next one (tail_calls.h). Returns how many there are; 0 if
 * lines are not wanted. */
uint32_t uspi_report_tail_calls(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                                usp_addr jumps[USPI_TAIL_CALLS_MAX]);

/* Describes the function that made the tail call at `jump`. Frame i of the stack called it, directly or through other
 * tail calls. Returns false if it is not to be written. *frame must stay valid as long as *shown. */
bool uspi_report_inferred(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i, usp_addr jump,
                          struct usp_frame *frame, struct uspi_shown *shown);

/* Returns the name of a source frame, demangled as the options say. */
const char *uspi_report_name(const struct uspi_report *report, const struct usp_source_frame *source);

/* Writes the lines of each frame, in a style for single frames. (report_lines.c) */
void uspi_report_lines(struct uspi_report *report);

/* Writes only the frames of a stack, physical and async ones, and a line where frames were left out. */
void uspi_report_frames(struct uspi_report *report, uint32_t style, const struct usp_stack *stack);

void uspi_report_crash(struct uspi_report *report);
void uspi_report_ips(struct uspi_report *report);
void uspi_report_sentry(struct uspi_report *report);
void uspi_report_json(struct uspi_report *report);
void uspi_report_folded(struct uspi_report *report);

#endif
