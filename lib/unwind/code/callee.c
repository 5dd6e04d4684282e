/* SPDX-License-Identifier: MIT */
/* See callee.h. */
#include "lib/unwind/code/callee.h"

/* Maximum number of instructions of a callee that certainly returns. */
#define SOON_MAX 4

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

/* Finds how many bytes of arguments a callee removes from the stack, from its first return instruction: compilers give
 * all returns of a function the same operand. Returns false, with *popped 0, when it is not known (the callee is a
 * linkage table's entry, or 0). */
static bool find_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, unsigned *budget, int64_t *popped) {
    struct uspi_instruction i;
    int64_t rise;
    *popped = 0;
    for (unsigned n = 0; n < USPI_CALLEE_MAX && *budget > 0 && callee != 0; n++, --*budget) {
        if (!uspi_code_decode(code, callee, mode, &i) || i.flow == USPI_JUMP_UNKNOWN) return false;
        if (i.flow == USPI_RETURN) {
            if (find_rise(code->backend, &i, &rise)) *popped = rise - code->backend->call_push;
            return true;
        }
        /* A jump back closes a loop, whose exit leads to the code after the jump. So the jump is not followed. */
        const bool jumps = i.flow == USPI_JUMP && i.target > callee;
        callee = jumps ? i.target : callee + i.length;
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

int64_t uspi_code_popped(struct uspi_code *code, usp_addr callee, uint32_t mode, usp_addr next, unsigned *budget) {
    int64_t popped;
    return find_popped(code, callee, mode, budget, &popped) ? popped : taken_again(code, next, mode);
}
