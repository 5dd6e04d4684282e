/* SPDX-License-Identifier: MIT */
/* Helpers of decode.c and memory.c: fields of the instruction word, and functions that add effects. */
#ifndef USPI_ARCH_ARM64_FIELDS_H
#define USPI_ARCH_ARM64_FIELDS_H

#include "arch/arm64/decode.h"

/* Register 31 is the zero register, or sp where the manual says <Xd|SP>. */
#define ZERO_REGISTER 31u
#define SP            USPI_ARM64_SP
#define FP            USPI_ARM64_FP
#define LR            USPI_ARM64_LR

struct decoding {
    uint32_t word;
    bool ilp32; /* arm64_32: pointers are the low halves of registers */
    usp_addr pc;
    struct uspi_instruction *out;
};

/* Returns bits low … low + count − 1. */
static inline unsigned bits(const struct decoding *d, unsigned low, unsigned count) {
    return (d->word >> low) & ((1u << count) - 1);
}

static inline bool bit(const struct decoding *d, unsigned n) { return bits(d, n, 1) != 0; }

static inline int64_t signed_bits(const struct decoding *d, unsigned low, unsigned count) {
    return uspi_sign_extend(bits(d, low, count), count);
}

/* Fields that nearly every group has in the same place. */
static inline unsigned rd(const struct decoding *d) { return bits(d, 0, 5); }
static inline unsigned rt(const struct decoding *d) { return bits(d, 0, 5); }
static inline unsigned rn(const struct decoding *d) { return bits(d, 5, 5); }
static inline unsigned rt2(const struct decoding *d) { return bits(d, 10, 5); }
static inline unsigned rm(const struct decoding *d) { return bits(d, 16, 5); }

static inline usp_addr address(const struct decoding *d, usp_addr a) { return d->ilp32 ? a & UINT32_MAX : a; }

/* Returns whether `bytes` bytes of a register can contain a whole pointer, so that arithmetic on them is described. */
static inline bool holds_pointer(const struct decoding *d, unsigned bytes) {
    return bytes == 8 || (d->ilp32 && bytes == 4);
}

/* Returns whether the instruction's operands can contain a pointer: bit 31 selects x or w registers. */
static inline bool pointer_sized(const struct decoding *d) { return holds_pointer(d, bit(d, 31) ? 8 : 4); }

/* ---- effects on registers ---- */

static inline void clobber_or_sp(struct decoding *d, unsigned reg) { d->out->clobbers |= UINT64_C(1) << reg; }

static inline void clobber(struct decoding *d, unsigned reg) {
    if (reg != ZERO_REGISTER) clobber_or_sp(d, reg);
}

static inline void set_sum(struct decoding *d, unsigned reg, unsigned base, int64_t value) {
    uspi_add_effect(d->out, USPI_SET, reg, base, value);
}

static inline void set_constant(struct decoding *d, unsigned reg, uint64_t value) {
    if (reg != ZERO_REGISTER) uspi_add_effect(d->out, USPI_SET, reg, USPI_NO_REGISTER, (int64_t)value);
}

/* The register is signed, authenticated or stripped: without its signature it is the same pointer. */
static inline void same_pointer(struct decoding *d, unsigned reg) { set_sum(d, reg, reg, 0); }

/* reg = base ± index; reg and base 31 are sp, index 31 is zero. */
static inline void set_two_registers(struct decoding *d, unsigned reg, unsigned base, unsigned index, bool subtract) {
    if (index == ZERO_REGISTER)
        set_sum(d, reg, base, 0);
    else
        uspi_add_effect(d->out, subtract ? USPI_SUBTRACT : USPI_ADD, reg, base, 0)->index = (uint8_t)index;
}

/* Describes an instruction of the manual's group "Loads and Stores". False: not an instruction. */
bool uspi_arm64_loads_and_stores(struct decoding *d);

#endif
