/* SPDX-License-Identifier: MIT */
/* Source frames of a whole stack (lines.h). */
#include "lib/symbolize/symbolizer.h"

#include <stdlib.h>

/* Source frames of one address that there is room for without an allocation. */
#define FRAMES 32

/* Gives the source frames of one frame. */
static int visit_frame(struct usp_symbolizer *symbolizer, usp_addr address, uint32_t i, usp_source_visitor visit,
                       void *context) {
    struct usp_source_frame room[FRAMES], *frames = room;
    struct usp_lines lines;
    usp_lines_init(&lines, frames, FRAMES);
    lines.flags = USP_LINES_FILL;
    int status = usp_symbolize_lines(symbolizer, address, &lines);
    if (status == USP_OK && lines.count > lines.capacity) {
        frames = calloc(lines.count, sizeof *frames);
        if (frames == NULL) return USP_ERROR_NO_MEMORY;
        lines.frames = frames;
        lines.capacity = lines.count;
        status = usp_symbolize_lines(symbolizer, address, &lines);
    }
    if (status == USP_ERROR_NOT_FOUND) {
        /* A frame of which nothing is known is visited as well. */
        lines.frames[0] = (struct usp_source_frame){.address = address};
        lines.count = 1;
        status = USP_OK;
    }
    const uint32_t told = lines.count < lines.capacity ? lines.count : lines.capacity;
    for (uint32_t k = 0; status == USP_OK && k < told; k++) status = visit(context, i, &lines.frames[k]);
    if (frames != room) free(frames);
    return status;
}

int usp_symbolize_stack(struct usp_symbolizer *symbolizer, const struct usp_stack *stack, usp_source_visitor visit,
                        void *context) {
    if (symbolizer == NULL || stack == NULL || visit == NULL) return USP_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct usp_frame *frame = &stack->frames[i];
        int status = visit_frame(symbolizer, usp_frame_call_site(stack->arch, frame), i, visit, context);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}
