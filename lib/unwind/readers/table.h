/* SPDX-License-Identifier: MIT */
/* Looks up a frame in the unwind tables, one function for each kind. lib/unwind/tables/ decodes them. */
#ifndef USPI_UNWIND_READERS_TABLE_H
#define USPI_UNWIND_READERS_TABLE_H

#include "lib/unwind/readers/evidence.h"

struct uspi_description {
    enum uspi_described answer;
    struct uspi_table_entry entry;
    bool is_body_only; /* the table omits what an interrupted frame may need */
};

void uspi_describe_by_compact(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_cfi(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_debug_frame(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_ehabi(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_go(struct uspi_evidence *evidence, struct uspi_description *description);

/* Returns whether a return address, which follows no call, is the one that a goroutine returns to. Called where Go's
 * table describes the frame. */
bool uspi_ends_goroutine(struct uspi_evidence *evidence, usp_addr return_address);

/* Uses the call frame information at an offset of __eh_frame, as compact unwind gives it. */
void uspi_describe_by_fde(struct uspi_evidence *evidence, uint64_t offset, struct uspi_description *description);

/* Makes the candidate of USPI_BY_TABLE from a cached rule for the frame's code. Returns false when there is no such
 * rule or it cannot be applied. */
bool uspi_recall_table(struct uspi_evidence *evidence);

#endif
