/* SPDX-License-Identifier: MIT */
/* See carry.h. */
#include "lib/unwind/code/carry.h"
#include "lib/unwind/code/callee.h"

static struct uspi_value literal(struct uspi_explorer *x, usp_addr at) {
    const uint8_t *bytes;
    unsigned n = x->backend->word;
    if (uspi_code_read(x->code, at, n, &bytes) != n) return uspi_unknown;
    return uspi_constant(uspi_sign_extend(uspi_le(bytes, n), n * 8));
}

static struct uspi_value inserted(const struct uspi_log *log, struct uspi_value old, const struct uspi_effect *e) {
    if (old.kind != USPI_CONSTANT || e->index > 48) return uspi_unknown;
    uint64_t mask = UINT64_C(0xffff) << e->index;
    uint64_t bits = (uint64_t)e->value << e->index & mask;
    uint64_t v = ((uint64_t)uspi_constant_of(old) & ~mask) | bits;
    return uspi_constant(uspi_wrapped(log, (int64_t)v));
}

static struct uspi_value sum_of(const struct uspi_log *log, struct uspi_value base, struct uspi_value index,
                                bool adds) {
    if (index.kind == USPI_CONSTANT) {
        int64_t n = uspi_constant_of(index);
        return uspi_plus(log, base, adds ? n : (int64_t)(0 - (uint64_t)n));
    }
    return base.kind == USPI_CONSTANT && adds ? uspi_plus(log, index, uspi_constant_of(base)) : uspi_unknown;
}

/* Returns a rounded address. The number of bytes by which it was rounded is unknown, so the result has a base of its
 * own. */
static struct uspi_value aligned(struct uspi_path *path, struct uspi_value base) {
    if (base.kind != USPI_ADDRESS || path->is_aligned) return uspi_unknown;
    path->is_aligned = true;
    return uspi_address(USPI_BASE_ALIGNED, 0);
}

bool uspi_carry_effect(struct uspi_explorer *x, struct uspi_path *path, const struct uspi_effect *e) {
    struct uspi_log *log = &x->log;
    bool has_base = e->base != USPI_NO_REGISTER;
    struct uspi_value base = has_base ? uspi_register_value(log, path, e->base) : uspi_constant(0);
    struct uspi_value v;
    switch (e->op) {
    case USPI_SET: v = uspi_plus(log, base, e->value); break;
    case USPI_INSERT: v = inserted(log, uspi_register_value(log, path, e->reg), e); break;
    case USPI_ADD:
    case USPI_SUBTRACT: v = sum_of(log, base, uspi_register_value(log, path, e->index), e->op == USPI_ADD); break;
    case USPI_ALIGN: v = aligned(path, base); break;
    case USPI_LOAD: v = uspi_memory_value(log, path, uspi_plus(log, base, e->value)); break;
    case USPI_LITERAL: v = literal(x, (usp_addr)e->value); break;
    case USPI_STORE: return uspi_assign_memory(log, path, uspi_plus(log, base, e->value), e->reg);
    default: return true;
    }
    return uspi_assign_register(log, path, e->reg, v);
}

bool uspi_carry_out(struct uspi_explorer *x, struct uspi_path *path, const struct uspi_instruction *i) {
    const bool forgets = x->question.purpose == USPI_TO_GOAL;
    const struct uspi_value sp = forgets ? uspi_register_value(&x->log, path, x->backend->sp) : uspi_unknown;
    for (unsigned n = 0; n < i->effect_count; n++) {
        if (!uspi_carry_effect(x, path, &i->effects[n])) return false;
    }
    path->unknown |= i->clobbers;
    return !forgets || uspi_forget_below(&x->log, path, sp);
}

uint64_t uspi_lost_by_call(const struct uspi_backend *b) {
    const uint64_t all = (UINT64_C(1) << b->register_count) - 1;
    return all & ~(b->callee_saved | UINT64_C(1) << b->sp | UINT64_C(1) << b->pc);
}

/* A callee preserves the callee-saved registers and sp, and may change all others. On x86 it may remove its arguments
 * from the stack. */
bool uspi_carry_call(struct uspi_explorer *x, struct uspi_path *path, const struct uspi_instruction *call) {
    const struct uspi_backend *b = x->backend;
    if (x->question.counts_arguments) {
        const struct uspi_value sp = uspi_register_value(&x->log, path, b->sp);
        const usp_addr next = path->pc + call->length;
        const int64_t popped = uspi_code_popped(x->code, call->target, call->target_mode, next, &x->callee_budget);
        if (!uspi_assign_register(&x->log, path, b->sp, uspi_plus(&x->log, sp, popped))) return false;
    }
    path->unknown |= uspi_lost_by_call(b);
    return true;
}
