/* SPDX-License-Identifier: MIT */
/* Where the context of a Swift async frame is. The chain of contexts is lib/async.c's. */
#include "lib/unwind/explore.h"
#include "lib/unwind/reader.h"

/* The context stands right below the record (Libc gen/thread_stack_pcs.c). */
#define CONTEXT_BELOW 8

void uspi_describe_extended(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr record,
                            struct uspi_extended *extended) {
    unsigned reg;
    extended->record = record;
    /* Only in a frame that is still being made, it has not reached its slot. */
    if (!frame->exact) return;
    struct uspi_code code;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    extended->in_register =
        uspi_explore_next_store(&code, &frame->registers, record - CONTEXT_BELOW, uspi_frame_mode(walk, frame), &reg);
    if (extended->in_register && uspi_known(&frame->registers, reg)) extended->context = frame->registers.value[reg];
}
