/* SPDX-License-Identifier: MIT */
/* See outcome.h. */
#include "lib/unwind/code/outcome.h"

/* Returns where the value of a register is, relative to the registers at the beginning or to the CFA. `cfa` is the
 * CFA's value. */
static struct uspi_location location_of(struct uspi_value v, struct uspi_value cfa, unsigned reg) {
    const struct uspi_location lost = {.kind = USPI_LOST};
    switch (v.kind) {
    case USPI_ADDRESS:
        if (v.base == USPI_BASE_ALIGNED) return lost;
        if (v.base == reg && v.offset == 0) return (struct uspi_location){.kind = USPI_SAME, .base = (uint8_t)reg};
        return uspi_in_register(v.base, v.offset);
    case USPI_CONTENT:
        if (v.base == USPI_BASE_ALIGNED) return lost;
        return (struct uspi_location){.kind = USPI_MEMORY, .base = v.base, .offset = v.offset, .addend = v.addend};
    case USPI_NESTED:
        /* The CFA was loaded from the same slot: the frame keeps the old stack pointer there. So the value is relative
         * to the CFA. */
        if (cfa.kind != USPI_CONTENT || cfa.base != v.base || cfa.offset != v.offset) return lost;
        return uspi_in_memory(USPI_BASE_CFA, (int32_t)((int64_t)v.addend - cfa.addend));
    default: return lost;
    }
}

bool uspi_rule_at_return(const struct uspi_log *log, const struct uspi_path *path, struct uspi_value return_address,
                         struct uspi_value sp, struct uspi_rule *rule) {
    const struct uspi_backend *b = log->backend;
    memset(rule, 0, sizeof *rule);
    rule->cfa = location_of(sp, uspi_unknown, USPI_NO_REGISTER);
    rule->return_address = location_of(return_address, sp, USPI_NO_REGISTER);
    if (rule->cfa.kind == USPI_LOST || rule->return_address.kind == USPI_LOST) return false;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0) continue;
        uspi_rule_add(rule, reg, location_of(uspi_register_value(log, path, reg), sp, reg));
    }
    return true;
}

/* Whether the return address at a tail call is on the stack, although calls leave it in the link register. Only the
 * lazy binding of a 32-bit Arm procedure linkage table does that: it pushes the link register and uses it for the jump
 * (Arm ELF for the Arm Architecture, "PLT code sequences"). Then the register holds a constant, or a value computed
 * from its original one. */
static bool is_pushed(const struct uspi_log *log, struct uspi_value lr) {
    return lr.kind == USPI_CONSTANT || (lr.kind == USPI_ADDRESS && lr.base == log->backend->lr && lr.offset != 0);
}

bool uspi_rule_at_tail_call(const struct uspi_log *log, const struct uspi_path *path, struct uspi_rule *rule) {
    const struct uspi_backend *b = log->backend;
    struct uspi_value sp = uspi_register_value(log, path, b->sp);
    unsigned pushed = b->call_push;
    struct uspi_value ra = uspi_memory_value(log, path, sp);
    if (b->lr != USPI_NO_REGISTER) {
        struct uspi_value lr = uspi_register_value(log, path, b->lr);
        if (b->slot == 4 && is_pushed(log, lr)) {
            pushed = b->slot;
        } else {
            ra = lr;
        }
    }
    return uspi_rule_at_return(log, path, ra, uspi_plus(log, sp, pushed), rule);
}

/* Returns a register to which the return address was moved, from the link register or from the stack. Returns
 * USPI_NO_REGISTER if there is none. */
static unsigned find_moved(const struct uspi_log *log, const struct uspi_path *path) {
    const struct uspi_backend *b = log->backend;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        const struct uspi_value v = uspi_register_value(log, path, reg);
        if (b->lr == USPI_NO_REGISTER) {
            if (v.kind == USPI_CONTENT && v.base == b->sp && v.offset == 0 && v.addend == 0) return reg;
        } else if (reg != b->lr && uspi_is_address(v, b->lr, 0)) {
            return reg;
        }
    }
    return USPI_NO_REGISTER;
}

/* Returns a register at a fixed distance from an address (`base`); *below becomes the register's value minus the
 * address. Prefers fp to sp, which is less certain after calls whose callee pops arguments. */
static unsigned find_anchor(const struct uspi_log *log, const struct uspi_path *path, unsigned base, int32_t *below) {
    const struct uspi_backend *b = log->backend;
    for (unsigned i = 0; i < b->register_count + 2u; i++) {
        unsigned reg = i == 0 ? b->fp : i == 1 ? b->sp : i - 2;
        struct uspi_value v = uspi_register_value(log, path, reg);
        if (v.kind != USPI_ADDRESS || v.base != base) continue;
        *below = v.offset;
        return reg;
    }
    return USPI_NO_REGISTER;
}

/* Returns the location of the stack pointer's value at the function's start. It is relative to a register at a fixed
 * distance or, if the stack was realigned, in the slot that keeps the value. */
static struct uspi_location find_start(const struct uspi_log *log, const struct uspi_path *path) {
    const int32_t far = INT32_MAX / 4;
    int32_t below = 0, slot, kept;
    unsigned anchor = find_anchor(log, path, log->backend->sp, &below);
    if (anchor != USPI_NO_REGISTER && below > -far && below < far) return uspi_in_register(anchor, -below);
    anchor = find_anchor(log, path, USPI_BASE_ALIGNED, &below);
    bool is_kept = anchor != USPI_NO_REGISTER && uspi_find_kept_sp(log, path, &slot, &kept);
    if (!is_kept || below < -far || below > far || slot < -far || slot > far || kept < -far || kept > far) {
        return (struct uspi_location){.kind = USPI_LOST};
    }
    struct uspi_location start = uspi_in_memory(anchor, slot - below);
    start.addend = -kept;
    return start;
}

/* Returns the location of a slot that is given relative to the stack pointer at the function's start. */
static struct uspi_location in_slot(const struct uspi_log *log, struct uspi_location start, int32_t slot) {
    if (start.kind == USPI_REGISTER) return uspi_in_memory(start.base, (int32_t)((int64_t)start.offset + slot));
    return uspi_in_memory(USPI_BASE_CFA, (int32_t)((int64_t)slot - log->backend->call_push));
}

/* Returns where the return address is if calls push it: in the slot to which it was pushed, or in the register to which
 * the function has popped it. */
static struct uspi_location pushed_return_address(const struct uspi_log *log, const struct uspi_path *path,
                                                  struct uspi_location start) {
    const uint8_t sp_register = log->backend->sp;
    const struct uspi_value sp = uspi_register_value(log, path, sp_register);
    const bool is_popped = sp.kind == USPI_ADDRESS && sp.base == sp_register && sp.offset > 0;
    const unsigned moved = find_moved(log, path);
    return is_popped && moved != USPI_NO_REGISTER ? uspi_in_register(moved, 0) : in_slot(log, start, 0);
}

/* Returns where the return address is if calls leave it in the link register. */
static struct uspi_location linked_return_address(const struct uspi_log *log, const struct uspi_path *path,
                                                  struct uspi_location start) {
    const struct uspi_backend *b = log->backend;
    const struct uspi_value sp = uspi_register_value(log, path, b->sp);
    const unsigned moved = find_moved(log, path);
    int32_t slot = 0;
    bool in_register = uspi_is_address(uspi_register_value(log, path, b->lr), b->lr, 0);
    bool in_memory = uspi_find_saved(log, path, b->lr, &slot);
    /* The register and a slot both have the return address. If the slot is not below sp, the function will return to
     * the slot's copy, and may use the register for anything. */
    bool is_below = sp.kind == USPI_ADDRESS && sp.base == b->sp && slot < sp.offset;
    if (in_memory && in_register) in_memory = !is_below;
    if (in_memory) return in_slot(log, start, slot);
    if (in_register) return uspi_in_register(b->lr, 0);
    if (moved != USPI_NO_REGISTER) return uspi_in_register(moved, 0);
    return (struct uspi_location){.kind = USPI_LOST};
}

/* Returns where a register was saved below a realigned stack pointer. The distance from the stack pointer at the
 * function's start is unknown there, so the location is relative to a register of the frame. */
static struct uspi_location saved_below(const struct uspi_log *log, const struct uspi_path *path, unsigned reg) {
    int32_t slot, below = 0;
    const unsigned anchor = find_anchor(log, path, USPI_BASE_ALIGNED, &below);
    if (anchor == USPI_NO_REGISTER || !uspi_find_saved_from(log, path, USPI_BASE_ALIGNED, reg, &slot)) {
        return (struct uspi_location){.kind = USPI_LOST};
    }
    return uspi_in_memory(anchor, (int32_t)((int64_t)slot - below));
}

/* Whether a slot is in the part of the stack that is in use. */
static bool is_in_use(const struct uspi_log *log, const struct uspi_path *path, int32_t slot) {
    const struct uspi_value sp = uspi_register_value(log, path, log->backend->sp);
    return sp.kind != USPI_ADDRESS || sp.base != log->backend->sp || slot >= sp.offset;
}

bool uspi_rule_at_goal(const struct uspi_log *log, const struct uspi_path *path, struct uspi_rule *rule) {
    const struct uspi_backend *b = log->backend;
    const struct uspi_location start = find_start(log, path);
    int32_t slot;
    memset(rule, 0, sizeof *rule);
    if (start.kind == USPI_LOST) return false;
    rule->cfa = start;
    *(start.kind == USPI_REGISTER ? &rule->cfa.offset : &rule->cfa.addend) += (int32_t)b->call_push;
    rule->return_address =
        b->lr == USPI_NO_REGISTER ? pushed_return_address(log, path, start) : linked_return_address(log, path, start);
    if (rule->return_address.kind == USPI_LOST) return false;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0) continue;
        /* A function saves a register that it will change. It may have done that on the way here, in a loop that this
         * path has not been through. */
        const bool is_saved = uspi_find_saved(log, path, reg, &slot);
        const bool is_same = uspi_is_address(uspi_register_value(log, path, reg), reg, 0);
        if (is_same && !(is_saved && is_in_use(log, path, slot))) continue;
        if (is_saved) {
            uspi_rule_add(rule, reg, in_slot(log, start, slot));
        } else {
            uspi_rule_add(rule, reg, saved_below(log, path, reg));
        }
    }
    return true;
}
