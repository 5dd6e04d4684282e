/* SPDX-License-Identifier: MIT */
/* See unwind.h. Writes the walker's frames to the caller's array, then the async chain and the hash. If not all frames
 * fit, it can keep the outermost ones. */
#include "lib/unwind/unwind.h"
#include "lib/base/clear.h"
#include "lib/base/hash.h"
#include "lib/unwind/async.h"
#include "lib/unwind/async_code.h"
#include "lib/unwind/resume.h"

#include <unspool/images.h>

/* The hash is a polynomial in this odd constant (that of splitmix64, Steele, Lea, Flood, 2014). It depends on the order
 * and takes one multiplication for each address. Addresses that differ only in high bits would change few bits of the
 * sum, so uspi_finalize is applied at the end. */
#define ODD UINT64_C(0x9e3779b97f4a7c15)

static uint64_t add(uint64_t hash, uint64_t v) { return (hash + v) * ODD; }

/* Adds an address to the hash. An address in an image counts as (identity of the image, offset), so that another launch
 * gives the same value. */
static uint64_t hash_address(uint64_t hash, const struct usp_images *images, usp_addr pc) {
    const struct usp_image *image = usp_images_find(images, pc);
    if (image == NULL) return add(hash, pc);
    for (uint32_t i = 0; i < image->build_id_size; i += 8) {
        uint32_t n = image->build_id_size - i;
        hash = add(hash, uspi_le(image->build_id + i, n < 8 ? n : 8));
    }
    if (image->build_id_size == 0) {
        for (const char *p = image->path; *p != '\0'; p++) hash = add(hash, (uint8_t)*p);
    }
    return add(hash, pc - image->load_address);
}

/* Adds addresses, four at a time so that the multiplications do not depend on each other. The polynomial is the
 * same. */
static uint64_t hash_addresses(uint64_t hash, const struct usp_frame *frames, uint32_t n) {
    const uint64_t odd_2 = ODD * ODD, odd_3 = odd_2 * ODD, odd_4 = odd_3 * ODD;
    for (; n >= 4; frames += 4, n -= 4) {
        hash = (hash + frames[0].pc) * odd_4 + frames[1].pc * odd_3 + frames[2].pc * odd_2 + frames[3].pc * ODD;
    }
    for (; n > 0; frames++, n--) hash = add(hash, frames->pc);
    return hash;
}

uint64_t uspi_stack_hash(const struct usp_stack *stack, const struct usp_images *images) {
    uint64_t hash = stack->physical;
    if (stack->count == 0) return 0;
    if (images == NULL) {
        hash = hash_addresses(hash, stack->frames, stack->count);
    } else {
        for (uint32_t i = 0; i < stack->count; i++) hash = hash_address(hash, images, stack->frames[i].pc);
    }
    hash = uspi_finalize(hash);
    return hash | (hash == 0);
}

static void reverse(struct usp_frame *frames, uint32_t n) {
    for (uint32_t i = 0; i < n / 2; i++) {
        struct usp_frame f = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = f;
    }
}

/* Places of frames in the array: first the head is filled, then the last `tail` places are a ring. */
struct frame_ring {
    struct usp_stack *stack;
    uint32_t head, tail;
    uint64_t seen; /* number of frames that were written, without skipped ones */
    uint64_t lost; /* number of frames between head and tail that were dropped, or never seen, besides */
};

static uint32_t place_of(const struct frame_ring *ring, uint64_t n) {
    return n < ring->head + ring->tail ? (uint32_t)n : ring->head + (uint32_t)((n - ring->head) % ring->tail);
}

/* Puts the ring's frames in order, and sets the number of physical frames and of frames left out. */
static void settle_ring(struct frame_ring *ring) {
    struct usp_stack *stack = ring->stack;
    uint64_t kept = (uint64_t)ring->head + ring->tail;
    stack->omitted = ring->lost + (ring->seen > kept ? ring->seen - kept : 0);
    if (stack->omitted > 0) stack->omitted_at = ring->head;
    if (ring->seen <= kept) {
        stack->physical = (uint32_t)ring->seen;
        return;
    }
    stack->physical = (uint32_t)kept;
    uint32_t oldest = (uint32_t)((ring->seen - ring->head) % ring->tail);
    struct usp_frame *tail = stack->frames + ring->head;
    reverse(tail, oldest);
    reverse(tail + oldest, ring->tail - oldest);
    reverse(tail, ring->tail);
}

/* Resumes a walk that cannot go on. Frames that are missing then are omitted between head and tail, so that there is
 * one place with omitted frames: the head ends with the last frame that was kept in its place, and the tail gets the
 * rest of the array. */
static bool resume(struct uspi_walker *w, struct frame_ring *ring) {
    switch (uspi_walker_resume(w)) {
    case USPI_NOT_RESUMED: return false;
    case USPI_RESUMED_PAST_REGISTERS: return true;
    case USPI_RESUMED_PAST_CODE:
    case USPI_RESUMED_PAST_GAP: break;
    }
    const uint64_t head = ring->seen < ring->head ? ring->seen : ring->head;
    ring->lost = ring->seen - head + 1;
    ring->tail += ring->head - (uint32_t)head;
    ring->head = (uint32_t)head;
    ring->seen = head;
    ring->stack->flags |= USP_STACK_OMITTED_MORE;
    return true;
}

/* Returns the index of the n-th frame in the array; USP_NO_INDEX: it was overwritten. */
static uint32_t index_of(const struct frame_ring *ring, uint64_t n) {
    if (n < ring->head || ring->seen <= (uint64_t)ring->head + ring->tail) return (uint32_t)n;
    uint64_t first_kept = ring->seen - ring->tail;
    return n < first_kept ? USP_NO_INDEX : ring->head + (uint32_t)(n - first_kept);
}

static void append_async(struct uspi_walker *w, const struct uspi_extended *record,
                         const struct usp_unwind_options *options, uint32_t join, struct usp_stack *stack) {
    bool known;
    if (!uspi_async_task(&w->walk, &stack->task_id, &known)) return;
    if (known) stack->flags |= USP_STACK_TASK_ID;
    if (options->async == 0) return;
    const struct uspi_async_chain chain = uspi_async_chain(
        &w->walk, record, options->step_limit, stack->frames + stack->count, stack->capacity - stack->count);
    stack->count += chain.written;
    stack->async_omitted = chain.total - chain.written;
    stack->async_stop = chain.stop;
    stack->async_join = join;
    if (stack->async_stop != USP_STOP_ROOT) stack->flags |= USP_STACK_ASYNC_BROKEN;
}

/* Returns the return address of the frame that the walker gave last; 0: none. */
static usp_addr caller_of_last(const struct uspi_walker *w) {
    return w->stop == USP_STOP_NONE && !w->next.exact ? w->next.registers.value[w->walk.backend->pc] : 0;
}

/* Checks whether the code of the frame that the walker gave last is an async function's. The frame has no mark. */
static void find_unmarked(struct uspi_walker *w, const struct usp_frame *frame, struct uspi_extended *record) {
    const usp_addr caller = caller_of_last(w);
    if (!uspi_async_may_be(&w->walk, frame, caller)) return;
    record->by_code = record->in_register =
        uspi_async_by_code(&w->walk, &w->frame, frame->cfa, caller, &record->context);
    record->record = record->by_code ? frame->pc : 0;
}

/* Runs until a frame may be an async one. That frame needs a step, because a run does not give the registers by which it
 * is checked. */
static uint32_t run_to_async(struct uspi_walker *w, struct usp_frame *frames, uint32_t capacity, bool goes_on) {
    const struct uspi_frame_state next = w->next;
    const uint64_t steps = w->steps;
    const uint32_t started = w->started;
    const uint32_t passed = uspi_walker_run(w, frames, capacity, goes_on);
    uint32_t n = 0;
    for (; n < passed; n++) {
        const usp_addr caller = n + 1 < passed ? frames[n + 1].pc : caller_of_last(w);
        if (uspi_async_may_be(&w->walk, &frames[n], caller)) break;
    }
    if (n == passed) return passed;
    w->next = next;
    w->steps = steps;
    w->started = started;
    w->stop = USP_STOP_NONE;
    w->stop_address = 0;
    return n == 0 ? 0 : uspi_walker_run(w, frames, n, true);
}

/* Whether an address is in the frame that the walker gave last, below its caller's. Does not use the CFA, which arm64
 * frame records do not give. */
static bool last_frame_holds(const struct uspi_walker *w, usp_addr address) {
    return w->stop == USP_STOP_NONE && address >= w->frame.low && address < w->next.low;
}

/* Ends the stack because there was no room for the frame at pc. */
static void cut_short(struct usp_stack *stack, usp_addr pc) {
    stack->stop = USP_STOP_CAPACITY;
    stack->stop_address = pc;
    stack->omitted = 1;
    stack->omitted_at = stack->physical;
}

static int walk_stack(struct uspi_walker *w, const struct usp_unwind_options *options, struct usp_stack *stack) {
    struct usp_frame frame;
    struct frame_ring ring = {.stack = stack, .tail = options->tail};
    if (ring.tail >= stack->capacity) ring.tail = stack->capacity == 0 ? 0 : stack->capacity - 1;
    ring.head = stack->capacity - ring.tail;
    uint64_t extended = UINT64_MAX, n = 0;
    struct uspi_extended record = {0};
    bool full = false, looks = options->async != 0 && uspi_async_has_code(&w->walk.target);
    bool is_above_start = options->start_fp == 0;
    for (;;) {
        /* Runs write directly to the head, where frames are not overwritten. */
        if (is_above_start && n >= options->skip && ring.seen < ring.head) {
            struct usp_frame *frames = stack->frames + ring.seen;
            uint32_t capacity = ring.head - (uint32_t)ring.seen;
            uint32_t passed = looks ? run_to_async(w, frames, capacity, ring.tail != 0)
                                    : uspi_walker_run(w, frames, capacity, ring.tail != 0);
            n += passed;
            ring.seen += passed;
            if (passed == capacity && ring.tail == 0 && w->stop == USP_STOP_NONE) {
                frame.pc = w->next.registers.value[w->walk.backend->pc];
                full = true;
                break;
            }
        }
        if (!uspi_walker_step(w, &frame)) {
            if (!resume(w, &ring)) break;
            continue;
        }
        const bool is_left_out = n++ < options->skip || !is_above_start;
        is_above_start = is_above_start || last_frame_holds(w, options->start_fp);
        if (is_left_out) continue;
        if (ring.seen >= ring.head && ring.tail == 0) {
            full = true;
            break;
        }
        if (looks && w->extended.record == 0) find_unmarked(w, &frame, &w->extended);
        if (w->extended.record != 0 && extended == UINT64_MAX) {
            extended = ring.seen;
            record = w->extended;
            looks = false;
        }
        stack->frames[place_of(&ring, ring.seen++)] = frame;
    }
    settle_ring(&ring);
    stack->count = stack->physical;
    stack->stop = w->stop;
    stack->stop_address = w->stop_address;
    if (full) cut_short(stack, frame.pc);
    stack->flags |= w->walk.stack_flags;
    if (record.record != 0) {
        const uint32_t join = index_of(&ring, extended);
        if (!record.by_code) stack->extended = join;
        append_async(w, &record, options, join, stack);
    }
    stack->hash = uspi_stack_hash(stack, options->images);
    return USP_OK;
}

static int begin_stack(struct usp_stack *stack, int status) {
    usp_stack_init(stack, stack->frames, stack->capacity);
    stack->status = status;
    return status;
}

bool uspi_unwind_by_rules(const struct usp_target *target, const struct uspi_rule_position *from,
                          const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                          struct usp_stack *stack) {
    const struct uspi_backend *b = uspi_backend_find(target->arch);
    struct usp_unwind_options completed;
    struct uspi_rule_position at = *from;
    struct uspi_rule_walk rules;
    if (stack == NULL || !uspi_complete_options(options, &completed)) return false;
    if (!uspi_keeps_table_rules(shortcuts, completed.readers) || completed.step_limit <= stack->capacity) return false;
    if (completed.skip != 0 || completed.start_fp != 0 || completed.tail != 0 || completed.deadline != 0) return false;
    if (completed.async != 0 && uspi_async_has_code(target)) return false;
    if ((completed.readers & completed.readers_first) != 0) return false;
    uint64_t strip_mask = uspi_choose_strip_mask(target, b, at.pc, at.sp, at.fp);
    if (!uspi_rule_walk_init(&rules, b, target, strip_mask, shortcuts)) return false;
    uint32_t n = uspi_rule_walk_go(&rules, &at, stack->frames, stack->capacity);
    if (n == 0 || (at.stop == USP_STOP_NONE && n < stack->capacity)) return false;
    begin_stack(stack, USP_OK);
    stack->arch = target->arch;
    stack->count = stack->physical = n;
    stack->stop = at.stop;
    stack->stop_address = stack->frames[n - 1].pc;
    if (at.stop == USP_STOP_NONE) cut_short(stack, at.pc);
    stack->hash = uspi_stack_hash(stack, completed.images);
    return true;
}

int uspi_unwind(const struct usp_target *target, const struct usp_registers *registers, bool at_return,
                const struct uspi_shortcuts *shortcuts, const struct usp_unwind_options *options,
                struct usp_stack *stack) {
    struct usp_unwind_options completed;
    struct uspi_walker w;
    if (stack == NULL) return USP_ERROR_ARGUMENT;
    if (!uspi_complete_options(options, &completed)) return begin_stack(stack, USP_ERROR_ARGUMENT);
    int status = begin_stack(stack, uspi_walker_init(&w, target, registers, &completed));
    if (status != USP_OK) return status;
    stack->arch = registers->arch;
    if (at_return) uspi_walker_begin_at_return(&w);
    if (shortcuts != NULL) uspi_walker_take_shortcuts(&w, shortcuts);
    return walk_stack(&w, &completed, stack);
}
