/* SPDX-License-Identifier: MIT */
/* See queries.h. */
#include "lib/unwind/code/queries.h"
#include "lib/unwind/code/carry.h"

/* Maximum number of instructions of a prologue that are decoded from the pc on. */
#define PROLOGUE_MAX 24

/* Maximum number of instructions of outlined code, which several functions share. */
#define OUTLINED_MAX 64

/* Maximum numbers of instructions of a callee that certainly returns, and after a call until its arguments are
 * removed. */
#define SOON_MAX      4
#define ARGUMENTS_MAX 16

bool uspi_code_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg) {
    usp_addr pc = registers->value[code->backend->pc];
    struct uspi_instruction i;
    for (unsigned n = 0; n < OUTLINED_MAX && uspi_code_decode(code, pc, mode, &i); n++) {
        if ((uspi_written_by(&i) >> reg & 1) != 0 || i.conditional != 0) return false;
        if (i.flow == USPI_RETURN) return true;
        if (i.flow != USPI_NEXT && i.flow != USPI_JUMP) return false;
        pc = i.flow == USPI_JUMP ? i.target : pc + i.length;
        mode = i.flow == USPI_JUMP ? i.target_mode : i.mode;
    }
    return false;
}

/* Whether an effect stores to the slot. */
static bool stores_to(const struct uspi_explorer *x, const struct uspi_way *way, const struct usp_registers *registers,
                      const struct uspi_effect *e, usp_addr slot) {
    if (e->op != USPI_STORE || e->base == USPI_NO_REGISTER) return false;
    struct uspi_value at = uspi_plus(&x->log, uspi_register_value(&x->log, way, e->base), e->value);
    return at.kind == USPI_ADDRESS && registers->value[at.base] + (usp_addr)(int64_t)at.offset == slot;
}

bool uspi_code_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot, uint32_t mode,
                          unsigned *reg) {
    const struct uspi_backend *b = code->backend;
    struct uspi_explorer x;
    struct uspi_way way = {.pc = registers->value[b->pc], .mode = mode, .newest = USPI_LOG_ROOT};
    struct uspi_instruction i;
    x.code = code;
    x.backend = x.log.backend = b;
    x.log.count = x.log.shared = 0;
    for (unsigned n = 0; n < PROLOGUE_MAX && uspi_code_decode(code, way.pc, way.mode, &i); n++) {
        if (i.conditional != 0) return false;
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (stores_to(&x, &way, registers, e, slot)) {
                struct uspi_value v = uspi_unknown;
                if (e->reg != USPI_NO_REGISTER) v = uspi_register_value(&x.log, &way, e->reg);
                *reg = v.kind == USPI_ADDRESS && v.offset == 0 ? v.base : USPI_NO_REGISTER;
                return true;
            }
            if (!uspi_carry_effect(&x, &way, e)) return false;
        }
        way.unknown |= i.clobbers;
        if (i.flow != USPI_NEXT) return false;
        way.pc += i.length;
        way.mode = i.mode;
    }
    return false;
}

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

bool uspi_code_removes_arguments(struct uspi_code *code, usp_addr behind, uint32_t mode, int64_t most) {
    const struct uspi_backend *b = code->backend;
    struct uspi_instruction i;
    int64_t rise, raised = 0;
    for (unsigned n = 0; n < ARGUMENTS_MAX && uspi_code_decode(code, behind, mode, &i); n++) {
        if (i.flow != USPI_NEXT && i.flow != USPI_CALL) return false;
        /* Only the frame pointer gives sp another base, and the arguments are below it. */
        if (!find_rise(b, &i, &rise)) return true;
        /* An epilogue pops into such a register; arguments are popped into others. */
        if (rise > 0 && restores_register(b, &i)) return false;
        raised += rise;
        if (raised > 0) return raised <= most;
        behind += i.length;
        mode = i.mode;
    }
    return false;
}
