/* SPDX-License-Identifier: MIT */
/* See state.h. */
#include "lib/unwind/code/state.h"

/* ---- values ---- */

struct uspi_value uspi_address(unsigned base, int64_t offset) {
    if (offset != (int32_t)offset) return uspi_unknown;
    return (struct uspi_value){.kind = USPI_ADDRESS, .base = (uint8_t)base, .offset = (int32_t)offset};
}

struct uspi_value uspi_constant(int64_t v) {
    return (struct uspi_value){.kind = USPI_CONSTANT, .offset = (int32_t)(uint32_t)v, .addend = (int32_t)(v >> 32)};
}

int64_t uspi_constant_of(struct uspi_value v) {
    return (int64_t)((uint64_t)(uint32_t)v.addend << 32 | (uint32_t)v.offset);
}

usp_addr uspi_constant_address(const struct uspi_log *log, struct uspi_value v) {
    return (usp_addr)uspi_constant_of(v) & log->backend->word_mask;
}

int64_t uspi_wrapped(const struct uspi_log *log, int64_t n) {
    return log->backend->slot == 4 ? uspi_sign_extend((uint64_t)n, 32) : n;
}

struct uspi_value uspi_plus(const struct uspi_log *log, struct uspi_value v, int64_t n) {
    n = uspi_wrapped(log, n);
    switch (v.kind) {
    case USPI_ADDRESS: return uspi_address(v.base, v.offset + n);
    case USPI_CONTENT:
        if (v.addend + n != (int32_t)(v.addend + n)) return uspi_unknown;
        v.addend = (int32_t)(v.addend + n);
        return v;
    case USPI_CONSTANT: return uspi_constant(uspi_wrapped(log, (int64_t)((uint64_t)uspi_constant_of(v) + (uint64_t)n)));
    default: return n == 0 ? v : uspi_unknown;
    }
}

static bool is_same(struct uspi_value a, struct uspi_value b) {
    return a.kind == b.kind && a.base == b.base && a.offset == b.offset && a.addend == b.addend;
}

bool uspi_is_restored(const struct uspi_log *log, unsigned reg) {
    const struct uspi_backend *b = log->backend;
    return reg == b->sp || reg == b->lr || (reg < b->register_count && (b->callee_saved >> reg & 1) != 0);
}

/* ---- the log ---- */

static bool find_value(const struct uspi_log *log, uint8_t newest, uint8_t where, int32_t slot, struct uspi_value *v) {
    for (uint8_t i = newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry *e = &log->entries[i];
        if (e->where == where && e->slot == slot) {
            *v = e->value;
            return true;
        }
    }
    return false;
}

/* Assigns a value to a register or slot. Overwrites the path's own entry for it if no pending path uses that entry, and
 * otherwise adds one. Returns false when the log is full. */
static bool assign(struct uspi_log *log, struct uspi_path *path, uint8_t where, int32_t slot, struct uspi_value v) {
    for (uint8_t i = path->newest; i != USPI_LOG_ROOT && i >= log->shared; i = log->entries[i].previous) {
        struct uspi_log_entry *e = &log->entries[i];
        if (e->where == where && e->slot == slot) {
            e->value = v;
            return true;
        }
    }
    if (log->count == USPI_LOG_MAX) return false;
    log->entries[log->count] = (struct uspi_log_entry){v, slot, where, path->newest};
    path->newest = (uint8_t)log->count++;
    return true;
}

static struct uspi_value logged_value(const struct uspi_log *log, const struct uspi_path *path, unsigned reg) {
    struct uspi_value v;
    return find_value(log, path->newest, (uint8_t)reg, 0, &v) ? v : uspi_address(reg, 0);
}

struct uspi_value uspi_register_value(const struct uspi_log *log, const struct uspi_path *path, unsigned reg) {
    bool is_unknown = reg < USP_REGISTERS_MAX && (path->unknown >> reg & 1) != 0;
    return is_unknown ? uspi_unknown : logged_value(log, path, reg);
}

/* Whether no return restores such a value. Returns restore words in memory at a known distance from a register,
 * addresses relative to the stack, and original values of registers. */
static bool is_of_no_frame(const struct uspi_log *log, struct uspi_value v) {
    const struct uspi_backend *b = log->backend;
    if (v.kind == USPI_CONTENT) return false;
    if (v.kind != USPI_ADDRESS) return true;
    return v.offset != 0 && v.base != b->sp && v.base != b->fp && v.base != USPI_BASE_ALIGNED;
}

/* Maximum distance of a return address from the instruction that makes it (mov lr, pc), and number of bytes that the
 * instruction before a return pops (pop {r3}; bx r3). */
#define NEAR       64u
#define POPPED_MAX 8

/* Whether no return restores this value of a register, or goes to it. Besides values of no frame these are:
 * - The address of a variable on the stack. But an epilogue may restore sp from the frame pointer, and from the value
 *   of sp, which code with arrays of variable length saves.
 * - A word in memory, in a register that calls change. But a return may go to the word at sp.
 * - A constant in the link register that is not an address nearby: ARM code computes there.
 * On x86 code restores sp from any register. */
static bool is_of_no_return(const struct uspi_log *log, const struct uspi_path *path, unsigned reg,
                            struct uspi_value v) {
    const struct uspi_backend *b = log->backend;
    if (reg == b->sp) return false;
    if (reg != b->lr && is_of_no_frame(log, v)) return true;
    if (b->lr == USPI_NO_REGISTER || reg == b->pc) return false;
    const struct uspi_value sp = uspi_register_value(log, path, b->sp);
    if (v.kind == USPI_ADDRESS) {
        const bool is_on_stack = v.base == b->sp || v.base == b->fp || v.base == USPI_BASE_ALIGNED;
        return is_on_stack && reg != b->fp && v.offset != 0 && !is_same(v, sp);
    }
    if (v.kind == USPI_CONTENT) {
        const bool is_at_sp = v.base == sp.base && v.offset <= sp.offset && v.offset >= sp.offset - POPPED_MAX;
        return reg != b->lr && (b->callee_saved >> reg & 1) == 0 && !is_at_sp;
    }
    return v.kind == USPI_CONSTANT && reg == b->lr && uspi_constant_address(log, v) - path->pc + NEAR > 2 * NEAR;
}

/* Most values that code computes do not concern the stack. An unknown value needs no log entry. Values of no return are
 * logged only in the first half of the log, because an epilogue can need them briefly: the size of a large frame, a
 * saved stack pointer. */
bool uspi_assign_register(struct uspi_log *log, struct uspi_path *path, unsigned reg, struct uspi_value v) {
    if (reg == USPI_NO_REGISTER) return true;
    const bool is_logged = is_same(logged_value(log, path, reg), v);
    const bool is_spare = log->count >= USPI_LOG_MAX / 2 && is_of_no_return(log, path, reg, v);
    if (v.kind == USPI_UNKNOWN || (is_spare && !is_logged)) {
        path->unknown |= UINT64_C(1) << reg;
        return true;
    }
    path->unknown &= ~(UINT64_C(1) << reg);
    return is_logged || assign(log, path, (uint8_t)reg, 0, v);
}

static struct uspi_value stored_value(const struct uspi_path *path) {
    if (path->stored_base == USPI_NO_REGISTER) return uspi_unknown;
    return (struct uspi_value){.kind = USPI_CONTENT, .base = path->stored_base, .offset = path->stored_offset};
}

static void remember_stored(struct uspi_path *path, struct uspi_value at, struct uspi_value v) {
    const bool is_near = at.offset == (int16_t)at.offset;
    const bool is_word = v.kind == USPI_CONTENT && v.addend == 0 && v.offset == (int16_t)v.offset;
    path->stored = is_near ? (uint8_t)(USPI_SLOT | at.base) : 0;
    path->stored_slot = (int16_t)at.offset;
    path->stored_base = is_word ? v.base : USPI_NO_REGISTER;
    path->stored_offset = (int16_t)v.offset;
}

struct uspi_value uspi_memory_value(const struct uspi_log *log, const struct uspi_path *path, struct uspi_value at) {
    struct uspi_value v = at;
    switch (at.kind) {
    case USPI_ADDRESS: break;
    case USPI_CONTENT: v.kind = USPI_NESTED; return v;
    case USPI_CONSTANT: v.kind = USPI_GLOBAL; return v;
    default: return uspi_unknown;
    }
    const uint8_t where = (uint8_t)(USPI_SLOT | at.base);
    if (find_value(log, path->newest, where, at.offset, &v)) return v;
    if (path->stored == where && path->stored_slot == at.offset) return stored_value(path);
    return (struct uspi_value){.kind = USPI_CONTENT, .base = at.base, .offset = at.offset};
}

/* Whether a store may save a register, or its value be needed by a return. The original value of a register that no
 * function preserves (the anchor of a realigned stack, an argument) counts while half of the log is free. So does, on
 * processors with a link register, what is stored beside another register than sp and fp: mostly fields of an object.
 * A stored link register always counts, also if its value is unknown: what a later return loads from the slot is this
 * value, not the word that was in the slot before. */
static bool may_be_needed(const struct uspi_log *log, struct uspi_value at, unsigned reg, struct uspi_value v) {
    const struct uspi_backend *b = log->backend;
    const bool is_half_full = log->count >= USPI_LOG_MAX / 2;
    const bool is_in_frame = at.base == b->sp || at.base == b->fp || at.base == USPI_BASE_ALIGNED;
    if (reg != USPI_NO_REGISTER && reg == b->lr) return true;
    if (is_of_no_frame(log, v) || (is_half_full && !is_in_frame && b->lr != USPI_NO_REGISTER)) return false;
    if (reg != USPI_NO_REGISTER && uspi_is_restored(log, reg)) return true;
    return v.kind == USPI_ADDRESS && (uspi_is_restored(log, v.base) || !is_half_full);
}

/* The log has no room for every spilled variable. It keeps stores that may be needed, and stores to slots that it
 * already contains. No return restores other stored values, so the path remembers only the newest such store. A return
 * may go to its value (push %eax; ret). It may also be the return address, moved from below the arguments to its place
 * (pop %rcx; lea 8(%r15), %rsp; push %rcx). */
bool uspi_assign_memory(struct uspi_log *log, struct uspi_path *path, struct uspi_value at, unsigned reg) {
    if (at.kind != USPI_ADDRESS) return true;
    uint8_t where = (uint8_t)(USPI_SLOT | at.base);
    struct uspi_value v = reg == USPI_NO_REGISTER ? uspi_unknown : uspi_register_value(log, path, reg);
    struct uspi_value kept;
    if (!may_be_needed(log, at, reg, v) && !find_value(log, path->newest, where, at.offset, &kept)) {
        remember_stored(path, at, v);
        return true;
    }
    return assign(log, path, where, at.offset, v);
}

bool uspi_forget_below(struct uspi_log *log, struct uspi_path *path, struct uspi_value old) {
    const uint8_t sp = log->backend->sp;
    const struct uspi_value now = uspi_register_value(log, path, sp);
    if (now.kind != USPI_ADDRESS || (old.kind == USPI_ADDRESS && old.base == now.base && old.offset >= now.offset)) {
        return true;
    }
    for (uint8_t i = path->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry e = log->entries[i];
        if (e.where != (USPI_SLOT | now.base) || e.value.kind == USPI_UNKNOWN || e.slot >= now.offset) continue;
        const struct uspi_value kept = uspi_memory_value(log, path, uspi_address(now.base, e.slot));
        if (kept.kind != USPI_UNKNOWN && !assign(log, path, e.where, e.slot, uspi_unknown)) return false;
    }
    return true;
}

bool uspi_find_saved_from(const struct uspi_log *log, const struct uspi_path *path, unsigned base, unsigned reg,
                          int32_t *slot) {
    for (uint8_t i = path->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry *e = &log->entries[i];
        if (e->where != (USPI_SLOT | base) || e->value.kind != USPI_ADDRESS) continue;
        if (e->value.base != reg || e->value.offset != 0) continue;
        if (uspi_is_address(uspi_memory_value(log, path, uspi_address(base, e->slot)), reg, 0)) {
            *slot = e->slot;
            return true;
        }
    }
    return false;
}

bool uspi_find_saved(const struct uspi_log *log, const struct uspi_path *path, unsigned reg, int32_t *slot) {
    return uspi_find_saved_from(log, path, log->backend->sp, reg, slot);
}

bool uspi_find_kept_sp(const struct uspi_log *log, const struct uspi_path *path, int32_t *slot, int32_t *kept) {
    const uint8_t sp = log->backend->sp;
    for (uint8_t i = path->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry *e = &log->entries[i];
        if (e->where != (USPI_SLOT | USPI_BASE_ALIGNED)) continue;
        if (e->value.kind != USPI_ADDRESS || e->value.base != sp) continue;
        struct uspi_value now = uspi_memory_value(log, path, uspi_address(USPI_BASE_ALIGNED, e->slot));
        if (now.kind != USPI_ADDRESS || now.base != sp) continue;
        *slot = e->slot;
        *kept = now.offset;
        return true;
    }
    return false;
}
