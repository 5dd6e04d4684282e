/* SPDX-License-Identifier: MIT */
/* usp_compact_stack_read: measures the whole backtrace first, then fills the caller's frames. */
#include "lib/report/compact/items.h"

#include <unspool/compact.h>

/* The size and shape of a backtrace. */
struct extent {
    uint64_t frames;   /* all frames; UINT64_MAX: that many or more */
    uint64_t physical; /* the frames before the async chain */
    uint64_t gap_at, gap;
    enum uspi_compact_kind end;
    bool has_gap;
};

static uint64_t add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static int measure(struct uspi_compact_items items, struct extent *extent) {
    struct uspi_compact_item item;
    uint64_t others_end = 0;
    int status;
    *extent = (struct extent){.frames = 0};
    while ((status = uspi_compact_items_next(&items, &item)) == USP_OK) {
        switch (item.kind) {
        case USPI_COMPACT_GAP:
            if (extent->has_gap) return USP_ERROR_UNSUPPORTED;
            extent->has_gap = true;
            extent->gap_at = extent->frames;
            extent->gap = item.value;
            break;
        case USPI_COMPACT_PC:
        case USPI_COMPACT_RETURN:
        case USPI_COMPACT_ASYNC:
            extent->frames = add(extent->frames, item.times);
            if (item.kind != USPI_COMPACT_ASYNC) others_end = extent->frames;
            break;
        default:
            extent->end = item.kind;
            /* Only resume points at the end of the stack are its async chain; earlier ones are ordinary frames. A gap
             * can be recorded only in the operating system's stack, which therefore reaches at least to the gap. */
            extent->physical = extent->has_gap && extent->gap_at > others_end ? extent->gap_at : others_end;
            return USP_OK;
        }
    }
    return status;
}

static struct usp_frame frame_of(const struct uspi_compact_item *item) {
    struct usp_frame frame = {.pc = item->value};
    switch (item->kind) {
    case USPI_COMPACT_PC: frame.kind = USP_FRAME_KIND_INTERRUPTED; break;
    case USPI_COMPACT_ASYNC:
        frame.kind = USP_FRAME_KIND_ASYNC_RESUME;
        frame.method = USP_FRAME_METHOD_ASYNC;
        break;
    default:
        frame.kind = USP_FRAME_KIND_RETURN_ADDRESS;
        frame.flags = USP_FRAME_UNVERIFIED;
        break;
    }
    return frame;
}

static void fill(struct uspi_compact_items items, struct usp_stack *stack) {
    struct uspi_compact_item item;
    uint32_t at = 0;
    while (uspi_compact_items_next(&items, &item) == USP_OK) {
        if (item.kind == USPI_COMPACT_GAP) continue;
        if (item.kind < USPI_COMPACT_PC || item.kind > USPI_COMPACT_ASYNC) return;
        struct usp_frame frame = frame_of(&item);
        /* After the first frame, a program counter is that of a frame that a signal interrupted. */
        if (item.kind == USPI_COMPACT_PC && at > 0) frame.kind = USP_FRAME_KIND_SIGNAL;
        for (uint64_t i = 0; i < item.times; i++) stack->frames[at++] = frame;
    }
}

static uint32_t stop_of(enum uspi_compact_kind end) {
    switch (end) {
    case USPI_COMPACT_END: return USP_STOP_ROOT;
    case USPI_COMPACT_CUT: return USP_STOP_CAPACITY;
    default: return USP_STOP_NONE;
    }
}

int usp_compact_stack_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_stack *stack, size_t *needed) {
    struct uspi_compact_items items;
    struct extent extent;
    if (stack == NULL || needed == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    usp_stack_init(stack, stack->frames, stack->capacity);
    stack->arch = arch;
    *needed = 0;
    int status = uspi_compact_items_begin(&items, bytes, n);
    if (status == USP_OK) status = measure(items, &extent);
    if (status != USP_OK) return stack->status = status;
    *needed = extent.frames > SIZE_MAX ? SIZE_MAX : (size_t)extent.frames;
    if (extent.frames > stack->capacity) return stack->status = USP_ERROR_FULL;
    fill(items, stack);
    stack->count = (uint32_t)extent.frames;
    stack->physical = (uint32_t)extent.physical;
    stack->stop = stop_of(extent.end);
    if (extent.has_gap) {
        stack->omitted = extent.gap;
        stack->omitted_at = (uint32_t)extent.gap_at;
        /* The frames after the last one were left out, and their number is known. USP_STOP_CAPACITY would mean "one or
         * more". */
        const bool is_last = extent.gap_at == extent.frames && extent.end == USPI_COMPACT_CUT;
        if (is_last) stack->stop = USP_STOP_NOT_COPIED;
    }
    if (stack->count > stack->physical) {
        stack->async_stop = stack->stop;
        stack->stop = USP_STOP_NONE;
        /* If frames were left out directly before the chain, the frame that it continues from is one of them. */
        const bool has_join = stack->physical > 0 && stack->omitted_at != stack->physical;
        if (has_join) stack->async_join = stack->physical - 1;
    } else if (extent.end == USPI_COMPACT_CUT && !extent.has_gap) {
        stack->omitted = 1;
        stack->omitted_at = stack->physical;
    }
    return USP_OK;
}
