/* SPDX-License-Identifier: MIT */
/* From one certain rule to the next (kept_rules.h): the loop that walks deep stacks.
 *
 *     CFA = sp or fp + offset       return address = [CFA + a]       fp = [CFA + b], or itself       sp = CFA
 *
 * A frame is given when the return address that it leads to is one for which there is a certain rule again, or a root.
 * Everything else is the readers'. The other registers are not needed meanwhile; where the readers take over, they are
 * fetched by going the same way once more. */
#include "lib/unwind/kept_rules.h"
#include "lib/unwind/reader.h"

/* Not uspi_load_le: what lies on a stack may be fenced off by AddressSanitizer, and compilers see one load in this. */
USPI_NO_ASAN USPI_TEMPLATE uint64_t load_slot(const uint8_t *p, unsigned slot) {
    uint64_t low = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    if (slot == 4) return low;
    return low | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

USPI_TEMPLATE bool is_on(const struct uspi_copied *stack, usp_addr at, unsigned slot) {
    return at - stack->from <= stack->size - slot;
}

/* The callee-saved registers but fp. Changes nothing and returns false when one of them cannot be read here. */
USPI_NO_ASAN USPI_TEMPLATE bool restore(const struct uspi_walk *walk, const struct uspi_packed_rule *rule, usp_addr cfa,
                                        unsigned slot, struct usp_registers *registers) {
    const struct uspi_backend *b = walk->backend;
    const struct uspi_copied *stack = &walk->shortcuts.stack;
    struct usp_registers restored = *registers;
    restored.known &= b->callee_saved;
    for (unsigned reg = 0, i = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp) continue;
        int32_t stored = uspi_packed_saved(rule->saved, i++);
        if (stored == USPI_PACKED_SAVED_SAME) continue;
        uspi_forget(&restored, reg);
        if (stored == USPI_PACKED_SAVED_LOST) continue;
        int32_t place = uspi_packed_saved_place(uspi_packed_ra(rule->frame), stored);
        usp_addr at = cfa + (usp_addr)((int64_t)place * slot);
        if (!is_on(stack, at, slot)) return false;
        uspi_set(&restored, reg, load_slot(stack->bytes + (at - stack->from), slot) & b->word_mask);
    }
    *registers = restored;
    return true;
}

/* Where a caller is. */
struct step {
    usp_addr cfa, fp;
    uint64_t raw; /* return address as found */
};

/* False: not without the readers. */
USPI_NO_ASAN USPI_TEMPLATE bool take_step(const struct uspi_walk *walk, const struct uspi_packed_rule *rule,
                                          usp_addr sp, usp_addr fp, usp_addr lowest, unsigned slot, struct step *step) {
    const struct uspi_backend *b = walk->backend;
    const struct uspi_copied *stack = &walk->shortcuts.stack;
    unsigned base = uspi_packed_base(rule->frame);
    int32_t ra = uspi_packed_ra(rule->frame), fp_place = uspi_packed_fp(rule->frame);
    if ((base != b->sp && base != b->fp) || ra == USPI_PACKED_RA_LINK) return false;
    usp_addr cfa = (base == b->sp ? sp : fp) + (usp_addr)((int64_t)uspi_packed_cfa(rule->frame) * slot);
    usp_addr ra_at = cfa + (usp_addr)((int64_t)uspi_packed_place(ra) * slot);
    if ((cfa & (slot - 1)) != 0 || cfa < lowest || cfa - stack->from > stack->size || !is_on(stack, ra_at, slot)) {
        return false;
    }
    step->cfa = cfa;
    step->raw = load_slot(stack->bytes + (ra_at - stack->from), slot);
    step->fp = fp;
    if (fp_place == USPI_PACKED_FP_SAME) return true;
    usp_addr fp_at = cfa + (usp_addr)((int64_t)uspi_packed_place(fp_place) * slot);
    if (!is_on(stack, fp_at, slot)) return false;
    step->fp = load_slot(stack->bytes + (fp_at - stack->from), slot);
    /* The record of a Swift async frame is described by the readers. */
    if (b->has_async && (step->fp & USPI_FP_TAG_MASK) != 0) return false;
    step->fp &= b->word_mask;
    return true;
}

/* With `full`, all registers are kept up to date, and `state` becomes the frame behind the last one; without, it only gets
 * that one's pc. */
USPI_NO_ASAN USPI_TEMPLATE uint32_t follow(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                           struct usp_frame *frames, uint32_t room, unsigned slot, bool full,
                                           uint32_t *stop) {
    const struct uspi_backend *b = walk->backend;
    const struct uspi_rule_cache *rules = walk->shortcuts.rules;
    const uint64_t code_mask = walk->strip_mask & b->word_mask;
    const uint32_t stamp = walk->target.root_count;
    struct usp_registers *r = &state->registers;
    struct usp_frame frame = {.pc = r->value[b->pc],
                              .fp = r->value[b->fp],
                              .kind = state->kind,
                              .method = state->method,
                              .flags = state->flags};
    usp_addr sp = r->value[b->sp], lowest = sp + (state->exact ? b->call_push : 1u);
    struct uspi_packed_rule rule, next;
    struct step step;
    uint32_t n = 0;
    unsigned how = USPI_RULE_CERTAIN | (state->exact ? USPI_RULE_EXACT : 0u);
    bool goes_on = uspi_rule_cache_find(rules, uspi_rule_key(frame.pc, how), stamp, &rule);
    while (goes_on && n < room) {
        if (uspi_packed_ra(rule.frame) == USPI_PACKED_RA_OUTERMOST) {
            frames[n] = frame;
            frames[n++].cfa = 0;
            *stop = USP_STOP_ROOT;
            return n;
        }
        if (!take_step(walk, &rule, sp, frame.fp, lowest, slot, &step)) break;
        usp_addr pc = step.raw & code_mask;
        goes_on = uspi_rule_cache_find(rules, uspi_rule_key(pc, USPI_RULE_CERTAIN), stamp, &next);
        bool is_root = !goes_on && uspi_is_root(walk, pc);
        if (!goes_on && !is_root) break;
        if (full && !restore(walk, &rule, step.cfa, slot, r)) break;
        frame.cfa = sp = step.cfa;
        frames[n++] = frame;
        lowest = sp + 1;
        frame.pc = pc;
        frame.fp = step.fp;
        frame.kind = USP_KIND_RETURN_ADDRESS;
        frame.method = uspi_packed_note(rule.frame);
        frame.flags = pc != step.raw ? USP_FRAME_SIGNED : 0;
        if (goes_on) rule = next;
        if (is_root && n < room && !full) {
            frames[n] = frame;
            frames[n++].cfa = 0;
            *stop = USP_STOP_ROOT;
            return n;
        }
    }
    if (n == 0) return 0;
    uspi_set(r, b->pc, frame.pc);
    if (!full) return n;
    uspi_set(r, b->sp, sp);
    uspi_set(r, b->fp, frame.fp);
    r->flags = 0;
    state->exact = false;
    state->sp_known = true;
    state->low = sp;
    state->kind = frame.kind;
    state->method = frame.method;
    state->flags = frame.flags;
    return n;
}

static uint32_t follow_sized(const struct uspi_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                             uint32_t room, bool full, uint32_t *stop) {
    if (walk->backend->slot == 4) {
        return full ? follow(walk, state, frames, room, 4, true, stop)
                    : follow(walk, state, frames, room, 4, false, stop);
    }
    return full ? follow(walk, state, frames, room, 8, true, stop) : follow(walk, state, frames, room, 8, false, stop);
}

uint32_t uspi_follow_rules(const struct uspi_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t room, bool goes_on, uint32_t *stop) {
    const struct uspi_backend *b = walk->backend;
    if (!walk->keeps_table_rules || walk->shortcuts.stack.size < b->slot || b->has_thumb) return 0;
    if (!state->sp_known || !uspi_known(&state->registers, b->sp) || !uspi_known(&state->registers, b->fp)) return 0;
    usp_addr pc = state->registers.value[b->pc];
    uint32_t n = follow_sized(walk, state, frames, room, false, stop);
    if (n == 0 || *stop != USP_STOP_NONE || (n == room && !goes_on)) return n;
    uspi_set(&state->registers, b->pc, pc);
    /* A rule can have been displaced since. */
    return follow_sized(walk, state, frames, n, true, stop);
}
