/* SPDX-License-Identifier: MIT */
/* See queries.h. */
#include "lib/unwind/code/queries.h"
#include "lib/unwind/code/carry.h"

/* Maximum number of instructions of a prologue that are decoded from the pc on. */
#define PROLOGUE_MAX 24

/* Maximum number of instructions of outlined code, which several functions share. */
#define OUTLINED_MAX 64

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
static bool stores_to(const struct uspi_explorer *x, const struct uspi_path *path,
                      const struct usp_registers *registers, const struct uspi_effect *e, usp_addr slot) {
    if (e->op != USPI_STORE || e->base == USPI_NO_REGISTER) return false;
    struct uspi_value at = uspi_plus(&x->log, uspi_register_value(&x->log, path, e->base), e->value);
    return at.kind == USPI_ADDRESS && registers->value[at.base] + (usp_addr)(int64_t)at.offset == slot;
}

bool uspi_code_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot, uint32_t mode,
                          unsigned *reg) {
    const struct uspi_backend *b = code->backend;
    struct uspi_explorer x;
    struct uspi_path path = {.pc = registers->value[b->pc], .mode = mode, .newest = USPI_LOG_ROOT};
    struct uspi_instruction i;
    x.code = code;
    x.backend = x.log.backend = b;
    x.log.count = x.log.shared = 0;
    for (unsigned n = 0; n < PROLOGUE_MAX && uspi_code_decode(code, path.pc, path.mode, &i); n++) {
        if (i.conditional != 0) return false;
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (stores_to(&x, &path, registers, e, slot)) {
                struct uspi_value v = uspi_unknown;
                if (e->reg != USPI_NO_REGISTER) v = uspi_register_value(&x.log, &path, e->reg);
                *reg = v.kind == USPI_ADDRESS && v.offset == 0 ? v.base : USPI_NO_REGISTER;
                return true;
            }
            if (!uspi_carry_effect(&x, &path, e)) return false;
        }
        path.unknown |= i.clobbers;
        if (i.flow != USPI_NEXT) return false;
        path.pc += i.length;
        path.mode = i.mode;
    }
    return false;
}
