/* SPDX-License-Identifier: MIT */
/* Functions with which decode.c and writes.c describe a parsed instruction. All of them add to `out`. */
#ifndef USPI_ARCH_X86_64_DESCRIBE_H
#define USPI_ARCH_X86_64_DESCRIBE_H

#include "arch/x86_64/parse.h"

/* Adds the registers that the instruction overwrites with something unknown to the clobbers of `out`. False: the
 * instruction needs another description, and nothing was added. */
bool uspi_x86_describe_writes(const struct uspi_x86_code *c, struct uspi_instruction *out);

static inline uint8_t dwarf(const struct uspi_x86_code *c, unsigned reg) {
    return reg == NONE ? NONE : c->mode->dwarf[reg & 15];
}

static inline void clobber(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg) {
    out->clobbers |= UINT64_C(1) << dwarf(c, reg);
}

/* Returns the register that contains a byte operand: without REX, 4 to 7 are ah, ch, dh and bh. */
static inline unsigned byte_register(const struct uspi_x86_code *c, unsigned reg) {
    return c->rex == 0 ? reg & 3 : reg;
}

static inline void clobber_rm(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->mod == 3) clobber(c, out, c->rm);
}

static inline void clobber_rm_byte(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->mod == 3) clobber(c, out, byte_register(c, c->rm));
}

static inline struct uspi_effect *effect(const struct uspi_x86_code *c, struct uspi_instruction *out, uint8_t op,
                                         unsigned reg, unsigned base, int64_t value) {
    return uspi_add_effect(out, op, dwarf(c, reg), dwarf(c, base), value);
}

/* Returns whether rm is memory at a register plus a displacement, which an effect can describe. */
static inline bool is_plain_memory(const struct uspi_x86_code *c) {
    return c->mod != 3 && c->base != NONE && c->index == NONE && !c->segment && !c->address_cut;
}

/* Stores a full operand to rm if that is memory (reg NONE: something unknown). Leaves out stores whose width is not a
 * word, and stores to an address that no effect can describe. */
static inline void store(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg) {
    if (c->size == c->mode->word && is_plain_memory(c)) effect(c, out, USPI_STORE, reg, c->base, c->displacement);
}

/* Overwrites rm, register or memory, with something unknown. */
static inline void overwrite_rm(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    clobber_rm(c, out);
    store(c, out, NONE);
}

#endif
