/* SPDX-License-Identifier: MIT */
/* Memory of a stopped thread, as its copy has it (struct uspi_thread_copy). Async-signal-safe. */
#ifndef USPI_CAPTURE_THREAD_COPY_H
#define USPI_CAPTURE_THREAD_COPY_H

#include "lib/os/os.h"

/* Reads n bytes at `from` from a copy. Returns USP_OK, USP_ERROR_UNREADABLE where there was nothing at that moment, or
 * USP_ERROR_ABSENT if the copy does not contain it. */
int uspi_read_parts(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* Does the same for memory that is not code; memory in copy->unsure counts as unknown. */
int uspi_read_stacks(struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n);

/* Sets a walk's stop reason to USP_STOP_NOT_COPIED if it ended because of the copy's end. */
void uspi_note_cut(const struct uspi_thread_copy *copy, struct usp_stack *stack);

#endif
