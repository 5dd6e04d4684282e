/* SPDX-License-Identifier: MIT */
/* Decodes A64 instructions, as far as they matter to stacks and control flow, for arm64 and arm64_32; memory.c decodes
 * loads and stores. It is not a disassembler: an unallocated encoding may be decoded as a neighbouring one. Source of
 * the encodings: Arm Architecture Reference Manual for A-profile (DDI 0487), chapter C4; the groups have that chapter's
 * names. */
#include "arch/arm64/fields.h"

/* ---- control flow ---- */

static bool go_to(struct decoding *d, enum uspi_flow flow, int64_t offset) {
    d->out->flow = (uint8_t)flow;
    d->out->target = address(d, d->pc + (uint64_t)offset);
    return true;
}

static bool go_to_register(struct decoding *d, enum uspi_flow flow, unsigned reg) {
    /* Address 0 is never code. */
    if (reg == ZERO_REGISTER) flow = USPI_END;
    d->out->flow = (uint8_t)flow;
    if (flow == USPI_RETURN || flow == USPI_JUMP_UNKNOWN) d->out->target_register = (uint8_t)reg;
    return true;
}

static bool call(struct decoding *d) {
    d->out->flow = USPI_CALL;
    clobber(d, LR);
    return true;
}

static bool end(struct decoding *d) {
    d->out->flow = USPI_END;
    return true;
}

/* ---- data processing, immediate ---- */

/* The manual's DecodeBitMasks. False for reserved values. */
static bool logical_immediate(const struct decoding *d, uint64_t *value) {
    unsigned n = bits(d, 22, 1), rotate = bits(d, 16, 6), ones = bits(d, 10, 6);
    unsigned size = 64;
    if (n == 0) {
        if (ones == 0x3f) return false;
        for (size = 32; (ones & size) != 0; size /= 2) {}
    } else if (!bit(d, 31)) {
        return false;
    }
    rotate &= size - 1;
    ones = (ones & (size - 1)) + 1;
    if (ones == size) return false;

    uint64_t element = (UINT64_C(1) << ones) - 1;
    if (rotate != 0) element = element >> rotate | element << (size - rotate);
    if (size < 64) element &= (UINT64_C(1) << size) - 1;
    for (; size < 64; size *= 2) element |= element << size;
    *value = bit(d, 31) ? element : element & UINT32_MAX;
    return true;
}

static bool pc_relative(struct decoding *d) {
    int64_t offset = uspi_sign_extend(bits(d, 5, 19) << 2 | bits(d, 29, 2), 21);
    bool page = bit(d, 31);
    uint64_t value = page ? (d->pc & ~UINT64_C(0xfff)) + ((uint64_t)offset << 12) : d->pc + (uint64_t)offset;
    set_constant(d, rd(d), address(d, value));
    return true;
}

static bool add_subtract_immediate(struct decoding *d) {
    bool flags = bit(d, 29);
    if (flags && rd(d) == ZERO_REGISTER) return true;
    int64_t value = (int64_t)bits(d, 10, 12) << (bit(d, 22) ? 12 : 0);
    if (pointer_sized(d))
        set_sum(d, rd(d), rn(d), bit(d, 30) ? -value : value);
    else
        clobber_or_sp(d, rd(d));
    return true;
}

/* addg, subg; smax, smin, umax, umin */
static bool tags_or_minimum(struct decoding *d) {
    bool tags = !bit(d, 22);
    if (tags && bits(d, 29, 3) != 4 && bits(d, 29, 3) != 6) return false;
    if (!tags && bits(d, 29, 2) != 0) return false;
    if (tags)
        clobber_or_sp(d, rd(d));
    else
        clobber(d, rd(d));
    return true;
}

/* The mark of a Swift async frame: bit 60, which functions keep set in x29 from their first instruction to their last
 * (Libc gen/thread_stack_pcs.c). */
#define ASYNC_MARK (UINT64_C(1) << 60)

static bool logical_with_immediate(struct decoding *d) {
    enum { AND, ORR, EOR, ANDS };
    unsigned operation = bits(d, 29, 2);
    uint64_t value;
    if (!logical_immediate(d, &value)) return false;

    if (operation == ANDS)
        clobber(d, rd(d));
    else if (rn(d) == ZERO_REGISTER)
        uspi_add_effect(d->out, USPI_SET, rd(d), USPI_NO_REGISTER, operation == AND ? 0 : (int64_t)value);
    else if (rd(d) == FP && rn(d) == FP &&
             ((operation == ORR && value == ASYNC_MARK) || (operation == AND && value == ~ASYNC_MARK)))
        same_pointer(d, FP);
    else
        clobber_or_sp(d, rd(d));
    return true;
}

static bool move_wide(struct decoding *d) {
    enum { MOVN, UNALLOCATED, MOVZ, MOVK };
    bool wide = bit(d, 31);
    unsigned operation = bits(d, 29, 2), shift = bits(d, 21, 2) * 16;
    uint64_t value = bits(d, 5, 16);
    if (operation == UNALLOCATED || (!wide && shift >= 32)) return false;

    if (operation != MOVK) {
        value <<= shift;
        if (operation == MOVN) value = ~value;
        set_constant(d, rd(d), wide ? value : value & UINT32_MAX);
    } else if (rd(d) != ZERO_REGISTER) {
        uspi_add_effect(d->out, USPI_INSERT, rd(d), USPI_NO_REGISTER, (int64_t)value)->index = (uint8_t)shift;
        for (unsigned upper = 32; !wide && upper < 64; upper += 16)
            uspi_add_effect(d->out, USPI_INSERT, rd(d), USPI_NO_REGISTER, 0)->index = (uint8_t)upper;
    }
    return true;
}

static bool bitfield(struct decoding *d) {
    if (bits(d, 29, 2) == 3 || bit(d, 31) != bit(d, 22)) return false;
    clobber(d, rd(d));
    return true;
}

static bool extract(struct decoding *d) {
    /* autiasppc, autibsppc: the signature's modifier is an address in the code */
    if (bits(d, 29, 3) == 7 && !bit(d, 22) && rd(d) == ZERO_REGISTER)
        same_pointer(d, LR);
    else if (bits(d, 29, 2) != 0 || bit(d, 31) != bit(d, 22))
        return false;
    else
        clobber(d, rd(d));
    return true;
}

static bool data_processing_immediate(struct decoding *d) {
    switch (bits(d, 23, 3)) {
    case 0:
    case 1: return pc_relative(d);
    case 2: return add_subtract_immediate(d);
    case 3: return tags_or_minimum(d);
    case 4: return logical_with_immediate(d);
    case 5: return move_wide(d);
    case 6: return bitfield(d);
    default: return extract(d);
    }
}

/* ---- branches, exceptions, system ---- */

static bool hint(struct decoding *d) {
    switch (bits(d, 5, 7)) {
    case 7:  /* xpaclri */
    case 24: /* paciaz */
    case 26: /* pacibz */
    case 28: /* autiaz */
    case 29: /* autiasp */
    case 30: /* autibz */
    case 31: /* autibsp */ same_pointer(d, LR); break;
    case 25: /* paciasp */
    case 27: /* pacibsp */
        same_pointer(d, LR);
        /* A shrink-wrapped function signs only where it saves registers, after its first branches. But sp, x30 and the
         * callee-saved registers are still as at its start there. */
        d->out->start_hint = 1;
        break;
    case 34: /* bti c */
    case 38: /* bti jc */ d->out->start_hint = 1; break;
    case 8:  /* pacia1716 */
    case 10: /* pacib1716 */
    case 12: /* autia1716 */
    case 14: /* autib1716 */ same_pointer(d, 17); break;
    case 40: /* chkfeat x16 */ clobber(d, 16); break;
    default: break;
    }
    return true;
}

static bool exception(struct decoding *d) {
    enum { CALLS, BRK, HLT, TCANCEL, DCPS = 5 };
    unsigned kind = bits(d, 21, 3), level = bits(d, 0, 2);
    if (bits(d, 2, 3) != 0) return false;
    switch (kind) {
    case CALLS:
        if (level == 0) return false;
        if (level != 1) return end(d); /* hvc, smc: undefined for applications */
        /* svc: Linux returns x0, Darwin x0 and x1 (xnu bsd/dev/arm/systemcalls.c) */
        clobber(d, 0);
        clobber(d, 1);
        return true;
    case BRK:
    case HLT:
    case TCANCEL: return level == 0 && end(d);
    case DCPS: return level != 0 && end(d);
    default: return false;
    }
}

static bool system_instruction(struct decoding *d) {
    bool hint_space = (d->word & 0xfffff01f) == 0xd503201f;
    if (hint_space) return hint(d);
    if (!bit(d, 21)) return true; /* msr, sys, barriers: sources only */
    clobber(d, rt(d));
    bool pair = bit(d, 22); /* mrrs */
    if (pair) clobber(d, rt(d) + 1);
    return true;
}

static bool branch_to_register(struct decoding *d) {
    enum { BR, BLR, RET, ERET = 4, DRPS, BRAA = 8, BLRAA };
    if (rm(d) != 31) return false;
    bool plain = bits(d, 10, 6) == 0 && bits(d, 0, 5) == 0;
    bool authenticated = bits(d, 11, 5) == 1;
    switch (bits(d, 21, 4)) {
    case BR: return (plain || authenticated) && go_to_register(d, USPI_JUMP_UNKNOWN, rn(d));
    case BRAA: return authenticated && go_to_register(d, USPI_JUMP_UNKNOWN, rn(d));
    case BLR: return (plain || authenticated) && call(d);
    case BLRAA: return authenticated && call(d);
    case RET:
        if (plain) return go_to_register(d, USPI_RETURN, rn(d));
        return authenticated && rn(d) == 31 && go_to_register(d, USPI_RETURN, LR);
    case ERET:
    case DRPS: return end(d); /* undefined for applications */
    default: return false;
    }
}

static bool branches_and_system(struct decoding *d) {
    bool link = bit(d, 31);
    switch (bits(d, 25, 6)) {
    case 0x0a: /* b, bl */
    case 0x0b:
        if (link) call(d);
        return go_to(d, link ? USPI_CALL : USPI_JUMP, signed_bits(d, 0, 26) * 4);
    case 0x1a: /* cbz, cbnz */ return go_to(d, USPI_BRANCH, signed_bits(d, 5, 19) * 4);
    case 0x1b: /* tbz, tbnz */ return go_to(d, USPI_BRANCH, signed_bits(d, 5, 14) * 4);
    case 0x3a: /* cb<cc> */ return go_to(d, USPI_BRANCH, signed_bits(d, 5, 9) * 4);
    case 0x2a:
        if (bit(d, 31)) {
            if (!bit(d, 24)) return exception(d);
            return !bit(d, 23) && system_instruction(d);
        }
        /* retaasppc, retabsppc: the offset is that of the signing instruction */
        if (bit(d, 24)) return bits(d, 22, 2) == 0 && rt(d) == 31 && go_to_register(d, USPI_RETURN, LR);
        /* b.al and b.nv both mean always */
        return go_to(d, bits(d, 1, 3) == 7 ? USPI_JUMP : USPI_BRANCH, signed_bits(d, 5, 19) * 4);
    case 0x2b: return bit(d, 31) && branch_to_register(d);
    default: return false;
    }
}

/* ---- data processing, register ---- */

static bool logical_register(struct decoding *d) {
    enum { AND, ORR, EOR, ANDS };
    unsigned operation = bits(d, 29, 2), amount = bits(d, 10, 6);
    bool inverted = bit(d, 21), plain_or = operation == ORR && !inverted && amount == 0;
    if (!bit(d, 31) && amount >= 32) return false;

    if (plain_or && rn(d) == ZERO_REGISTER && rm(d) == ZERO_REGISTER)
        set_constant(d, rd(d), 0);
    else if (plain_or && rn(d) == ZERO_REGISTER && rd(d) != ZERO_REGISTER && pointer_sized(d))
        set_sum(d, rd(d), rm(d), 0);
    else if (plain_or && bit(d, 31) && rd(d) == FP && rn(d) == FP && rm(d) == 16)
        /* clang loads the async mark, which may be 0, from swift_async_extendedFramePointerFlags into x16
         * (LLVM AArch64FrameLowering.cpp, SwiftAsyncFramePointerMode::DeploymentBased). */
        same_pointer(d, FP);
    else
        clobber(d, rd(d));
    return true;
}

static bool add_subtract_register(struct decoding *d) {
    bool flags = bit(d, 29), subtract = bit(d, 30), extended = bit(d, 21);
    if (!extended) {
        unsigned shift = bits(d, 22, 2), amount = bits(d, 10, 6);
        if (shift == 3 || (!bit(d, 31) && amount >= 32)) return false;
        if (rd(d) == ZERO_REGISTER) return true;
        if (!pointer_sized(d) || amount != 0 || (rn(d) == ZERO_REGISTER && subtract))
            clobber(d, rd(d));
        else if (rn(d) != ZERO_REGISTER)
            set_two_registers(d, rd(d), rn(d), rm(d), subtract);
        else if (rm(d) != ZERO_REGISTER)
            set_sum(d, rd(d), rm(d), 0);
        else
            set_constant(d, rd(d), 0);
        return true;
    }
    unsigned extension = bits(d, 13, 3), amount = bits(d, 10, 3);
    if (bits(d, 22, 2) != 0 || amount > 4) return false;
    if (flags && rd(d) == ZERO_REGISTER) return true;
    /* uxtx, sxtx take the whole register; modulo 2^32, so do uxtw and sxtw */
    bool whole = (extension & 3) == 3 || (d->ilp32 && (extension & 3) == 2);
    if (pointer_sized(d) && whole && amount == 0)
        set_two_registers(d, rd(d), rn(d), rm(d), subtract);
    else
        clobber_or_sp(d, rd(d));
    return true;
}

/* adc, sbc, rmif, setf8, setf16, addpt, subpt */
static bool with_carry(struct decoding *d) {
    bool flags_only = bits(d, 10, 5) == 1 || bits(d, 10, 4) == 2, checked_pointer = bits(d, 13, 3) == 1;
    if (flags_only) return true;
    if (checked_pointer) {
        if (bits(d, 10, 3) == 0)
            set_two_registers(d, rd(d), rn(d), rm(d), bit(d, 30));
        else
            clobber_or_sp(d, rd(d));
        return true;
    }
    if (bits(d, 10, 6) != 0) return false;
    clobber(d, rd(d));
    return true;
}

static bool one_source(struct decoding *d) {
    bool authentication = rm(d) == 1;
    unsigned operation = bits(d, 10, 6);
    if (!authentication) {
        clobber(d, rd(d));
        return rm(d) == 0;
    }
    if (!bit(d, 31)) return false;
    switch (operation) {
    case 0x28: /* paciasppc */
    case 0x29: /* pacibsppc */
    case 0x20: /* pacnbiasppc */
    case 0x21: /* pacnbibsppc */
        d->out->start_hint = 1;
        same_pointer(d, LR);
        return true;
    case 0x24: /* autiasppcr */
    case 0x25: /* autibsppcr */ same_pointer(d, LR); return true;
    case 0x22: /* pacia171615 */
    case 0x23: /* pacib171615 */
    case 0x2e: /* autia171615 */
    case 0x2f: /* autib171615 */ same_pointer(d, 17); return true;
    default: break;
    }
    if (operation > 0x11) return false;
    if (rd(d) != ZERO_REGISTER) same_pointer(d, rd(d)); /* pac…, aut…, xpac… */
    return true;
}

static bool two_sources(struct decoding *d) {
    bool random_tag = bits(d, 10, 6) == 4; /* irg */
    if (random_tag)
        clobber_or_sp(d, rd(d));
    else
        clobber(d, rd(d));
    return true;
}

static bool data_processing_register(struct decoding *d) {
    if (!bit(d, 28)) return bit(d, 24) ? add_subtract_register(d) : logical_register(d);
    switch (bits(d, 21, 4)) {
    case 0: return with_carry(d);
    case 2: return true; /* ccmp, ccmn */
    case 4: /* csel … */ clobber(d, rd(d)); return true;
    case 6: return bit(d, 30) ? one_source(d) : two_sources(d);
    case 1:
    case 3:
    case 5:
    case 7: return false;
    default: /* madd … */ clobber(d, rd(d)); return true;
    }
}

/* ---- vectors: only what leaves a result in a general register ---- */

static bool writes_general(const struct decoding *d) {
    if ((d->word & 0x7f20fc00) == 0x1e200000) { /* conversions, fmov */
        unsigned rounding = bits(d, 19, 2), operation = bits(d, 16, 3);
        if (operation < 2) return true;
        if (operation == 4 || operation == 5) return rounding == 0;
        return operation == 6 && rounding != 2;
    }
    if ((d->word & 0x7f200000) == 0x1e000000) return bits(d, 17, 2) == 0;                        /* to fixed point */
    if ((d->word & 0xbfe08400) == 0x0e000400) return bits(d, 11, 4) == 5 || bits(d, 11, 4) == 7; /* smov, umov */
    return false;
}

static bool floating_point_and_simd(struct decoding *d) {
    if (writes_general(d)) clobber(d, rd(d));
    return true;
}

static bool scalable_vectors(struct decoding *d) {
    static const struct {
        uint32_t mask, value;
    } to_general[] = {
        {0xffbff000, 0x04bf5000}, /* rdvl, rdsvl */
        {0xff30f800, 0x0420e000}, /* cntb, cnth, cntw, cntd */
        {0xff30f800, 0x0430e000}, /* incb, decb … */
        {0xff20f000, 0x0420f000}, /* sqincb, uqdecd … */
        {0xff3ee000, 0x0520a000}, /* lasta, lastb */
        {0xff3ee000, 0x0530a000}, /* clasta, clastb */
        {0xff38c000, 0x25208000}, /* cntp, firstp, lastp */
        {0xff38f800, 0x25288800}, /* incp, decp, sqincp, uqdecp … */
    };
    bool multiple_of_length = (d->word & 0xffa0f000) == 0x04205000; /* addvl, addpl, addsvl, addspl */
    if (multiple_of_length) {
        clobber_or_sp(d, rd(d));
        return true;
    }
    for (size_t i = 0; i < sizeof to_general / sizeof to_general[0]; i++) {
        if ((d->word & to_general[i].mask) == to_general[i].value) clobber(d, rd(d));
    }
    return true;
}

static bool reserved_or_matrices(struct decoding *d) {
    bool undefined = d->word >> 16 == 0; /* udf */
    if (undefined) return end(d);
    if (!bit(d, 31)) return false;
    bool move_from_table = (d->word & 0xffff8fe0) == 0xc04c03e0; /* movt x, zt0[…] */
    if (move_from_table) clobber(d, rd(d));
    return true;
}

/* ---- all groups ---- */

/* Table C4-1, "Main encoding table", by bits 28:25. */
static bool decode_group(struct decoding *d) {
    switch (bits(d, 25, 4)) {
    case 0: return reserved_or_matrices(d);
    case 2: return scalable_vectors(d);
    case 8:
    case 9: return data_processing_immediate(d);
    case 10:
    case 11: return branches_and_system(d);
    case 4:
    case 6:
    case 12:
    case 14: return uspi_arm64_loads_and_stores(d);
    case 5:
    case 13: return data_processing_register(d);
    case 7:
    case 15: return floating_point_and_simd(d);
    default: return false;
    }
}

static bool decode(const uint8_t *bytes, size_t n, usp_addr pc, bool ilp32, struct uspi_instruction *out) {
    if (n < USPI_ARM64_INSTRUCTION) return false;
    memset(out, 0, sizeof *out);
    out->length = USPI_ARM64_INSTRUCTION;
    out->target_register = USPI_NO_REGISTER;
    struct decoding d = {.word = uspi_le32(bytes), .ilp32 = ilp32, .pc = pc, .out = out};
    return decode_group(&d);
}

bool uspi_arm64_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    (void)mode;
    return decode(bytes, n, pc, false, out);
}

bool uspi_arm64_32_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    (void)mode;
    return decode(bytes, n, pc, true, out);
}

/* ldr and its like with a distance from the pc; adr */
bool uspi_arm64_may_use_code(const uint8_t *bytes, bool thumb) {
    (void)thumb;
    return (bytes[3] & 0x3b) == 0x18 || (bytes[3] & 0x9f) == 0x10;
}

bool uspi_arm64_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target) {
    struct uspi_instruction i;
    (void)thumb;
    *target = 0;
    if (n < USPI_ARM64_INSTRUCTION) return false;
    const uint8_t *last = before + (n - USPI_ARM64_INSTRUCTION);
    if (!decode(last, USPI_ARM64_INSTRUCTION, return_address - USPI_ARM64_INSTRUCTION, false, &i)) return false;
    if (i.flow != USPI_CALL) return false;
    *target = i.target;
    return true;
}
