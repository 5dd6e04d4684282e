/* SPDX-License-Identifier: MIT */
/* Walks deep stacks from one certain rule to the next (kept_rules.h):
 *
 *     CFA = sp or fp + offset       return address = [CFA + a]       fp = [CFA + b], or itself       sp = CFA
 *
 * A frame is given if there is a certain rule for its return address too, if that is a root and the walk ends at roots,
 * or if the frame's own rule ends the stack. The frame readers handle everything else. The walk does not need the other
 * registers. If the readers continue it, a second pass over the same frames (fetch_registers) restores them. The two
 * are not one pass: most walks never need those registers, and to read their slots here would take more loads for a
 * frame than the frame itself. The readers recall one rule at a time (kept_rules.c), also of code that may change,
 * which this walk never does. */
#include "lib/unwind/rule_cache/kept_rules.h"

/* Loads a slot. Does not use uspi_le, because AddressSanitizer may have poisoned the stack memory. Compilers make one
 * load of this. */
USPI_NO_ASAN USPI_TEMPLATE uint64_t load_slot(const uint8_t *p, unsigned slot) {
    uint64_t low = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    if (slot == 4) return low;
    return low | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

bool uspi_rule_walk_init(struct uspi_rule_walk *w, const struct uspi_backend *b, const struct usp_target *target,
                         uint64_t strip_mask, const struct uspi_shortcuts *shortcuts) {
    const struct uspi_copied *stack = &shortcuts->stack;
    if (shortcuts->rules == NULL || stack->size < b->slot || b->has_thumb) return false;
    *w = (struct uspi_rule_walk){
        .rules = *shortcuts->rules,
        .backend = b,
        .target = target,
        .stamp = target->root_count,
        .origin = (const uint8_t *)((uintptr_t)stack->bytes - (uintptr_t)stack->from),
        .from = stack->from,
        .size = stack->size,
        .code_mask = strip_mask & b->word_mask,
        .word_mask = b->word_mask,
        .tag_mask = b->has_async ? USPI_FP_TAG_MASK : 0,
        .slot = b->slot,
        .sp = b->sp,
        .fp = b->fp,
    };
    return true;
}

USPI_TEMPLATE bool is_on_stack(const struct uspi_rule_walk *w, usp_addr at, unsigned slot) {
    return at - w->from <= w->size - slot;
}

/* Reads a slot that is on the stack. */
USPI_NO_ASAN USPI_TEMPLATE uint64_t read_slot(const struct uspi_rule_walk *w, usp_addr at, unsigned slot) {
    return load_slot((const uint8_t *)((uintptr_t)w->origin + (uintptr_t)at), slot);
}

USPI_TEMPLATE usp_addr at_slot(usp_addr base, int64_t slots, unsigned slot) { return base + (usp_addr)(slots * slot); }

/* Restores the callee-saved registers except fp. Returns false and changes nothing when the slot of one of them cannot
 * be read here. */
USPI_NO_ASAN USPI_TEMPLATE bool restore(const struct uspi_rule_walk *w, uint64_t rule, uint64_t saved, usp_addr cfa,
                                        unsigned slot, struct usp_registers *registers) {
    const struct uspi_backend *b = w->backend;
    struct usp_registers restored = *registers;
    restored.known &= b->callee_saved;
    for (unsigned reg = 0, i = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp) continue;
        int32_t stored = uspi_packed_saved(saved, i++);
        if (stored == USPI_PACKED_SAVED_SAME) continue;
        uspi_forget(&restored, reg);
        if (stored == USPI_PACKED_SAVED_LOST) continue;
        usp_addr at = at_slot(cfa, uspi_packed_saved_place(uspi_packed_ra(rule), stored), slot);
        if (!is_on_stack(w, at, slot)) return false;
        uspi_set(&restored, reg, read_slot(w, at, slot) & b->word_mask);
    }
    *registers = restored;
    return true;
}

/* The caller, as a rule gives it. */
struct step {
    usp_addr cfa, fp;
    uint64_t raw; /* return address as found */
};

/* Reads the caller's fp from its slot. Returns false when the slot is in the record of a Swift async frame, which the
 * readers have to describe. */
USPI_NO_ASAN USPI_TEMPLATE bool read_fp(const struct uspi_rule_walk *w, usp_addr at, unsigned slot, usp_addr *fp) {
    uint64_t stored = read_slot(w, at, slot);
    *fp = stored & w->word_mask;
    return (stored & w->tag_mask) == 0;
}

/* Steps to the caller by any rule. Returns false when the readers are needed. */
USPI_NO_ASAN USPI_TEMPLATE bool take_checked_step(const struct uspi_rule_walk *w, uint64_t frame, usp_addr sp,
                                                  usp_addr fp, unsigned slot, struct step *step) {
    unsigned base = uspi_packed_base(frame, w->sp);
    int32_t ra = uspi_packed_ra(frame), fp_place = uspi_packed_fp(frame);
    if ((base != w->sp && base != w->fp) || ra <= USPI_PACKED_RA_LINK) return false;
    usp_addr cfa = at_slot(base == w->sp ? sp : fp, uspi_packed_cfa(frame), slot);
    usp_addr ra_at = at_slot(cfa, uspi_packed_place(ra), slot);
    if ((cfa & (slot - 1)) != 0 || cfa <= sp || cfa - w->from > w->size || !is_on_stack(w, ra_at, slot)) {
        return false;
    }
    step->cfa = cfa;
    step->raw = read_slot(w, ra_at, slot);
    step->fp = fp;
    if (fp_place == USPI_PACKED_FP_SAME) return true;
    usp_addr fp_at = at_slot(cfa, uspi_packed_place(fp_place), slot);
    return is_on_stack(w, fp_at, slot) && read_fp(w, fp_at, slot, &step->fp);
}

/* Like take_checked_step, but faster if the rule requires only a check of the CFA (USPI_PACKED_BASE_PUSHED). `sp` is
 * aligned and on the stack. */
USPI_NO_ASAN USPI_TEMPLATE bool take_step(const struct uspi_rule_walk *w, uint64_t frame, usp_addr sp, usp_addr fp,
                                          unsigned slot, struct step *step) {
    if (USPI_UNLIKELY(uspi_packed_stored_base(frame) != USPI_PACKED_BASE_PUSHED)) {
        return take_checked_step(w, frame, sp, fp, slot, step);
    }
    usp_addr cfa = at_slot(sp, uspi_packed_cfa(frame), slot);
    if (USPI_UNLIKELY(cfa - w->from > w->size)) return false;
    step->cfa = cfa;
    step->raw = read_slot(w, cfa - slot, slot);
    step->fp = fp;
    int32_t fp_place = uspi_packed_fp(frame);
    return fp_place == USPI_PACKED_FP_SAME ||
           read_fp(w, at_slot(cfa, uspi_packed_place(fp_place), slot), slot, &step->fp);
}

/* Fills the fields of a frame that are known before its caller is found. */
USPI_TEMPLATE void begin_frame(struct usp_frame *frame, usp_addr pc, usp_addr fp, uint32_t kind, uint32_t method,
                               uint32_t flags) {
    *frame = (struct usp_frame){.pc = pc, .fp = fp, .kind = kind, .method = method, .flags = flags};
}

/* Finds the certain rule for a pc. *saved is only needed to restore registers, and may be NULL. */
USPI_TEMPLATE bool find(const struct uspi_rule_walk *w, usp_addr pc, unsigned how, uint64_t *rule, uint64_t *saved) {
    uint64_t wanted = uspi_rule_wanted(USPI_RULE_CERTAIN | how, w->stamp);
    return uspi_rule_cache_find_words(&w->rules, pc, wanted, rule, saved);
}

/* Finds the certain rule for a return address. */
USPI_TEMPLATE bool find_for_return(const struct uspi_rule_walk *w, usp_addr pc, uint64_t *rule, uint64_t *saved) {
    if (USPI_LIKELY(find(w, pc, 0, rule, saved))) return true;
    return w->target->beyond_roots != 0 && uspi_is_root(w->target, pc) && find(w, pc, USPI_RULE_ROOT, rule, saved);
}

/* Properties of a processor's stacks. They are constants in each instance of `follow`. */
struct shape {
    unsigned slot;
    bool is_masked; /* return addresses have bits that are not part of the address */
};

/* Walks along certain rules; see uspi_rule_walk_go. Uses few variables at a time, so that they stay in registers. */
USPI_NO_ASAN USPI_TEMPLATE uint32_t follow(const struct uspi_rule_walk *restrict w, struct uspi_rule_position *at,
                                           struct usp_frame *restrict frames, uint32_t capacity, struct shape shape) {
    usp_addr sp = at->sp, fp = at->fp, pc = at->pc;
    struct usp_frame *frame = frames, *const end = frames + capacity;
    uint64_t rule;
    struct step step;
    if (!find(w, pc, at->exact ? USPI_RULE_EXACT : 0, &rule, NULL)) return 0;
    begin_frame(frame, pc, fp, at->kind, at->method, at->flags);
    for (;;) {
        if (USPI_UNLIKELY(!take_step(w, rule, sp, fp, shape.slot, &step))) {
            if (uspi_packed_ra(rule) != USPI_PACKED_RA_OUTERMOST) break;
            at->stop = USP_STOP_ROOT;
            return (uint32_t)(frame + 1 - frames);
        }
        uint32_t method = uspi_packed_note(rule);
        usp_addr caller = shape.is_masked ? step.raw & w->code_mask : step.raw;
        bool is_known = find_for_return(w, caller, &rule, NULL);
        if (USPI_UNLIKELY(!is_known) && (w->target->beyond_roots != 0 || !uspi_is_root(w->target, caller))) break;
        frame->cfa = sp = step.cfa;
        fp = step.fp;
        pc = caller;
        if (USPI_UNLIKELY(++frame == end)) break;
        begin_frame(frame, pc, fp, USP_FRAME_KIND_RETURN_ADDRESS, method, pc != step.raw ? USP_FRAME_SIGNED : 0);
        if (USPI_UNLIKELY(!is_known)) {
            at->stop = USP_STOP_ROOT;
            return (uint32_t)(frame + 1 - frames);
        }
    }
    at->pc = pc;
    at->sp = sp;
    at->fp = fp;
    at->exact = at->exact && frame == frames;
    return (uint32_t)(frame - frames);
}

/* Instances of `follow`: separate functions, so that compilers assign registers to each of them alone. */
USPI_NO_ASAN USPI_APART static uint32_t follow_4(const struct uspi_rule_walk *w, struct uspi_rule_position *at,
                                                 struct usp_frame *frames, uint32_t capacity) {
    return follow(w, at, frames, capacity, (struct shape){4, true});
}

USPI_NO_ASAN USPI_APART static uint32_t follow_8(const struct uspi_rule_walk *w, struct uspi_rule_position *at,
                                                 struct usp_frame *frames, uint32_t capacity) {
    return follow(w, at, frames, capacity, (struct shape){8, true});
}

/* For return addresses that need no mask, which would delay each frame. */
USPI_NO_ASAN USPI_APART static uint32_t follow_8_whole(const struct uspi_rule_walk *w, struct uspi_rule_position *at,
                                                       struct usp_frame *frames, uint32_t capacity) {
    return follow(w, at, frames, capacity, (struct shape){8, false});
}

uint32_t uspi_rule_walk_go(const struct uspi_rule_walk *w, struct uspi_rule_position *at, struct usp_frame *frames,
                           uint32_t capacity) {
    if (capacity == 0 || (at->sp & (w->slot - 1u)) != 0 || at->sp - w->from > w->size) return 0;
    if (w->slot == 4) return follow_4(w, at, frames, capacity);
    return w->code_mask != UINT64_MAX ? follow_8(w, at, frames, capacity) : follow_8_whole(w, at, frames, capacity);
}

/* Walks n frames once more to restore the other registers; `state` becomes the frame after them. The walk ends earlier
 * if a rule has been replaced in the cache since. Returns the number of frames. */
USPI_NO_ASAN static uint32_t fetch_registers(const struct uspi_rule_walk *w, struct uspi_frame_state *state,
                                             uint32_t n) {
    const struct uspi_backend *b = w->backend;
    struct usp_registers *r = &state->registers;
    uint64_t rule, saved;
    struct step step;
    for (uint32_t i = 0; i < n; i++) {
        const usp_addr from = r->value[b->pc];
        if (!(state->exact ? find(w, from, USPI_RULE_EXACT, &rule, &saved) : find_for_return(w, from, &rule, &saved)) ||
            !take_step(w, rule, r->value[b->sp], r->value[b->fp], b->slot, &step) ||
            !restore(w, rule, saved, step.cfa, b->slot, r)) {
            return i;
        }
        usp_addr pc = step.raw & w->code_mask;
        uspi_set(r, b->pc, pc);
        uspi_set(r, b->sp, step.cfa);
        uspi_set(r, b->fp, step.fp);
        r->flags = 0;
        state->exact = false;
        state->low = step.cfa;
        state->kind = USP_FRAME_KIND_RETURN_ADDRESS;
        state->method = uspi_packed_note(rule);
        state->flags = pc != step.raw ? USP_FRAME_SIGNED : 0;
    }
    return n;
}

uint32_t uspi_rule_walk_on(const struct uspi_rule_walk *w, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t capacity, bool goes_on, uint32_t *stop) {
    const struct uspi_backend *b = w->backend;
    struct usp_registers *r = &state->registers;
    if (!state->sp_known || !uspi_known(r, b->sp) || !uspi_known(r, b->fp)) return 0;
    struct uspi_rule_position at = {r->value[b->pc], r->value[b->sp], r->value[b->fp], state->exact,
                                    state->kind,     state->method,   state->flags,    USP_STOP_NONE};
    uint32_t n = uspi_rule_walk_go(w, &at, frames, capacity);
    if (at.stop != USP_STOP_NONE) *stop = at.stop;
    if (n == 0 || at.stop != USP_STOP_NONE) return n;
    if (n < capacity || goes_on) return fetch_registers(w, state, n);
    uspi_set(r, b->pc, at.pc);
    return n;
}
