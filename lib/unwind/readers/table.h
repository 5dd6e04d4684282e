/* SPDX-License-Identifier: MIT */
/* The kinds of unwind tables, one function each: from a frame to what its table says. What the tables say is
 * lib/unwind/tables/'s. */
#ifndef USPI_READ_TABLE_H
#define USPI_READ_TABLE_H

#include "lib/unwind/readers/evidence.h"

struct uspi_description {
    enum uspi_described answer;
    struct uspi_table_entry entry;
    bool is_body_only; /* the table leaves out what an interrupted frame may need */
};

void uspi_describe_by_compact(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_cfi(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_ehabi(struct uspi_evidence *evidence, struct uspi_description *description);
void uspi_describe_by_go(struct uspi_evidence *evidence, struct uspi_description *description);

/* Whether a return address, which follows no call, is where a goroutine returns to: asked where Go's table describes
 * the frame. */
bool uspi_ends_goroutine(struct uspi_evidence *evidence, usp_addr return_address);

/* By the entry at an offset of the call frame information in __eh_frame, as compact unwind names it. */
void uspi_describe_by_fde(struct uspi_evidence *evidence, uint64_t offset, struct uspi_description *description);

/* What a table said of the frame's code when it was asked before, where that was kept: the candidate of
 * USPI_BY_TABLE. False: it was not, or leads nowhere. */
bool uspi_recall_table(struct uspi_evidence *evidence);

#endif
