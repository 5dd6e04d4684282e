/* SPDX-License-Identifier: MIT */
/* What the decoders of the ARM (A32) and Thumb (T32) instruction sets share: results of data processing, memory
 * transfers and the coprocessor space, which both encode alike. Not here: anything that only one of them knows.
 * Source of every encoding: Arm Architecture Reference Manual, ARMv7-A/R edition (DDI 0406C), chapters A5 to A8, and
 * for what ARMv8 adds to AArch32 (DDI 0487) chapter F3: armv7 programs meet it in libraries that choose at run time. */
#ifndef USPI_ARMV7_DECODE_H
#define USPI_ARMV7_DECODE_H

#include "arch/backend.h"

enum { USPI_ARM_SP = 13, USPI_ARM_LR = 14, USPI_ARM_PC = 15 };

#define USPI_ARM_COND_ALWAYS 14u

/* The instruction that is decoded, and where it stands. */
struct uspi_arm_code {
    const uint8_t *bytes;
    size_t n;
    uint32_t pc;   /* what the instruction reads from r15: its address + 8, Thumb + 4 */
    uint32_t mode; /* of a branch target in the same instruction set: 0 or USPI_MODE_THUMB */
};

/* A data-processing operation, as far as its result can be known. */
enum uspi_arm_operation {
    USPI_ARM_OTHER = 0, /* the result is unknown */
    USPI_ARM_MOVE,
    USPI_ARM_NOT,
    USPI_ARM_ADD,
    USPI_ARM_SUBTRACT
};

/* A load or store of one or two registers at [base + offset] or, post-indexed, at [base]. */
struct uspi_arm_transfer {
    bool load;
    bool post_indexed;
    bool write_back;
    uint8_t size; /* bytes: 1, 2, 4; 8 is two words, reg and second */
    uint8_t reg;
    uint8_t second;
    uint8_t base;
    int32_t offset; /* in bytes; of register forms meaningless */
};

/* Bits high … low of word. */
static inline uint32_t uspi_arm_bits(uint32_t word, unsigned high, unsigned low) {
    return word >> low & (UINT32_MAX >> (31 - (high - low)));
}

static inline unsigned uspi_arm_count(unsigned list) {
    unsigned count = 0;
    for (; list; list &= list - 1) count++;
    return count;
}

/* The instruction writes reg, with a value that is not described; a write to pc is a jump. */
void uspi_arm_unknown(struct uspi_instruction *out, unsigned reg);

/* The same for an instruction that must not write pc: false if it would. */
bool uspi_arm_plain(struct uspi_instruction *out, unsigned reg);

/* It goes to target, always. */
void uspi_arm_jump(struct uspi_instruction *out, uint32_t target, uint32_t mode);

/* It goes to the address in reg (bx, mov pc). */
void uspi_arm_jump_register(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg);

/* It calls; target 0: not known from the instruction. */
void uspi_arm_call(struct uspi_instruction *out, uint32_t target, uint32_t mode);

/* reg becomes a constant; pc: a jump there. The effect's value is sign-extended: added to a stack pointer in 64 bits, a
 * large one means "minus". */
void uspi_arm_constant(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg, uint32_t value);

/* reg = first OP immediate (USPI_ARM_MOVE, USPI_ARM_NOT: of the immediate alone). A first of pc counts from the word
 * that the pc lies in, as adr does. */
void uspi_arm_result(struct uspi_instruction *out, const struct uspi_arm_code *code, enum uspi_arm_operation operation,
                     unsigned reg, unsigned first, uint32_t immediate);

/* Registers of a data-processing operation: reg = first OP second. */
struct uspi_arm_operands {
    unsigned reg, first, second;
    bool shifted; /* second is shifted or rotated first */
};

/* The same with a register in place of the immediate. */
void uspi_arm_result_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                              enum uspi_arm_operation operation, struct uspi_arm_operands operands);

/* A transfer with an immediate offset. */
void uspi_arm_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code,
                       const struct uspi_arm_transfer *transfer);

/* A transfer with a register offset, which is added or, with subtract, subtracted; shifted: after a shift. */
void uspi_arm_transfer_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                                const struct uspi_arm_transfer *transfer, unsigned index, bool shifted, bool subtract);

/* ldm, stm, push, pop: the registers in list, lowest first, from [base + offset] upwards; with write_back base becomes
 * base + change. */
struct uspi_arm_multiple {
    bool load;
    bool write_back;
    unsigned base;
    unsigned list;
    int32_t offset, change;
};

void uspi_arm_multiple(struct uspi_instruction *out, struct uspi_arm_multiple transfer);

/* `size` bytes of memory at [base + offset] become unknown. A store that is narrower than a word is reported for the
 * words that it lies in, reckoned from base: sp and frame pointers are aligned to words. vstm can store up to 32 words,
 * more than the effects hold; no compiler aims those at a saved register's slot, and they are left out. */
void uspi_arm_store_unknown(struct uspi_instruction *out, unsigned base, int32_t offset, uint32_t size);

/* The coprocessor space with VFP, as the ARM set encodes it (bits 27:25 are 110, or 27:24 are 1110); Thumb's encoding
 * of the same has 1110 or 1111 in bits 31:28. False: undefined. */
bool uspi_arm_coprocessor(struct uspi_instruction *out, uint32_t word);

/* Advanced SIMD element and structure loads and stores; both sets agree in bits 23:0, which alone are looked at.
 * False: undefined. */
bool uspi_arm_structures(struct uspi_instruction *out, uint32_t word);

/* The two instruction sets. *out is zeroed, with target_register USPI_NO_REGISTER, length, mode and target_mode as for
 * a 4-byte instruction outside IT blocks; false as uspi_backend.decode says. */
bool uspi_arm_decode_arm(const struct uspi_arm_code *code, struct uspi_instruction *out);
bool uspi_arm_decode_thumb(const struct uspi_arm_code *code, uint32_t it_state, struct uspi_instruction *out);

#endif
