/* SPDX-License-Identifier: MIT */
/* Packs unwind rules into two words for the cache: the CFA as register + offset, and slots relative to the CFA. Nearly
 * every rule that compilers write has this form. Rules with an expression, with a register in another one, or with
 * slots far apart do not. rule_cache.h describes the fields. */
#include "lib/unwind/rule_cache/rule_cache.h"

/* Converts an offset to a field's value in slots. Returns false when the offset is not a multiple of a slot, is out of
 * the field's range, or would give one of its special values. */
static bool to_slots(const struct uspi_backend *b, int64_t offset, unsigned bits, unsigned special, uint64_t *stored) {
    int64_t slots = offset / b->slot + USPI_PACKED_MIDDLE(bits);
    if (offset % b->slot != 0 || slots < (int64_t)special || slots >= INT64_C(1) << bits) return false;
    *stored = (uint64_t)slots;
    return true;
}

/* Finds the offset from the CFA of the slot that a location is read from. Returns false for other locations. */
static bool slot_of(const struct uspi_backend *b, const struct uspi_rule *rule, struct uspi_location at,
                    int64_t *offset) {
    if (at.kind != USPI_MEMORY || at.addend != 0) return false;
    *offset = at.offset;
    if (at.base == USPI_BASE_CFA) return true;
    *offset -= rule->cfa.offset;
    /* Slots below the stack pointer have to be checked when the rule is applied, so such a rule is not cached. */
    return at.base == rule->cfa.base && (at.base != b->sp || at.offset >= 0);
}

static bool pack_place(const struct uspi_backend *b, const struct uspi_rule *rule, struct uspi_location at,
                       unsigned special, uint64_t *stored) {
    int64_t offset;
    return slot_of(b, rule, at, &offset) && to_slots(b, offset, USPI_PACKED_PLACE_BITS, special, stored);
}

static bool pack_return_address(const struct uspi_backend *b, const struct uspi_rule *rule, uint64_t *stored,
                                int64_t *from) {
    struct uspi_location at = rule->return_address;
    bool is_register = (at.kind == USPI_REGISTER || at.kind == USPI_SAME) && at.offset == 0;
    *from = 0;
    if (at.kind == USPI_OUTERMOST) {
        *stored = USPI_PACKED_RA_OUTERMOST;
        return true;
    }
    if (is_register && b->lr != USPI_NO_REGISTER && at.base == b->lr) {
        *stored = USPI_PACKED_RA_LINK;
        return true;
    }
    return slot_of(b, rule, at, from) && pack_place(b, rule, at, USPI_PACKED_RA_LINK + 1, stored);
}

static bool pack_saved(const struct uspi_backend *b, const struct uspi_rule *rule, int64_t from,
                       struct uspi_location at, uint64_t *stored) {
    int64_t offset;
    *stored = at.kind == USPI_LOST ? USPI_PACKED_SAVED_LOST : USPI_PACKED_SAVED_SAME;
    if (at.kind == USPI_LOST || at.kind == USPI_SAME) return true;
    return slot_of(b, rule, at, &offset) &&
           to_slots(b, offset - from, USPI_PACKED_SAVED_BITS, USPI_PACKED_SAVED_LOST + 1, stored);
}

static bool is_pushed(const struct uspi_backend *b, const struct uspi_rule *rule, int64_t cfa, uint64_t ra,
                      uint64_t fp) {
    int32_t ra_place = uspi_packed_place((int32_t)ra), fp_place = uspi_packed_place((int32_t)fp);
    bool keeps_fp = fp == USPI_PACKED_FP_SAME || (fp_place < ra_place && fp_place >= -cfa);
    return rule->cfa.base == b->sp && cfa > 0 && ra_place == -1 && keeps_fp;
}

bool uspi_rule_pack(const struct uspi_backend *b, const struct uspi_rule *rule, unsigned note,
                    struct uspi_packed_rule *packed) {
    uint64_t cfa, ra, fp = USPI_PACKED_FP_SAME, stored;
    int64_t from;
    if (rule->signal_frame || rule->cfa.kind != USPI_REGISTER || rule->cfa.base >= USPI_PACKED_BASE_PUSHED ||
        note >= 1u << USPI_PACKED_NOTE_BITS || !to_slots(b, rule->cfa.offset, USPI_PACKED_CFA_BITS, 0, &cfa) ||
        !pack_return_address(b, rule, &ra, &from)) {
        return false;
    }
    for (unsigned i = 0; i < rule->saved_count; i++) {
        if (rule->saved[i].reg >= 64 || (b->callee_saved >> rule->saved[i].reg & 1) == 0) return false;
    }
    struct uspi_location fp_at = uspi_rule_of(rule, b->fp);
    if (fp_at.kind != USPI_SAME && !pack_place(b, rule, fp_at, USPI_PACKED_FP_SAME + 1, &fp)) return false;
    packed->saved = 0;
    for (unsigned reg = 0, i = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp) continue;
        if ((i + 1) * USPI_PACKED_SAVED_BITS > 64 || !pack_saved(b, rule, from, uspi_rule_of(rule, reg), &stored)) {
            return false;
        }
        packed->saved |= stored << i++ * USPI_PACKED_SAVED_BITS;
    }
    cfa -= USPI_PACKED_MIDDLE(USPI_PACKED_CFA_BITS);
    uint64_t base = is_pushed(b, rule, (int64_t)cfa, ra, fp) ? USPI_PACKED_BASE_PUSHED : rule->cfa.base;
    packed->frame = base | (uint64_t)note << USPI_PACKED_NOTE_SHIFT | ra << USPI_PACKED_RA_SHIFT |
                    fp << USPI_PACKED_FP_SHIFT | cfa << USPI_PACKED_CFA_SHIFT;
    return true;
}

static struct uspi_location at_slot(const struct uspi_backend *b, int32_t slots) {
    return (struct uspi_location){.kind = USPI_MEMORY, .base = USPI_BASE_CFA, .offset = slots * b->slot};
}

unsigned uspi_rule_unpack(const struct uspi_backend *b, const struct uspi_packed_rule *packed, struct uspi_rule *rule) {
    uint64_t frame = packed->frame;
    int32_t ra = uspi_packed_ra(frame), fp = uspi_packed_fp(frame);
    rule->cfa = (struct uspi_location){.kind = USPI_REGISTER,
                                       .base = (uint8_t)uspi_packed_base(frame, b->sp),
                                       .offset = (int32_t)uspi_packed_cfa(frame) * b->slot};
    rule->return_address = ra == USPI_PACKED_RA_OUTERMOST ? (struct uspi_location){.kind = USPI_OUTERMOST}
                           : ra == USPI_PACKED_RA_LINK    ? (struct uspi_location){.kind = USPI_REGISTER, .base = b->lr}
                                                          : at_slot(b, uspi_packed_place(ra));
    rule->expressions = 0;
    rule->signal_frame = false;
    rule->saved_count = 0;
    if (fp != USPI_PACKED_FP_SAME) uspi_rule_add(rule, b->fp, at_slot(b, uspi_packed_place(fp)));
    for (unsigned reg = 0, i = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp) continue;
        int32_t stored = uspi_packed_saved(packed->saved, i++);
        if (stored == USPI_PACKED_SAVED_SAME) continue;
        uspi_rule_add(rule, reg,
                      stored == USPI_PACKED_SAVED_LOST ? (struct uspi_location){.kind = USPI_LOST}
                                                       : at_slot(b, uspi_packed_saved_place(ra, stored)));
    }
    return uspi_packed_note(frame);
}
