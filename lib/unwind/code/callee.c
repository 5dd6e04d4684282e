/* SPDX-License-Identifier: MIT */
/* See callee.h. */
#include "lib/unwind/code/callee.h"

/* Maximum numbers of instructions of a callee that certainly returns, and after a call until its arguments are
 * removed. */
#define SOON_MAX      4
#define ARGUMENTS_MAX 16

/* At a call, sp is a multiple of this (System V ABI, Intel386 Architecture Processor Supplement 1.1, 2.2.2). */
#define ALIGNMENT 16

/* Finds by how many bytes an instruction raises sp. Returns false when sp gets another base than sp. */
static bool find_rise(const struct uspi_backend *b, const struct uspi_instruction *i, int64_t *rise) {
    *rise = 0;
    for (unsigned k = 0; k < i->effect_count; k++) {
        const struct uspi_effect *e = &i->effects[k];
        if (e->op == USPI_STORE || e->reg != b->sp) continue;
        if (e->op != USPI_SET || e->base != b->sp) return false;
        *rise += e->value;
    }
    return true;
}

bool uspi_code_returns_soon(struct uspi_code *code, usp_addr callee, uint32_t mode, uint64_t *written) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    int64_t rise, raised = 0;
    *written = 0;
    for (unsigned n = 0; n < SOON_MAX && uspi_code_decode(code, callee, mode, &i); n++) {
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_STORE) return false;
            if (e->reg < b->register_count && e->reg != b->sp && e->reg != b->pc) *written |= UINT64_C(1) << e->reg;
        }
        *written |= i.clobbers;
        if (!find_rise(b, &i, &rise)) return false;
        raised += rise;
        if (i.flow != USPI_NEXT) return i.flow == USPI_RETURN && raised == b->call_push;
        callee += i.length;
        mode = i.mode;
    }
    return false;
}

/* Whether an instruction loads a register that a function preserves from the stack. */
static bool restores_register(const struct uspi_backend *b, const struct uspi_instruction *i) {
    for (unsigned k = 0; k < i->effect_count; k++) {
        const struct uspi_effect *e = &i->effects[k];
        if (e->op != USPI_LOAD || e->base != b->sp || e->reg >= b->register_count) continue;
        if ((b->callee_saved >> e->reg & 1) != 0) return true;
    }
    return false;
}

bool uspi_code_removes_arguments(struct uspi_code *code, usp_addr next, uint32_t mode, int64_t most) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    int64_t rise, raised = 0;
    for (unsigned n = 0; n < ARGUMENTS_MAX && uspi_code_decode(code, next, mode, &i); n++) {
        if (i.flow != USPI_NEXT && i.flow != USPI_CALL) return false;
        /* Only the frame pointer gives sp another base, and the arguments are below it. */
        if (!find_rise(b, &i, &rise)) return true;
        /* An epilogue pops into such a register; arguments are popped into others. */
        if (rise > 0 && restores_register(b, &i)) return false;
        raised += rise;
        if (raised > 0) return raised <= most;
        next += i.length;
        mode = i.mode;
    }
    return false;
}

/* ---- what callees remove ---- */

/* Maximum number of branches that are remembered. */
#define LATER_MAX 8

/* Targets of branches, in the order in which they were met. Each is taken once. */
struct later {
    unsigned count;
    struct {
        usp_addr target;
        bool is_taken;
    } branches[LATER_MAX];
};

static void remember_branch(struct later *later, usp_addr target) {
    for (unsigned i = 0; i < later->count; i++) {
        if (later->branches[i].target == target) return;
    }
    if (later->count == LATER_MAX) {
        memmove(&later->branches[0], &later->branches[1], (LATER_MAX - 1) * sizeof later->branches[0]);
        later->count--;
    }
    later->branches[later->count].target = target;
    later->branches[later->count++].is_taken = false;
}

/* Takes the newest target that is not in the code from `low` to `high`, which has just been decoded. Returns 0 if there
 * is none. */
static usp_addr take_branch(struct later *later, usp_addr low, usp_addr high) {
    for (unsigned i = later->count; i-- > 0;) {
        const usp_addr target = later->branches[i].target;
        if (later->branches[i].is_taken || (target >= low && target <= high)) continue;
        later->branches[i].is_taken = true;
        return target;
    }
    return 0;
}

/* Finds how many bytes of arguments a callee removes from the stack, from its first return instruction: compilers give
 * all returns of a function the same operand. Returns false, with *popped 0, when it is not known (the callee is a
 * linkage table's entry, or 0). */
static bool find_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, unsigned *budget, int64_t *popped) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    struct later later = {.count = 0};
    const usp_addr start = callee;
    usp_addr low = callee;
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
        callee = ends ? take_branch(&later, low, callee) : jumps ? i.target : callee + i.length;
        if (ends || jumps) low = callee;
        mode = jumps ? i.target_mode : i.mode;
    }
    return false;
}

/* Returns how many bytes the instruction after a call subtracts from sp, for a callee that is not known. Without
 * optimization, clang keeps stack space reserved for arguments. After a callee has removed its arguments, the caller
 * reserves the space again. */
static int64_t taken_again(struct uspi_code *code, usp_addr next, uint32_t mode) {
    const uint8_t sp = code->backend->sp;
    struct uspi_instruction i;
    if (!uspi_code_decode(code, next, mode, &i) || i.effect_count != 1) return 0;
    const struct uspi_effect *e = &i.effects[0];
    return e->op == USPI_SET && e->reg == sp && e->base == sp && e->value < 0 ? -e->value : 0;
}

/* Whether a call only obtains the code's address. The stack pointer need not be aligned there. */
static bool reads_pc(struct uspi_code *code, const struct uspi_instruction *call) {
    uint64_t written;
    return call->target != 0 && uspi_code_returns_soon(code, call->target, call->target_mode, &written);
}

/* Finds by how much sp moves from the instruction after a call to the next call, along straight-line code, or until a
 * return has popped its address: to where the caller's call was. */
static bool find_moved(struct uspi_code *code, usp_addr pc, uint32_t mode, unsigned *budget, int64_t *moved) {
    struct uspi_instruction i;
    int64_t rise;
    *moved = 0;
    for (; *budget > 0 && uspi_code_decode(code, pc, mode, &i); --*budget) {
        if (i.flow == USPI_CALL && !reads_pc(code, &i)) return true;
        if (i.flow == USPI_RETURN) {
            *moved += code->backend->call_push;
            return true;
        }
        const bool jumps = i.flow == USPI_JUMP;
        if (i.flow != USPI_NEXT && i.flow != USPI_CALL && i.flow != USPI_BRANCH && !jumps) return false;
        if (!find_rise(code->backend, &i, &rise)) return false;
        *moved += rise;
        pc = jumps ? i.target : pc + i.length;
        mode = jumps ? i.target_mode : i.mode;
    }
    return false;
}

int64_t uspi_code_popped_before(struct uspi_code *code, usp_addr next, uint32_t mode, unsigned *budget) {
    const int64_t again = taken_again(code, next, mode), address = code->backend->word;
    int64_t moved;
    if (!find_moved(code, next, mode, budget, &moved) || (moved + again) % ALIGNMENT == 0) return again;
    if (moved % ALIGNMENT == 0) return 0;
    return (moved + address) % ALIGNMENT == 0 ? address : again;
}

/* Takes at most `most` instructions from a budget. What is left of them is added to it again. */
static unsigned borrow(unsigned *budget, unsigned most) {
    const unsigned borrowed = *budget < most ? *budget : most;
    *budget -= borrowed;
    return borrowed;
}

int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr next, unsigned *budget) {
    int64_t popped;
    unsigned borrowed = borrow(budget, USPI_CALLEE_MAX);
    const bool is_known = find_popped(code, callee, mode, &borrowed, &popped);
    *budget += borrowed;
    if (is_known || next == 0) return popped;
    borrowed = borrow(budget, USPI_NEXT_CALL_MAX);
    popped = uspi_code_popped_before(code, next, mode, &borrowed);
    *budget += borrowed;
    return popped;
}
