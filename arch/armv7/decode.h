/* SPDX-License-Identifier: MIT */
/* Declares what the decoders of the ARM (A32) and Thumb (T32) instruction sets share: results of data processing,
 * memory transfers, and the coprocessor space, which both encode alike. Source of every encoding: Arm Architecture
 * Reference Manual, ARMv7-A/R edition (DDI 0406C), chapters A5 to A8. For ARMv8's additions to AArch32: DDI 0487,
 * chapter F3; armv7 programs use these in libraries that choose code at run time. */
#ifndef USPI_ARCH_ARMV7_DECODE_H
#define USPI_ARCH_ARMV7_DECODE_H

#include "arch/backend.h"

enum { USPI_ARM_SP = 13, USPI_ARM_LR = 14, USPI_ARM_PC = 15 };

#define USPI_ARM_COND_ALWAYS 14u

/* The instruction to decode, and its position. */
struct uspi_arm_code {
    const uint8_t *bytes;
    size_t n;
    uint32_t pc;   /* the value that the instruction reads from r15: its address + 8, in Thumb + 4 */
    uint32_t mode; /* mode of a branch target in the same instruction set: 0 or USPI_MODE_THUMB */
};

/* The data-processing operations whose results can be described. */
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
    uint8_t size; /* in bytes: 1, 2, 4; 8: two words, reg and second */
    uint8_t reg;
    uint8_t second;
    uint8_t base;
    int32_t offset; /* in bytes; unused in register forms */
};

/* Returns bits high … low of a word. */
static inline uint32_t uspi_arm_bits(uint32_t word, unsigned high, unsigned low) {
    return word >> low & (UINT32_MAX >> (31 - (high - low)));
}

static inline unsigned uspi_arm_count(unsigned list) {
    unsigned count = 0;
    for (; list; list &= list - 1) count++;
    return count;
}

/* The instruction writes an unknown value to reg; a write to pc is a jump. */
void uspi_arm_unknown(struct uspi_instruction *out, unsigned reg);

/* Does what uspi_arm_unknown does, for an instruction that must not write pc; false if it would. */
bool uspi_arm_plain(struct uspi_instruction *out, unsigned reg);

/* The instruction always jumps to target. */
void uspi_arm_jump(struct uspi_instruction *out, uint32_t target, uint32_t mode);

/* The instruction jumps to the address in reg (bx, mov pc). */
void uspi_arm_jump_register(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg);

/* The instruction calls target; 0: unknown. */
void uspi_arm_call(struct uspi_instruction *out, uint32_t target, uint32_t mode);

/* The instruction sets reg to a constant; if reg is pc, it jumps there. The effect's value is sign-extended, because a
 * large constant that is added to a stack pointer in 64 bits means "minus". */
void uspi_arm_constant(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg, uint32_t value);

/* The instruction computes reg = first OP immediate; USPI_ARM_MOVE and USPI_ARM_NOT use only the immediate. If first is
 * pc, its value is rounded down to a word, as for adr. */
void uspi_arm_result(struct uspi_instruction *out, const struct uspi_arm_code *code, enum uspi_arm_operation operation,
                     unsigned reg, unsigned first, uint32_t immediate);

/* Registers of a data-processing operation: reg = first OP second. */
struct uspi_arm_operands {
    unsigned reg, first, second;
    bool shifted; /* second is shifted or rotated before the operation */
};

/* Does what uspi_arm_result does, with a register instead of the immediate. */
void uspi_arm_result_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                              enum uspi_arm_operation operation, struct uspi_arm_operands operands);

/* The instruction is a transfer with an immediate offset. */
void uspi_arm_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code,
                       const struct uspi_arm_transfer *transfer);

/* The instruction is a transfer with a register offset, which is shifted first if `shifted`, and subtracted if
 * `subtract`. */
void uspi_arm_transfer_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                                const struct uspi_arm_transfer *transfer, unsigned index, bool shifted, bool subtract);

/* ldm, stm, push, pop: transfers the registers in list, lowest first, from [base + offset] upwards. With write_back,
 * base becomes base + change. */
struct uspi_arm_multiple {
    bool load;
    bool write_back;
    unsigned base;
    unsigned list;
    int32_t offset, change;
};

void uspi_arm_multiple(struct uspi_instruction *out, struct uspi_arm_multiple transfer);

/* The instruction overwrites `size` bytes at [base + offset] with something unknown. A store narrower than a word is
 * reported for the words that it touches, counted from base: sp and frame pointers are aligned to words. vstm can store
 * up to 32 words, more than there are effects. The excess words are left out; no compiler uses vstm on a saved
 * register's slot. */
void uspi_arm_store_unknown(struct uspi_instruction *out, unsigned base, int32_t offset, uint32_t size);

/* Describes an instruction of the coprocessor space with VFP, in the ARM set's encoding (bits 27:25 are 110, or 27:24
 * are 1110). Thumb's encoding differs only in bits 31:28, which are 1110 or 1111. False: undefined. */
bool uspi_arm_coprocessor(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t word);

/* Describes an Advanced SIMD element or structure load or store. Only bits 23:0 are used, which both sets encode alike.
 * False: undefined. */
bool uspi_arm_structures(struct uspi_instruction *out, uint32_t word);

/* Decode an instruction of the two sets. The caller has zeroed *out except for target_register (USPI_NO_REGISTER),
 * length, mode and target_mode, which it has set as for a 4-byte instruction outside IT blocks. They return false as
 * uspi_backend.decode does. */
bool uspi_arm_decode_arm(const struct uspi_arm_code *code, struct uspi_instruction *out);
bool uspi_arm_decode_thumb(const struct uspi_arm_code *code, uint32_t it_state, struct uspi_instruction *out);

#endif
