/* SPDX-License-Identifier: MIT */
/* The chain of Swift async contexts that begins at an extended frame record. The walker (walker.h) handles the OS
 * stack. */
#ifndef USPI_UNWIND_ASYNC_H
#define USPI_UNWIND_ASYNC_H

#include "lib/os/os.h"
#include "lib/unwind/frame/walk.h"

/* Returns whether a thread with an extended record on its stack runs a Swift task, as Apple's walker decides it. Where
 * the target has a task slot, the slot and the task's id must not be 0; elsewhere the mark alone counts. *task_id
 * becomes the id, *known whether there is one. */
bool uspi_async_task(const struct uspi_walk *walk, uint32_t *task_id, bool *known);

struct uspi_async_chain {
    uint32_t written; /* frames that were written */
    uint32_t stop;    /* why the chain ends, an enum usp_stop_reason */
    uint64_t total;   /* the chain's length, including contexts that did not fit */
};

/* Writes the frames of an extended record's chain, at most `capacity`. Follows at most `limit` contexts. If no mark
 * led to the chain, each context is checked. */
struct uspi_async_chain uspi_async_chain(const struct uspi_walk *walk, const struct uspi_extended *record,
                                         uint64_t limit, struct usp_frame *frames, uint32_t capacity);

/* Confirms the async chain of a stack that was walked from a copy while its thread was running again. A chain is
 * correct if all its contexts were copied with the stack. Contexts that were read later are unchanged as long as the
 * frame at the join is on the stack, so the copied stack, up to the end of that frame, is compared with the live one. If
 * they differ, the chain is dropped, and async_stop becomes USP_STOP_NOT_COPIED. Async-signal-safe if `live` is.
 *   copy      copy of the innermost part of the stack
 *   contexts  the copied contexts; NULL: none */
void uspi_async_confirm(const struct uspi_copied *copy, const struct uspi_context_table *contexts,
                        const struct usp_memory *live, struct usp_stack *stack);

#endif
