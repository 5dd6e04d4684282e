/* SPDX-License-Identifier: MIT */
/* The frame readers, one function each; see evidence.h. A candidate is cleared before the call. A reader that finds
 * one sets `found`. */
#ifndef USPI_UNWIND_READERS_READERS_H
#define USPI_UNWIND_READERS_READERS_H

#include "lib/unwind/readers/evidence.h"

void uspi_read_signal(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_table(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_forward(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_return(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_start(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_proof(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_scan(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_bad_call(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
void uspi_read_record(struct uspi_evidence *evidence, struct uspi_candidate *candidate);

/* On x86 Linux, searches the stack for the return address of the signal handler in which the frame is, if the handler
 * and what it called have not changed fp: then the record at fp is that of an interrupted function, or of a caller of
 * it. Returns where the return address is, or 0. */
usp_addr uspi_find_handlers_return(struct uspi_evidence *evidence);

#endif
