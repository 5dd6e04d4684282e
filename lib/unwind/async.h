/* SPDX-License-Identifier: MIT */
/* The chain of Swift async contexts that hangs off an extended frame record. Not the OS stack: that is the walker's. */
#ifndef USPI_ASYNC_H
#define USPI_ASYNC_H

#include "lib/os/os.h"
#include "lib/unwind/frame/walk.h"

/* Whether a thread whose stack has an extended record runs a Swift task, as Apple's walker decides it: where the target
 * has a task slot, the slot and the task's id must not be 0; elsewhere the mark alone counts. *task_id becomes the id,
 * *known whether there is one. */
bool uspi_async_task(const struct uspi_walk *walk, uint32_t *task_id, bool *known);

/* What a chain is. */
struct uspi_async_chain {
    uint32_t written; /* frames that were written */
    uint32_t stop;    /* why it ends, an enum usp_stop_reason */
    uint64_t total;   /* its length, with the frames that did not fit */
};

/* Writes the frames of an extended record's chain, at most `capacity` of them. Follows at most `limit` contexts. Where no mark
 * led to the chain, each context is checked. */
struct uspi_async_chain uspi_async_chain(const struct uspi_walk *walk, const struct uspi_extended *record,
                                         uint64_t limit, struct usp_frame *frames, uint32_t capacity);

/* Confirms the chain of a stack that was walked from a copy while its thread ran again. A chain whose contexts were all copied
 * with the stack is true. Contexts that were read later are unchanged as long as the frame at the join is on the stack: so the
 * copy of the stack is compared with the stack as it is now. Where the two differ, the chain is dropped, and async_stop
 * becomes USP_STOP_NOT_COPIED. Async-signal-safe as `live` is.
 *   copy      of the innermost part of the stack
 *   contexts  those that were copied; NULL: none */
void uspi_async_confirm(const struct uspi_copied *copy, const struct uspi_context_table *contexts,
                        const struct usp_memory *live, struct usp_stack *stack);

#endif
