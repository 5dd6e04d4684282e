/* SPDX-License-Identifier: MIT */
/* Source frames of a whole stack (lines.h), with the tail calls between its frames. */
#include "lib/symbolize/symbolizer.h"
#include "lib/symbolize/tail_calls.h"

#include <stdlib.h>

/* The number of source frames of one address that fit without an allocation. */
#define FRAMES 32

struct visiting {
    struct usp_symbolizer *symbolizer;
    usp_source_visitor visit;
    void *context;
};

/* Visits the source frames of an address as those of frame i, with `flags` added. */
static int visit_address(const struct visiting *v, usp_addr address, uint32_t i, uint32_t flags) {
    struct usp_source_frame own[FRAMES], *frames = own;
    struct usp_lines lines;
    usp_lines_init(&lines, frames, FRAMES);
    lines.flags = USP_LINES_FILL;
    int status = usp_symbolize_lines(v->symbolizer, address, &lines);
    if (status == USP_OK && lines.count > lines.capacity) {
        frames = calloc(lines.count, sizeof *frames);
        if (frames == NULL) return USP_ERROR_NO_MEMORY;
        lines.frames = frames;
        lines.capacity = lines.count;
        status = usp_symbolize_lines(v->symbolizer, address, &lines);
    }
    if (status == USP_ERROR_NOT_FOUND) {
        /* A frame without any information is visited too, with its address alone. */
        lines.frames[0] = (struct usp_source_frame){.address = address};
        lines.count = 1;
        status = USP_OK;
    }
    const uint32_t count = lines.count < lines.capacity ? lines.count : lines.capacity;
    for (uint32_t k = 0; status == USP_OK && k < count; k++) {
        lines.frames[k].flags |= flags;
        status = v->visit(v->context, i, &lines.frames[k]);
    }
    if (frames != own) free(frames);
    return status;
}

int usp_symbolize_stack(struct usp_symbolizer *symbolizer, const struct usp_stack *stack, usp_source_visitor visit,
                        void *context) {
    if (stack == NULL || visit == NULL) return USP_ERROR_ARGUMENT;
    if (symbolizer == NULL) symbolizer = usp_symbolizer_default();
    if (symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    const struct visiting v = {symbolizer, visit, context};
    const struct uspi_stack_names names = {.symbolizer = symbolizer};
    for (uint32_t i = 0; i < stack->count; i++) {
        usp_addr jumps[USPI_TAIL_CALLS_MAX];
        int status = visit_address(&v, usp_frame_call_site(stack->arch, &stack->frames[i]), i, 0);
        int count = status == USP_OK ? uspi_stack_tail_calls(&names, stack, i, jumps) : 0;
        if (count < 0) return count;
        for (int k = 0; status == USP_OK && k < count; k++) {
            status = visit_address(&v, jumps[k], i + 1, USP_SOURCE_INFERRED);
        }
        if (status != USP_OK) return status;
    }
    return USP_OK;
}
