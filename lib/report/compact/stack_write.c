/* SPDX-License-Identifier: MIT */
/* usp_compact_stack_write: writes a stack as a compact backtrace. */
#include "lib/report/compact/items.h"

#include <unspool/compact.h>

struct writer {
    struct uspi_compact_out out;
    uint64_t address; /* of the last frame that was written */
    struct uspi_compact_item last;
};

/* The largest numbers that are written in an instruction's first byte. */
#define REPEATED_INSIDE 8  /* of repeated frames */
#define OMITTED_INSIDE  31 /* of frames that were left out; there is room for 32, but Swift writes at most 31 so */

static void put_frames(struct writer *writer, uint8_t instruction, uint8_t outside, uint64_t count) {
    const bool is_inside = count <= (outside == 8 ? REPEATED_INSIDE : OMITTED_INSIDE);
    const unsigned size = uspi_compact_unsigned_size(count);
    if (is_inside) {
        uspi_compact_put(&writer->out, instruction | (uint8_t)(count - 1));
        return;
    }
    uspi_compact_put(&writer->out, instruction | outside | (uint8_t)(size - 1));
    uspi_compact_put_number(&writer->out, count, size);
}

/* Puts how often the last frame is repeated. */
static void put_repeated(struct writer *writer) {
    if (writer->last.times > 1) put_frames(writer, 0x80, 8, writer->last.times - 1);
    writer->last.times = 0;
}

static void put_omitted(struct writer *writer, uint64_t count) {
    put_repeated(writer);
    writer->last.kind = USPI_COMPACT_GAP;
    if (count > 0) put_frames(writer, 0x40, 0x20, count);
}

static enum uspi_compact_kind kind_of(const struct usp_frame *frame) {
    switch (frame->kind) {
    case USP_FRAME_KIND_INTERRUPTED:
    case USP_FRAME_KIND_SIGNAL: return USPI_COMPACT_PC;
    case USP_FRAME_KIND_ASYNC_RESUME: return USPI_COMPACT_ASYNC;
    default: return USPI_COMPACT_RETURN;
    }
}

static void put_frame(struct writer *writer, const struct usp_frame *frame) {
    const unsigned width = writer->out.width;
    const uint64_t address = uspi_compact_cut(frame->pc, width);
    const enum uspi_compact_kind kind = kind_of(frame);
    if (writer->last.kind == kind && writer->last.value == address) {
        writer->last.times++;
        return;
    }
    put_repeated(writer);
    writer->last = (struct uspi_compact_item){.kind = kind, .value = address, .times = 1};
    const uint64_t delta = uspi_compact_cut(address - writer->address, width);
    const unsigned whole = uspi_compact_signed_size(address, width), part = uspi_compact_signed_size(delta, width);
    const bool is_whole = whole < part;
    writer->address = address;
    uspi_compact_put(&writer->out, (uint8_t)(kind << 4 | (is_whole ? 8 : 0) | ((is_whole ? whole : part) - 1)));
    uspi_compact_put_number(&writer->out, is_whole ? address : delta, is_whole ? whole : part);
}

/* Whether a stack or async chain ended at its outermost frame. */
static bool is_outermost(uint32_t stop) {
    return stop == USP_STOP_ROOT || stop == USP_STOP_FP_ZERO || stop == USP_STOP_RA_ZERO;
}

int usp_compact_stack_write(const struct usp_stack *stack, uint8_t *bytes, size_t capacity, size_t *size) {
    struct writer writer = {.address = 0};
    if (stack == NULL || size == NULL || (bytes == NULL && capacity > 0)) return USP_ERROR_ARGUMENT;
    if (stack->physical > stack->count || (stack->frames == NULL && stack->count > 0)) return USP_ERROR_ARGUMENT;
    const bool has_chain = stack->count > stack->physical;
    /* After the join, the operating system's stack has the frames that run the task. Swift leaves them out. */
    const bool is_joined = has_chain && stack->async_join < stack->physical;
    const uint32_t end = is_joined ? stack->async_join + 1 : stack->physical;
    /* The end of the backtrace says that one or more frames were left out, so no number is written. */
    const bool has_rest =
        stack->stop == USP_STOP_CAPACITY && stack->omitted == 1 && stack->omitted_at == stack->physical;
    const bool is_counted = stack->omitted > 0 && !has_rest;
    uspi_compact_open(&writer.out, bytes, capacity, stack->arch);
    for (uint32_t i = 0; i < end; i++) {
        if (is_counted && i == stack->omitted_at) put_omitted(&writer, stack->omitted);
        put_frame(&writer, &stack->frames[i]);
    }
    if (is_counted && stack->omitted_at == end && !is_joined) put_omitted(&writer, stack->omitted);
    for (uint32_t i = stack->physical; i < stack->count; i++) put_frame(&writer, &stack->frames[i]);
    if (has_chain && stack->async_omitted > 0) put_omitted(&writer, stack->async_omitted);
    put_repeated(&writer);
    const uint32_t stop = has_chain ? stack->async_stop : stack->stop;
    if (stop != USP_STOP_NONE) uspi_compact_put(&writer.out, is_outermost(stop) ? 0 : 1);
    return uspi_compact_close(&writer.out, size);
}
