/* SPDX-License-Identifier: MIT */
/* What the frame readers share: reading words, judging return addresses, carrying out rules. See reader.h. */
#include "lib/unwind/reader.h"
#include "lib/unwind/signal.h"

/* The lowest page holds no code on any of the systems: a word below is a small number or a null pointer with an
 * offset. */
#define LOWEST_CODE 4096u

bool uspi_read_slot(const struct uspi_walk *walk, usp_addr at, uint64_t *value) {
    uint8_t bytes[8];
    unsigned n = walk->backend->slot;
    const struct usp_memory *memory = &walk->target.memory;
    if (memory->read(memory->context, at, bytes, n) != 0) return false;
    *value = uspi_load_le(bytes, n);
    return true;
}

uint32_t uspi_frame_mode(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const struct uspi_backend *b = walk->backend;
    if (frame->exact && b->initial_mode != NULL) return b->initial_mode(frame->registers.flags);
    return (frame->flags & USP_FRAME_THUMB) != 0 ? USPI_MODE_THUMB : 0;
}

bool uspi_is_root(const struct uspi_walk *walk, usp_addr pc) {
    for (uint32_t i = 0; i < walk->target.root_count; i++) {
        if (walk->target.roots[i] == pc) return true;
    }
    return false;
}

struct uspi_return_address uspi_judge_return_address(struct uspi_walk *walk, struct uspi_code *code, usp_addr raw) {
    const struct uspi_backend *b = walk->backend;
    usp_addr stripped = raw & walk->strip_mask & b->word_mask;
    bool thumb = b->has_thumb && (stripped & 1) != 0;
    struct uspi_return_address ra = {.pc = thumb ? stripped & ~UINT64_C(1) : stripped, .credit = USPI_REFUTED};
    if (thumb) ra.flags |= USP_FRAME_THUMB;
    if (stripped != raw) ra.flags |= USP_FRAME_SIGNED;
    if (ra.pc < LOWEST_CODE) {
        ra.pc = 0;
        return ra;
    }
    unsigned align = b->has_thumb && !thumb ? 4 : b->code_align;
    if ((ra.pc & (align - 1)) != 0) return ra;
    if (uspi_is_root(walk, ra.pc)) {
        ra.credit = USPI_VERIFIED;
        return ra;
    }
    struct usp_region region;
    if (walk->target.image_at != NULL &&
        walk->target.image_at(walk->target.context, ra.pc, &region) == USP_ERROR_NOT_FOUND) {
        return ra;
    }
    switch (uspi_code_call_before(code, ra.pc, thumb, &ra.callee)) {
    case USPI_CALL_BEFORE: ra.credit = USPI_VERIFIED; break;
    case USPI_CALL_UNREADABLE: ra.credit = USPI_UNVERIFIED; break;
    case USPI_NO_CALL_BEFORE: break;
    }
    if (ra.credit != USPI_VERIFIED && uspi_signal_stub_at(walk, code, ra.pc, thumb) != NULL) ra.credit = USPI_VERIFIED;
    if (ra.credit == USPI_UNVERIFIED) ra.flags |= USP_FRAME_UNVERIFIED;
    return ra;
}

/* *value is what a register would hold, tag bits included. */
static bool evaluate(const struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_location at,
                     unsigned reg, uint64_t *value, usp_addr *memory_at) {
    const struct usp_registers *r = &frame->registers;
    *memory_at = 0;
    unsigned base = at.kind == USPI_SAME ? reg : at.base;
    if (at.kind == USPI_LOST || !uspi_known(r, base)) return false;
    /* A deeper frame's sp is only used where it is its own. */
    if (base == walk->backend->sp && !frame->sp_known) return false;
    usp_addr v = r->value[base] + (at.kind == USPI_SAME ? 0 : (usp_addr)(int64_t)at.offset);
    v &= walk->backend->word_mask;
    if (at.kind != USPI_MEMORY) {
        *value = v;
        return true;
    }
    /* What lies below the stack pointer belongs to nobody but a red zone. */
    if (base == walk->backend->sp && at.offset < -(int32_t)walk->backend->red_zone) return false;
    *memory_at = v;
    if (!uspi_read_slot(walk, v, value)) return false;
    *value = *value + (usp_addr)(int64_t)at.addend;
    return true;
}

bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct usp_registers *caller, usp_addr *raw_ra, usp_addr *fp_at, bool *fp_extended) {
    const struct uspi_backend *b = walk->backend;
    uint64_t value;
    usp_addr at;
    usp_registers_init(caller, b->arch);
    if (!evaluate(walk, frame, rule->return_address, USPI_NO_REGISTER, raw_ra, &at)) return false;
    if (!evaluate(walk, frame, rule->cfa, USPI_NO_REGISTER, &value, &at)) return false;
    uspi_set(caller, b->sp, value & b->word_mask);
    *fp_at = 0;
    *fp_extended = false;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0) continue;
        if (!evaluate(walk, frame, uspi_rule_of(rule, reg), reg, &value, &at)) continue;
        if (reg == b->fp && b->has_async) {
            *fp_extended = at != 0 && (value & USPI_FP_TAG_MASK) == USPI_FP_TAG_ASYNC;
            value &= ~USPI_FP_TAG_MASK;
        }
        if (reg == b->fp) *fp_at = at;
        uspi_set(caller, reg, value & b->word_mask);
    }
    return true;
}

void uspi_set_caller(const struct uspi_walk *walk, struct uspi_frame_state *caller,
                     const struct uspi_return_address *ra, uint32_t kind, uint32_t method) {
    const struct uspi_backend *b = walk->backend;
    uspi_set(&caller->registers, b->pc, ra->pc);
    caller->registers.flags = 0;
    caller->exact = false;
    caller->kind = kind;
    caller->method = method;
    caller->flags = ra->flags;
}
