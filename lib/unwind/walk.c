/* SPDX-License-Identifier: MIT */
/* What the frame readers share: reading words, judging return addresses, carrying out rules. See reader.h. */
#include "lib/unwind/dwarf_expression.h"
#include "lib/unwind/explore.h"
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

bool uspi_is_root(const struct usp_target *target, usp_addr pc) {
    for (uint32_t i = 0; i < target->root_count; i++) {
        if (target->roots[i] == pc) return true;
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
    if (uspi_is_root(&walk->target, ra.pc)) {
        ra.credit = USPI_VERIFIED;
        return ra;
    }
    if (uspi_ask_for_image(walk, ra.pc) == USP_ERROR_NOT_FOUND) return ra;
    switch (uspi_code_call_before(code, ra.pc, thumb, &ra.callee)) {
    case USPI_CALL_BEFORE: ra.credit = USPI_VERIFIED; break;
    case USPI_CALL_UNREADABLE: ra.credit = USPI_UNVERIFIED; break;
    case USPI_NO_CALL_BEFORE: break;
    }
    if (ra.credit != USPI_VERIFIED && uspi_signal_stub_at(walk, code, ra.pc, thumb) != NULL) ra.credit = USPI_VERIFIED;
    if (ra.credit == USPI_UNVERIFIED) ra.flags |= USP_FRAME_UNVERIFIED;
    return ra;
}

const struct usp_unwind_tables *uspi_unwind_tables_of(struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const struct usp_target *target = &walk->target;
    usp_addr pc = uspi_lookup_pc(walk, frame);
    if (target->unwind_tables_at == NULL || pc == 0) return NULL;
    if (walk->tables_pc != pc) {
        memset(&walk->tables, 0, sizeof walk->tables);
        walk->has_tables = target->unwind_tables_at(target->context, pc, &walk->tables) == USP_OK;
        walk->tables_pc = pc;
        walk->named_start = walk->named_end = 0;
    }
    return walk->has_tables ? &walk->tables : NULL;
}

/* What a rule is carried out with. */
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
    /* A deeper frame's sp is only used where it is its own. */
    if (!uspi_known(r, reg) || (reg == a->walk->backend->sp && !a->frame->sp_known)) return false;
    *base = r->value[reg];
    return true;
}

static bool evaluate_expression(const struct application *a, struct uspi_location at, usp_addr *value) {
    struct uspi_source source = uspi_source_of_memory(uspi_table_memory(a->walk), "unwind table");
    const struct uspi_bytes bytes = {&source, a->rule->expressions + (uint32_t)at.offset, (uint32_t)at.addend};
    return uspi_dwarf_evaluate(a->walk, a->frame, bytes, a->has_cfa ? &a->cfa : NULL, value);
}

/* *value is what a register would hold, tag bits included; *memory_at where it was read, 0 if it was not. */
static bool evaluate(const struct application *a, struct uspi_location at, unsigned reg, uint64_t *value,
                     usp_addr *memory_at) {
    const struct uspi_backend *b = a->walk->backend;
    bool is_expression = at.kind == USPI_EXPRESSION || at.kind == USPI_VALUE_EXPRESSION;
    usp_addr v;
    *memory_at = 0;
    if (at.kind == USPI_LOST) return false;
    if (is_expression) {
        if (!evaluate_expression(a, at, &v)) return false;
    } else {
        if (!base_of(a, at.kind == USPI_SAME ? reg : at.base, &v)) return false;
        v += at.kind == USPI_SAME ? 0 : (usp_addr)(int64_t)at.offset;
    }
    v &= b->word_mask;
    if (at.kind != USPI_MEMORY && at.kind != USPI_EXPRESSION) {
        *value = v;
        return true;
    }
    /* What lies below the stack pointer belongs to nobody but a red zone. */
    if (at.kind == USPI_MEMORY && at.base == b->sp && at.offset < -(int32_t)b->red_zone) return false;
    *memory_at = v;
    if (!uspi_read_slot(a->walk, v, value)) return false;
    if (at.kind == USPI_MEMORY) *value += (usp_addr)(int64_t)at.addend;
    return true;
}

bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct usp_registers *caller, usp_addr *raw_ra, usp_addr *fp_at, bool *fp_extended) {
    const struct uspi_backend *b = walk->backend;
    struct application a = {.walk = walk, .frame = frame, .rule = rule};
    uint64_t value;
    usp_addr at;
    usp_registers_init(caller, b->arch);
    if (!evaluate(&a, rule->cfa, USPI_NO_REGISTER, &value, &at)) return false;
    a.cfa = value & b->word_mask;
    a.has_cfa = true;
    *raw_ra = 0;
    if (rule->return_address.kind != USPI_OUTERMOST &&
        !evaluate(&a, rule->return_address, USPI_NO_REGISTER, raw_ra, &at)) {
        return false;
    }
    *fp_at = 0;
    *fp_extended = false;
    uint64_t wanted = b->callee_saved;
    for (unsigned i = 0; i < rule->saved_count; i++) wanted |= UINT64_C(1) << (rule->saved[i].reg & 63);
    uspi_set(caller, b->sp, a.cfa);
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((wanted >> reg & 1) == 0) continue;
        if (!evaluate(&a, uspi_rule_of(rule, reg), reg, &value, &at)) continue;
        if (reg == b->fp && b->has_async) {
            *fp_extended = at != 0 && (value & USPI_FP_TAG_MASK) == USPI_FP_TAG_ASYNC;
            value &= ~USPI_FP_TAG_MASK;
        }
        if (reg == b->fp) *fp_at = at;
        uspi_set(caller, reg, value & b->word_mask);
    }
    return true;
}

bool uspi_is_plausible_cfa(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa) {
    const struct uspi_backend *b = walk->backend;
    usp_addr sp = frame->registers.value[b->sp];
    if ((cfa & (b->word - 1u)) != 0) return false;
    if (frame->sp_known && (frame->exact ? cfa < sp + b->call_push : cfa <= sp)) return false;
    /* Below a signal handler's stack there is another one, of which the bounds say nothing. */
    const struct usp_target *target = &walk->target;
    bool is_elsewhere = frame->sp_known && (sp < target->stack_low || sp >= target->stack_high);
    return target->stack_high == 0 || is_elsewhere || cfa <= target->stack_high;
}

/* In a thread state of arm64e all that points to code or to the stack is signed, pc and sp too (xnu
 * osfmk/mach/arm/_structs.h, __opaque_pc). A pc that is no address either way is reported as it stands. */
static void strip_state(const struct uspi_walk *walk, struct uspi_frame_state *state) {
    const struct uspi_backend *b = walk->backend;
    const struct usp_memory *code = uspi_code_memory(walk);
    uint64_t *value = state->registers.value;
    usp_addr pc = value[b->pc] & walk->strip_mask;
    uint8_t instruction[4];
    value[b->sp] &= walk->strip_mask;
    value[b->fp] &= walk->strip_mask;
    if (pc == value[b->pc] || code->read(code->context, pc, instruction, sizeof instruction) != 0) return;
    value[b->pc] = pc;
    state->flags |= USP_FRAME_SIGNED;
}

void uspi_complete_interrupted(const struct uspi_walk *walk, struct uspi_frame_state *state) {
    const struct uspi_backend *b = walk->backend;
    struct usp_registers *r = &state->registers;
    if (b->has_async) r->value[b->fp] &= ~USPI_FP_TAG_MASK;
    for (unsigned reg = 0; reg < b->register_count; reg++) r->value[reg] &= b->word_mask;
    if (b->has_signatures) strip_state(walk, state);
    if (b->has_thumb) {
        usp_registers_set_pc(r, r->value[b->pc]);
        if ((r->flags & 0x20u) != 0) state->flags |= USP_FRAME_THUMB;
    }
    state->exact = true;
    state->sp_known = uspi_known(r, b->sp);
    state->low = state->sp_known ? r->value[b->sp] : 1;
}

void uspi_resume_caller(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        struct uspi_frame_state *caller) {
    const struct uspi_backend *b = walk->backend;
    struct uspi_code code;
    struct uspi_instruction i;
    if (!frame->exact) return;
    uspi_code_init(&code, b, uspi_code_memory(walk));
    if (!uspi_code_decode(&code, caller->registers.value[b->pc], uspi_frame_mode(walk, caller), &i)) return;
    const struct uspi_effect *e = &i.effects[0];
    bool takes_register = i.effect_count == 1 && e->op == USPI_SET && e->reg == b->lr && e->base < b->register_count &&
                          e->value == 0 && uspi_known(&frame->registers, e->base);
    if (!takes_register || !uspi_explore_keeps(&code, &frame->registers, uspi_frame_mode(walk, frame), e->base)) return;
    uspi_set(&caller->registers, e->base, frame->registers.value[e->base]);
    /* The decoding mode of an interrupted frame comes from its flags. */
    if ((caller->flags & USP_FRAME_THUMB) != 0) {
        usp_registers_set_pc(&caller->registers, caller->registers.value[b->pc] | 1);
    }
    caller->exact = true;
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
