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

/* What the loop needs of a walk. A copy of its own: writing frames would otherwise make a compiler read it all again. */
struct way {
    const struct uspi_rule_cache *rules;
    const uint8_t *origin; /* of the stack: where the byte at target address 0 would be */
    usp_addr from, size;
    uint64_t code_mask, word_mask, tag_mask;
    uint32_t stamp;
    uint8_t sp, fp;
};

static struct way way_of(const struct uspi_walk *walk) {
    const struct uspi_backend *b = walk->backend;
    const struct uspi_copied *stack = &walk->shortcuts.stack;
    return (struct way){
        .rules = walk->shortcuts.rules,
        .origin = (const uint8_t *)((uintptr_t)stack->bytes - (uintptr_t)stack->from),
        .from = stack->from,
        .size = stack->size,
        .code_mask = walk->strip_mask & b->word_mask,
        .word_mask = b->word_mask,
        .tag_mask = b->has_async ? USPI_FP_TAG_MASK : 0,
        .stamp = walk->target.root_count,
        .sp = b->sp,
        .fp = b->fp,
    };
}

USPI_TEMPLATE bool is_on_stack(const struct way *way, usp_addr at, unsigned slot) {
    return at - way->from <= way->size - slot;
}

/* A slot that is on it. */
USPI_NO_ASAN USPI_TEMPLATE uint64_t read_slot(const struct way *way, usp_addr at, unsigned slot) {
    return load_slot((const uint8_t *)((uintptr_t)way->origin + (uintptr_t)at), slot);
}

USPI_TEMPLATE usp_addr at_slot(usp_addr base, int64_t slots, unsigned slot) { return base + (usp_addr)(slots * slot); }

/* The callee-saved registers but fp. Changes nothing and returns false when one of them cannot be read here. */
USPI_NO_ASAN USPI_TEMPLATE bool restore(const struct uspi_backend *b, const struct way *way,
                                        const struct uspi_packed_rule *rule, usp_addr cfa, unsigned slot,
                                        struct usp_registers *registers) {
    struct usp_registers restored = *registers;
    restored.known &= b->callee_saved;
    for (unsigned reg = 0, i = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp) continue;
        int32_t stored = uspi_packed_saved(rule->saved, i++);
        if (stored == USPI_PACKED_SAVED_SAME) continue;
        uspi_forget(&restored, reg);
        if (stored == USPI_PACKED_SAVED_LOST) continue;
        usp_addr at = at_slot(cfa, uspi_packed_saved_place(uspi_packed_ra(rule->frame), stored), slot);
        if (!is_on_stack(way, at, slot)) return false;
        uspi_set(&restored, reg, read_slot(way, at, slot) & b->word_mask);
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
USPI_NO_ASAN USPI_TEMPLATE bool take_step(const struct way *way, uint64_t frame, usp_addr sp, usp_addr fp,
                                          unsigned slot, struct step *step) {
    unsigned base = uspi_packed_base(frame);
    int32_t ra = uspi_packed_ra(frame), fp_place = uspi_packed_fp(frame);
    if ((base != way->sp && base != way->fp) || ra <= USPI_PACKED_RA_LINK) return false;
    usp_addr cfa = at_slot(base == way->sp ? sp : fp, uspi_packed_cfa(frame), slot);
    usp_addr ra_at = at_slot(cfa, uspi_packed_place(ra), slot);
    if ((cfa & (slot - 1)) != 0 || cfa <= sp || cfa - way->from > way->size || !is_on_stack(way, ra_at, slot)) {
        return false;
    }
    step->cfa = cfa;
    step->raw = read_slot(way, ra_at, slot);
    step->fp = fp;
    if (fp_place == USPI_PACKED_FP_SAME) return true;
    usp_addr fp_at = at_slot(cfa, uspi_packed_place(fp_place), slot);
    if (!is_on_stack(way, fp_at, slot)) return false;
    fp = read_slot(way, fp_at, slot);
    step->fp = fp & way->word_mask;
    /* The record of a Swift async frame is described by the readers. */
    return (fp & way->tag_mask) == 0;
}

/* What of a frame is known before its caller is. */
USPI_TEMPLATE void begin_frame(struct usp_frame *frame, usp_addr pc, usp_addr fp, uint32_t kind, uint32_t method,
                               uint32_t flags) {
    *frame = (struct usp_frame){.pc = pc, .fp = fp, .kind = kind, .method = method, .flags = flags};
}

USPI_TEMPLATE bool find(const struct way *way, usp_addr pc, unsigned how, struct uspi_packed_rule *rule) {
    return uspi_rule_cache_find(way->rules, pc, uspi_rule_key(pc, USPI_RULE_CERTAIN | how), way->stamp, rule);
}

/* As uspi_follow_rules, for when the walk goes no further: of `state`, only the pc becomes that of the frame behind. The
 * loop has little in hand at a time, so that compilers keep it in registers. */
USPI_NO_ASAN USPI_TEMPLATE uint32_t follow(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                           struct usp_frame *frames, uint32_t room, unsigned slot, uint32_t *stop) {
    const struct uspi_backend *b = walk->backend;
    const struct way way = way_of(walk);
    struct usp_registers *r = &state->registers;
    usp_addr sp = r->value[b->sp], fp = r->value[b->fp], pc = r->value[b->pc];
    struct usp_frame *frame = frames, *const end = frames + room;
    struct uspi_packed_rule rule;
    struct step step;
    if (room == 0 || !find(&way, pc, state->exact ? USPI_RULE_EXACT : 0, &rule)) return 0;
    begin_frame(frame, pc, fp, state->kind, state->method, state->flags);
    for (;;) {
        if (USPI_UNLIKELY(!take_step(&way, rule.frame, sp, fp, slot, &step))) {
            if (uspi_packed_ra(rule.frame) != USPI_PACKED_RA_OUTERMOST) break;
            *stop = USP_STOP_ROOT;
            return (uint32_t)(frame + 1 - frames);
        }
        uint32_t method = uspi_packed_note(rule.frame);
        usp_addr caller = step.raw & way.code_mask;
        bool is_known = find(&way, caller, 0, &rule);
        if (USPI_UNLIKELY(!is_known) && !uspi_is_root(walk, caller)) break;
        frame->cfa = sp = step.cfa;
        fp = step.fp;
        pc = caller;
        if (USPI_UNLIKELY(++frame == end)) break;
        begin_frame(frame, pc, fp, USP_KIND_RETURN_ADDRESS, method, pc != step.raw ? USP_FRAME_SIGNED : 0);
        if (USPI_UNLIKELY(!is_known)) {
            *stop = USP_STOP_ROOT;
            return (uint32_t)(frame + 1 - frames);
        }
    }
    uspi_set(r, b->pc, pc);
    return (uint32_t)(frame - frames);
}

/* The same way once more, for the other registers: `state` becomes the frame behind n frames, or behind as many as rules
 * still lead over, since one can have been displaced. Returns how many. */
USPI_NO_ASAN USPI_TEMPLATE uint32_t fetch_registers(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                                    uint32_t n, unsigned slot) {
    const struct uspi_backend *b = walk->backend;
    const struct way way = way_of(walk);
    struct usp_registers *r = &state->registers;
    struct uspi_packed_rule rule;
    struct step step;
    for (uint32_t i = 0; i < n; i++) {
        if (!find(&way, r->value[b->pc], state->exact ? USPI_RULE_EXACT : 0, &rule) ||
            !take_step(&way, rule.frame, r->value[b->sp], r->value[b->fp], slot, &step) ||
            !restore(b, &way, &rule, step.cfa, slot, r)) {
            return i;
        }
        usp_addr pc = step.raw & way.code_mask;
        uspi_set(r, b->pc, pc);
        uspi_set(r, b->sp, step.cfa);
        uspi_set(r, b->fp, step.fp);
        r->flags = 0;
        state->exact = false;
        state->low = step.cfa;
        state->kind = USP_KIND_RETURN_ADDRESS;
        state->method = uspi_packed_note(rule.frame);
        state->flags = pc != step.raw ? USP_FRAME_SIGNED : 0;
    }
    return n;
}

/* One function for each size, each with registers to itself. */
#define APART static __attribute__((noinline))

USPI_NO_ASAN APART uint32_t follow_4(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                     struct usp_frame *frames, uint32_t room, uint32_t *stop) {
    return follow(walk, state, frames, room, 4, stop);
}

USPI_NO_ASAN APART uint32_t follow_8(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                     struct usp_frame *frames, uint32_t room, uint32_t *stop) {
    return follow(walk, state, frames, room, 8, stop);
}

USPI_NO_ASAN APART uint32_t fetch_registers_4(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                              uint32_t n) {
    return fetch_registers(walk, state, n, 4);
}

USPI_NO_ASAN APART uint32_t fetch_registers_8(const struct uspi_walk *walk, struct uspi_frame_state *state,
                                              uint32_t n) {
    return fetch_registers(walk, state, n, 8);
}

uint32_t uspi_follow_rules(const struct uspi_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t room, bool goes_on, uint32_t *stop) {
    const struct uspi_backend *b = walk->backend;
    const struct usp_registers *r = &state->registers;
    if (!walk->keeps_table_rules || walk->shortcuts.stack.size < b->slot || b->has_thumb) return 0;
    if (!state->sp_known || !uspi_known(r, b->sp) || !uspi_known(r, b->fp)) return 0;
    if ((r->value[b->sp] & (b->slot - 1u)) != 0) return 0;
    usp_addr pc = r->value[b->pc];
    uint32_t n = b->slot == 4 ? follow_4(walk, state, frames, room, stop) : follow_8(walk, state, frames, room, stop);
    if (n == 0 || *stop != USP_STOP_NONE || (n == room && !goes_on)) return n;
    uspi_set(&state->registers, b->pc, pc);
    return b->slot == 4 ? fetch_registers_4(walk, state, n) : fetch_registers_8(walk, state, n);
}
