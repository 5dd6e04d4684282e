/* SPDX-License-Identifier: MIT */
/* See async.h.
 *
 *     record: [fp − 8] the context        context: [0] the parent context, [word] the address at which it resumes
 *
 * Contexts are on the heap, so their addresses have no order. Brent's method finds cycles. Sources: Libc
 * gen/thread_stack_pcs.c, libpthread src/pthread.c. */
#include "lib/unwind/async.h"
#include "lib/unwind/async_code.h"

static bool read_bytes(const struct uspi_walk *walk, usp_addr at, unsigned n, uint64_t *value) {
    uint8_t bytes[8];
    const struct usp_memory *memory = &walk->target.memory;
    if (memory->read(memory->context, at, bytes, n) != 0) return false;
    *value = uspi_le(bytes, n);
    return true;
}

bool uspi_async_task(const struct uspi_walk *walk, uint32_t *task_id, bool *known) {
    unsigned word = walk->backend->word;
    uint64_t task, id;
    *known = false;
    *task_id = 0;
    if (!walk->backend->has_async) return false;
    if (walk->target.swift_task_slot == 0) return true;
    if (!read_bytes(walk, walk->target.swift_task_slot, word, &task) || task == 0) return false;
    /* The id is 32 bits at 4 × pointer size + 4, an ABI guarantee (Libc gen/thread_stack_pcs.c). */
    if (!read_bytes(walk, (task & walk->strip_mask) + 4u * word + 4u, 4, &id) || id == 0) return false;
    *task_id = (uint32_t)id;
    *known = true;
    return true;
}

struct uspi_async_chain uspi_async_chain(const struct uspi_walk *walk, const struct uspi_extended *record,
                                         uint64_t limit, struct usp_frame *frames, uint32_t capacity) {
    const struct uspi_backend *b = walk->backend;
    uint64_t mask = walk->strip_mask & b->word_mask;
    struct uspi_async_chain chain = {.stop = USP_STOP_UNREADABLE};
    uint64_t context = record->context, parent, resume, watched = 0, watch_until = 1;
    if (!record->in_register && !read_bytes(walk, record->record - 8, b->slot, &context)) return chain;
    context &= mask;
    while (context != 0) {
        if ((context & (b->word - 1u)) != 0) {
            chain.stop = USP_STOP_FP_MISALIGNED;
            return chain;
        }
        if (context == watched) {
            chain.stop = USP_STOP_CYCLE;
            return chain;
        }
        if (chain.total >= limit) {
            chain.stop = USP_STOP_STEP_LIMIT;
            return chain;
        }
        if (record->by_code && !uspi_async_is_context(walk, context)) {
            chain.stop = USP_STOP_RA_NOT_CODE;
            return chain;
        }
        if (!read_bytes(walk, context, b->word, &parent) || !read_bytes(walk, context + b->word, b->word, &resume)) {
            return chain;
        }
        resume &= mask;
        if (resume == 0) break;
        if (chain.written < capacity) {
            struct usp_frame *f = &frames[chain.written++];
            memset(f, 0, sizeof *f);
            f->pc = resume;
            f->cfa = context;
            f->kind = USP_FRAME_KIND_ASYNC_RESUME;
            f->method = USP_FRAME_METHOD_ASYNC;
        }
        if (++chain.total == watch_until) {
            watched = context;
            watch_until *= 2;
        }
        context = parent & mask;
    }
    chain.stop = USP_STOP_ROOT;
    return chain;
}

/* Maximum number of bytes that are compared; of a deeper stack, only the innermost part. */
#define COMPARED_MAX ((usp_addr)256 << 10)

/* Whether the copied stack, up to the end of the frame at `join`, is as it was. What lies above that frame does not show
 * whether the frame is still there; at the end of some stacks are thread-local variables, which signal handlers change. */
static bool is_unchanged(const struct uspi_copied *copy, const struct usp_frame *join, const struct usp_memory *live) {
    uint8_t now[1024];
    usp_addr size = copy->size < COMPARED_MAX ? copy->size : COMPARED_MAX;
    if (join->cfa > copy->from && join->cfa - copy->from < size) size = join->cfa - copy->from;
    for (usp_addr at = 0; at < size; at += sizeof now) {
        const size_t n = size - at < sizeof now ? (size_t)(size - at) : sizeof now;
        if (live->read(live->context, copy->from + at, now, n) != 0) return false;
        if (memcmp(copy->bytes + at, now, n) != 0) return false;
    }
    return size != 0;
}

/* Whether all contexts of a chain were copied while the thread was stopped. */
static bool was_copied(const struct uspi_context_table *contexts, const struct usp_stack *stack) {
    for (uint32_t i = stack->physical; i < stack->count; i++) {
        if (uspi_context_table_find(contexts, stack->frames[i].cfa) == NULL) return false;
    }
    return stack->count > stack->physical && stack->async_omitted == 0 && stack->async_stop == USP_STOP_ROOT;
}

void uspi_async_confirm(const struct uspi_copied *copy, const struct uspi_context_table *contexts,
                        const struct usp_memory *live, struct usp_stack *stack) {
    if (stack->async_join == USP_NO_INDEX) return;
    if ((contexts != NULL && was_copied(contexts, stack)) ||
        is_unchanged(copy, &stack->frames[stack->async_join], live))
        return;
    stack->count = stack->physical;
    stack->async_omitted = 0;
    stack->async_stop = USP_STOP_NOT_COPIED;
    stack->flags |= USP_STACK_ASYNC_BROKEN;
}
