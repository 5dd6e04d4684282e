/* SPDX-License-Identifier: MIT */
/* See apply.h. */
#include "lib/unwind/frame/apply.h"

#include "lib/base/processor.h"
#include "lib/unwind/frame/expression.h"

/* The rule that is applied, and the frame to which it is applied. */
struct application {
    const struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
    const struct uspi_rule *rule;
    bool has_cfa;
    usp_addr cfa;
};

static bool base_of(const struct application *a, unsigned reg, usp_addr *base) {
    const struct usp_registers *r = &a->frame->registers;
    *base = a->cfa;
    if (reg == USPI_BASE_CFA) return a->has_cfa;
    /* sp is used only if it is the frame's own. */
    if (!uspi_known(r, reg) || (reg == a->walk->backend->sp && !a->frame->sp_known)) return false;
    *base = r->value[reg];
    return true;
}

static bool evaluate_expression(const struct application *a, struct uspi_location at, usp_addr *value) {
    struct uspi_source source = uspi_table_source(a->walk);
    const struct uspi_bytes bytes = {&source, a->rule->expressions + (uint32_t)at.offset, (uint32_t)at.addend};
    return uspi_dwarf_evaluate(a->walk, a->frame, bytes, a->has_cfa ? &a->cfa : NULL, value);
}

/* Evaluates a location, which for USPI_SAME is the register `reg`. *value becomes the value with its tag bits.
 * *memory_at becomes the address from which it was read, 0 if it was not read from memory. */
static bool evaluate(const struct application *a, struct uspi_location at, unsigned reg, uint64_t *value,
                     usp_addr *memory_at) {
    const struct uspi_backend *b = a->walk->backend;
    bool is_expression = at.kind == USPI_EXPRESSION || at.kind == USPI_VALUE_EXPRESSION;
    usp_addr v;
    *memory_at = 0;
    if (at.kind == USPI_LOST) return false;
    if (is_expression) {
        if (!evaluate_expression(a, at, &v)) return false;
    } else if (at.kind == USPI_GIVEN) {
        v = a->rule->expressions;
    } else {
        if (!base_of(a, at.kind == USPI_SAME ? reg : at.base, &v)) return false;
        v += at.kind == USPI_SAME ? 0 : (usp_addr)(int64_t)at.offset;
    }
    v &= b->word_mask;
    if (at.kind != USPI_MEMORY && at.kind != USPI_EXPRESSION) {
        *value = v;
        return true;
    }
    /* Below the stack pointer, only the red zone is in use. */
    if (at.kind == USPI_MEMORY && at.base == b->sp && at.offset < -(int32_t)b->red_zone) return false;
    *memory_at = v;
    if (!uspi_read_slot(a->walk, v, value)) return false;
    if (at.kind == USPI_MEMORY) *value += (usp_addr)(int64_t)at.addend;
    return true;
}

bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct uspi_applied *applied) {
    const struct uspi_backend *b = walk->backend;
    struct application a = {.walk = walk, .frame = frame, .rule = rule};
    struct usp_registers *caller = &applied->caller;
    uint64_t value;
    usp_addr at;
    /* Registers that a call may change keep their values, but are not known (uspi_apply_assuming). */
    *caller = frame->registers;
    caller->known = 0;
    caller->flags = caller->system_call = 0;
    if (!evaluate(&a, rule->cfa, USPI_NO_REGISTER, &value, &at)) return false;
    a.cfa = value & b->word_mask;
    a.has_cfa = true;
    applied->return_address = 0;
    if (rule->return_address.kind != USPI_OUTERMOST &&
        !evaluate(&a, rule->return_address, USPI_NO_REGISTER, &applied->return_address, &at)) {
        return false;
    }
    applied->fp_at = 0;
    applied->fp_is_extended = false;
    uint64_t wanted = b->callee_saved;
    for (unsigned i = 0; i < rule->saved_count; i++) wanted |= UINT64_C(1) << (rule->saved[i].reg & 63);
    uspi_set(caller, b->sp, a.cfa);
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((wanted >> reg & 1) == 0) continue;
        if (!evaluate(&a, uspi_rule_of(rule, reg), reg, &value, &at)) continue;
        if (reg == b->fp && b->has_async) {
            applied->fp_is_extended = at != 0 && (value & USPI_FP_TAG_MASK) == USPI_FP_TAG_ASYNC;
            value &= ~USPI_FP_TAG_MASK;
        }
        if (reg == b->fp) applied->fp_at = at;
        uspi_set(caller, reg, value & b->word_mask);
    }
    return true;
}

bool uspi_apply_assuming(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         const struct uspi_rule *rule, struct uspi_applied *applied) {
    struct uspi_frame_state assumed = *frame;
    const unsigned base = rule->cfa.base;
    if (frame->exact || rule->cfa.kind != USPI_REGISTER || base >= walk->backend->register_count ||
        uspi_known(&frame->registers, base)) {
        return false;
    }
    uspi_set(&assumed.registers, base, frame->registers.value[base]);
    return uspi_apply_rule(walk, &assumed, rule, applied) &&
           uspi_is_plausible_cfa(walk, frame, rule, applied->caller.value[walk->backend->sp]);
}

bool uspi_is_other_stack(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         const struct uspi_rule *rule, usp_addr cfa) {
    const struct uspi_backend *b = walk->backend;
    uint64_t word;
    /* A rule that states where the caller's sp is saved may compute the CFA on this stack. */
    const bool is_from_sp =
        rule->cfa.kind == USPI_REGISTER && rule->cfa.base == b->sp && uspi_rule_of(rule, b->sp).kind == USPI_SAME;
    const bool is_walked = cfa >= walk->stacks.entered && cfa <= frame->low;
    return !is_from_sp && !is_walked && (cfa & (b->word - 1u)) == 0 && cfa >= b->slot &&
           uspi_read_slot(walk, cfa - b->slot, &word);
}

bool uspi_may_switch(const struct uspi_walk *walk, usp_addr cfa) {
    const struct uspi_stacks *s = &walk->stacks;
    if (s->count == USPI_SWITCHES_MAX) return false;
    for (unsigned i = 0; i < s->count; i++) {
        if (cfa >= s->left[i].low && cfa <= s->left[i].high) return false;
    }
    return true;
}

void uspi_note_switch(struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr sp) {
    struct uspi_stacks *s = &walk->stacks;
    if (s->count < USPI_SWITCHES_MAX) s->left[s->count++] = (struct uspi_stack_part){s->entered, frame->low};
    s->entered = sp;
}

bool uspi_is_plausible_cfa(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                           const struct uspi_rule *rule, usp_addr cfa) {
    const struct uspi_backend *b = walk->backend;
    usp_addr sp = frame->registers.value[b->sp];
    if (frame->exact && rule->return_address.kind == USPI_REGISTER) cfa += b->call_push;
    if ((cfa & (b->word - 1u)) != 0) return false;
    if (frame->sp_known && (frame->exact ? cfa < sp + b->call_push : cfa <= sp)) return false;
    /* A frame outside the bounds is on another stack than theirs, for example a signal handler's. */
    const struct usp_target *target = &walk->target;
    bool is_elsewhere = frame->sp_known && (sp < target->stack_low || sp >= target->stack_high);
    return target->stack_high == 0 || is_elsewhere || cfa <= target->stack_high;
}
