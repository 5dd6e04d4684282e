/* SPDX-License-Identifier: MIT */
/* Parses an x86 instruction into prefixes, opcode, operands and immediate. decode.c and writes.c describe its
 * effects. */
#ifndef USPI_ARCH_X86_64_PARSE_H
#define USPI_ARCH_X86_64_PARSE_H

#include "arch/x86_64/decode.h"

/* Registers by their numbers in instructions; only those that the decoder names. */
enum { AX, CX, DX, BX, SP, BP, SI, DI, R11 = 11 };

#define NONE USPI_NO_REGISTER

/* 64- or 32-bit mode. */
struct uspi_x86_mode {
    uint8_t word; /* size in bytes */
    uint8_t pc;   /* DWARF number */
    usp_addr mask;
    uint8_t dwarf[16]; /* DWARF numbers by the instructions' numbers */
};

enum uspi_x86_encoding { LEGACY, VEX, EVEX, XOP };

/* Bits of a REX prefix; the other encodings carry the same four. */
enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

/* Opcode maps, numbered as VEX, EVEX and XOP number them; 1 to 3 are the legacy maps as well. */
enum {
    MAP_ONE_BYTE = 0,
    MAP_0F = 1,
    MAP_0F38 = 2,
    MAP_0F3A = 3,
    MAP_5 = 5,
    MAP_6 = 6,
    MAP_7 = 7,
    XOP_8 = 8,
    XOP_9 = 9,
    XOP_A = 10
};

struct uspi_x86_code {
    const struct uspi_x86_mode *mode;
    bool wide; /* true in 64-bit mode */
    usp_addr pc;
    const uint8_t *bytes;
    unsigned limit; /* number of bytes that may be read */
    unsigned at;    /* number of bytes read so far; in the end the length */
    bool cut;       /* bytes past the limit were needed; they were read as zeros */

    bool operand_16;  /* prefix 66 */
    bool address_cut; /* prefix 67: addresses are half as wide */
    bool segment;     /* fs or gs: registers do not give the whole address */
    bool notrack;     /* prefix 3e */
    uint8_t repeat;   /* prefix f2 or f3, the last one; 0: none */
    uint8_t rex;      /* REX, or 0x40 and the four bits of another encoding; 0: none */

    uint8_t encoding;
    uint8_t map;
    uint8_t opcode;
    uint8_t mandatory; /* the prefix that selects among an opcode's meanings: 0, 0x66, 0xf3 or 0xf2 */
    uint8_t vvvv;      /* the third operand's register in VEX and XOP */
    uint8_t size;      /* size of a full operand: 2, 4 or 8 bytes */

    /* Fields from ModRM on. mod 3: rm is a register. Otherwise rm is memory at base + (index << scale) + displacement.
     * base and index may be NONE. An index without scale becomes the base if there is no base. */
    uint8_t mod, reg, rm;
    bool pc_relative;
    uint8_t base, index, scale;
    int64_t displacement;
    int64_t immediate; /* sign-extended */
};

/* Parses the instruction at `bytes`; writes *code completely. False when it is not an instruction, or is cut off by
 * n. */
bool uspi_x86_parse(struct uspi_x86_code *code, const struct uspi_x86_mode *mode, const uint8_t *bytes, size_t n,
                    usp_addr pc);

#endif
