/* SPDX-License-Identifier: MIT */
/* See carry.h. */
#include "lib/unwind/code/carry.h"

/* Maximum number of instructions of one callee that are decoded to find its return. */
#define CALLEE_MAX 1024

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
static struct uspi_value aligned(struct uspi_way *way, struct uspi_value base) {
    if (base.kind != USPI_ADDRESS || way->is_aligned) return uspi_unknown;
    way->is_aligned = true;
    return uspi_address(USPI_BASE_ALIGNED, 0);
}

bool uspi_carry_effect(struct uspi_explorer *x, struct uspi_way *way, const struct uspi_effect *e) {
    struct uspi_log *log = &x->log;
    bool has_base = e->base != USPI_NO_REGISTER;
    struct uspi_value base = has_base ? uspi_register_value(log, way, e->base) : uspi_constant(0);
    struct uspi_value v;
    switch (e->op) {
    case USPI_SET: v = uspi_plus(log, base, e->value); break;
    case USPI_INSERT: v = inserted(log, uspi_register_value(log, way, e->reg), e); break;
    case USPI_ADD:
    case USPI_SUBTRACT: v = sum_of(log, base, uspi_register_value(log, way, e->index), e->op == USPI_ADD); break;
    case USPI_ALIGN: v = aligned(way, base); break;
    case USPI_LOAD: v = uspi_memory_value(log, way, uspi_plus(log, base, e->value)); break;
    case USPI_LITERAL: v = literal(x, (usp_addr)e->value); break;
    case USPI_STORE: return uspi_assign_memory(log, way, uspi_plus(log, base, e->value), e->reg);
    default: return true;
    }
    return uspi_assign_register(log, way, e->reg, v);
}

bool uspi_carry_out(struct uspi_explorer *x, struct uspi_way *way, const struct uspi_instruction *i) {
    const struct uspi_value sp = uspi_register_value(&x->log, way, x->backend->sp);
    for (unsigned n = 0; n < i->effect_count; n++) {
        if (!uspi_carry_effect(x, way, &i->effects[n])) return false;
    }
    way->unknown |= i->clobbers;
    return x->question.purpose != USPI_TO_GOAL || uspi_forget_below(&x->log, way, sp);
}

/* Maximum number of branches over the following code that are remembered. */
#define LATER_MAX 8

/* Targets of branches that lead over code which may end without a return. */
struct later {
    unsigned count;
    usp_addr targets[LATER_MAX];
};

static void remember_branch(struct later *later, usp_addr target) {
    if (later->count == LATER_MAX) {
        memmove(&later->targets[0], &later->targets[1], (LATER_MAX - 1) * sizeof later->targets[0]);
        later->count--;
    }
    later->targets[later->count++] = target;
}

/* Removes and returns the newest target behind an address, or returns 0. */
static usp_addr next_branch(struct later *later, usp_addr address) {
    while (later->count > 0) {
        const usp_addr target = later->targets[--later->count];
        if (target > address) return target;
    }
    return 0;
}

/* Finds how many bytes of arguments a callee removes from the stack; see uspi_code_popped_by. *budget is the maximum
 * number of instructions, and becomes the number left. */
static bool find_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, unsigned *budget, int64_t *popped) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    struct later later = {.count = 0};
    const usp_addr start = callee;
    *popped = 0;
    for (; *budget > 0 && callee != 0 && uspi_code_decode(code, callee, mode, &i); --*budget) {
        /* A jump back closes a loop, whose exit leads to the code after the jump. So the jump is not followed. */
        bool is_loop = i.flow == USPI_JUMP && i.target >= start && i.target <= callee;
        bool jumps = i.flow == USPI_JUMP && !is_loop;
        bool ends = i.flow == USPI_END || i.flow == USPI_JUMP_UNKNOWN;
        if (i.flow == USPI_BRANCH) remember_branch(&later, i.target);
        for (unsigned k = 0; i.flow == USPI_RETURN && k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_SET && e->reg == b->sp && e->base == b->sp) *popped = e->value - b->call_push;
        }
        if (i.flow == USPI_RETURN) return true;
        callee = ends ? next_branch(&later, callee) : jumps ? i.target : callee + i.length;
        mode = jumps ? i.target_mode : i.mode;
    }
    return false;
}

bool uspi_code_popped_by(struct uspi_code *code, usp_addr callee, uint32_t mode, int64_t *popped) {
    unsigned budget = CALLEE_MAX;
    return find_popped(code, callee, mode, &budget, popped);
}

/* Returns how many bytes the instruction after a call subtracts from sp, for a callee that is not known. Without
 * optimization, clang keeps stack space reserved for arguments. After a callee has removed its arguments, the caller
 * reserves the space again. */
static int64_t taken_again(struct uspi_code *code, usp_addr behind, uint32_t mode) {
    const uint8_t sp = code->backend->sp;
    struct uspi_instruction i;
    if (!uspi_code_decode(code, behind, mode, &i) || i.effect_count != 1) return 0;
    const struct uspi_effect *e = &i.effects[0];
    return e->op == USPI_SET && e->reg == sp && e->base == sp && e->value < 0 ? -e->value : 0;
}

int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr behind) {
    int64_t popped;
    return uspi_code_popped_by(code, callee, mode, &popped) ? popped : taken_again(code, behind, mode);
}

uint64_t uspi_lost_by_call(const struct uspi_backend *b) {
    const uint64_t all = (UINT64_C(1) << b->register_count) - 1;
    return all & ~(b->callee_saved | UINT64_C(1) << b->sp | UINT64_C(1) << b->pc);
}

/* A callee preserves the callee-saved registers and sp, and may change all others. On x86 it may remove its arguments
 * from the stack. To find that out takes long, so it is done only if the question demands it (uspi_question.pops). */
bool uspi_carry_call(struct uspi_explorer *x, struct uspi_way *way, const struct uspi_instruction *call) {
    const struct uspi_backend *b = x->backend;
    if (x->question.pops != USPI_POPS_NOTHING) {
        struct uspi_value sp = uspi_register_value(&x->log, way, b->sp);
        int64_t popped;
        unsigned budget = x->callee_budget < CALLEE_MAX ? x->callee_budget : CALLEE_MAX;
        x->callee_budget -= budget;
        bool is_known = find_popped(x->code, call->target, call->target_mode, &budget, &popped);
        x->callee_budget += budget;
        if (!is_known && x->question.pops == USPI_POPS_AS_TAKEN_AGAIN) {
            popped = taken_again(x->code, way->pc + call->length, call->mode);
        }
        if (!uspi_assign_register(&x->log, way, b->sp, uspi_plus(&x->log, sp, popped))) return false;
    }
    way->unknown |= uspi_lost_by_call(b);
    return true;
}
