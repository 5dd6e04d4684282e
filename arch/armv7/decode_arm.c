/* SPDX-License-Identifier: MIT */
/* Decodes the ARM instruction set (A32): the effects of one 32-bit word. Conditions are handled at the end; before
 * that, only the space of unconditional instructions depends on them. Section numbers are those of DDI 0406C. */
#include "arch/armv7/decode.h"

static uint32_t rotate_right(uint32_t value, unsigned by) { return by ? value >> by | value << (32 - by) : value; }

/* A5.2.4 */
static uint32_t modified_immediate(uint32_t w) { return rotate_right(w & 0xff, 2 * uspi_arm_bits(w, 11, 8)); }

static bool plain_pair(struct uspi_instruction *out, unsigned low, unsigned high) {
    return uspi_arm_plain(out, low) && uspi_arm_plain(out, high);
}

/* A5.2.1 to A5.2.3 */
static bool data_processing(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    static const uint8_t operations[16] = {
        [2] = USPI_ARM_SUBTRACT, [4] = USPI_ARM_ADD, [13] = USPI_ARM_MOVE, [15] = USPI_ARM_NOT};
    unsigned opcode = uspi_arm_bits(w, 24, 21), reg = uspi_arm_bits(w, 15, 12), first = uspi_arm_bits(w, 19, 16);
    bool set_flags = w >> 20 & 1, compare = opcode >= 8 && opcode <= 11;
    enum uspi_arm_operation operation = (enum uspi_arm_operation)operations[opcode];
    if (compare) return true;
    if (reg == USPI_ARM_PC && set_flags) { /* returns from an exception */
        out->flow = USPI_END;
        return true;
    }
    if (w >> 25 & 1) {
        uspi_arm_result(out, code, operation, reg, first, modified_immediate(w));
        return true;
    }
    bool by_register = w >> 4 & 1;
    if (by_register && reg == USPI_ARM_PC) return false;
    if ((w & 0xff0) == 0x060) operation = USPI_ARM_OTHER; /* rrx shifts the carry in, so this is not a table index */
    uspi_arm_result_register(out, code, operation, (struct uspi_arm_operands){reg, first, w & 15, (w & 0xff0) != 0});
    return true;
}

/* A5.2.5 */
static bool multiply(struct uspi_instruction *out, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 23, 20), high = uspi_arm_bits(w, 19, 16), low = uspi_arm_bits(w, 15, 12);
    if (op == 5 || op == 7) return false; /* umaal and mls set no flags */
    if (op < 4 || op == 6) return uspi_arm_plain(out, high);
    return plain_pair(out, low, high);
}

/* A5.2.7 */
static bool halfword_multiply(struct uspi_instruction *out, uint32_t w) {
    unsigned high = uspi_arm_bits(w, 19, 16);
    if (uspi_arm_bits(w, 22, 21) == 2) return plain_pair(out, uspi_arm_bits(w, 15, 12), high);
    return uspi_arm_plain(out, high);
}

/* A5.2.10, and ARMv8's load-acquire and store-release */
static bool synchronization(struct uspi_instruction *out, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 23, 20), base = uspi_arm_bits(w, 19, 16), reg = uspi_arm_bits(w, 15, 12);
    if (base == USPI_ARM_PC) return false;
    if (op < 8) { /* swp, swpb */
        if (op & 3 || uspi_arm_bits(w, 11, 8) != 0) return false;
        uspi_arm_store_unknown(out, base, 0, op ? 1 : 4);
        return uspi_arm_plain(out, reg);
    }
    static const uint8_t sizes[4] = {4, 8, 1, 2};
    uint32_t size = sizes[op >> 1 & 3];
    unsigned kind = uspi_arm_bits(w, 11, 8); /* 12: lda, stl; 14: ldaex, stlex; 15: ldrex, strex */
    if (kind < 12 || kind == 13 || (kind == 12 && size == 8)) return false;
    if (op & 1) {
        if (size == 8) return !(reg & 1) && plain_pair(out, reg, reg + 1);
        return uspi_arm_plain(out, reg);
    }
    uspi_arm_store_unknown(out, base, 0, size);
    return kind == 12 || uspi_arm_plain(out, reg);
}

/* The offset from the base: a register, which may be shifted, or a constant amount. */
struct distance {
    bool by_register, shifted;
    int32_t amount;
};

static bool transfer(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w,
                     struct uspi_arm_transfer t, struct distance distance) {
    bool pre = w >> 24 & 1, up = w >> 23 & 1;
    t.reg = (uint8_t)uspi_arm_bits(w, 15, 12);
    t.second = (uint8_t)(t.reg + 1);
    t.base = (uint8_t)uspi_arm_bits(w, 19, 16);
    t.post_indexed = !pre;
    t.write_back = !pre || (w >> 21 & 1); /* post-indexed with W: unprivileged forms, which do the same in user mode */
    t.offset = up ? distance.amount : -distance.amount;
    if (t.write_back && t.base == USPI_ARM_PC) return false;
    if (t.size != 4 && t.reg == USPI_ARM_PC) return false;
    if (t.size == 8 && t.reg & 1) return false;
    if (t.size == 8 && t.load && t.second == USPI_ARM_PC) return false;
    if (distance.by_register) {
        if ((w & 15) == USPI_ARM_PC) return false;
        uspi_arm_transfer_register(out, code, &t, w & 15, distance.shifted, !up);
    } else {
        uspi_arm_transfer(out, code, &t);
    }
    return true;
}

/* A5.2.8, A5.2.9 */
static bool extra_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 6, 5);
    bool load_bit = w >> 20 & 1, dual = !load_bit && op != 1, unprivileged = !(w >> 24 & 1) && (w >> 21 & 1);
    if (dual && unprivileged) return false;
    struct uspi_arm_transfer t = {.size = dual ? 8 : op == 2 ? 1 : 2, .load = load_bit || op == 2};
    const struct distance distance = {.by_register = !(w >> 22 & 1),
                                      .amount = (int32_t)(uspi_arm_bits(w, 11, 8) << 4 | (w & 15))};
    return transfer(out, code, w, t, distance);
}

/* A5.3. ldr pc, [pc, index, lsl #2] is a switch; its table follows the next instruction. */
static bool word_byte_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    const bool by_register = w >> 25 & 1;
    const struct distance distance = {by_register, (w & 0xff0) != 0, (int32_t)(w & 0xfff)};
    struct uspi_arm_transfer t = {.size = w >> 22 & 1 ? 1 : 4, .load = w >> 20 & 1};
    if (!transfer(out, code, w, t, distance)) return false;
    if (by_register && out->flow == USPI_JUMP_UNKNOWN && uspi_arm_bits(w, 19, 16) == USPI_ARM_PC) {
        out->flow = USPI_JUMP_TABLE;
        if (code->n >= 12) {
            uint32_t entry = uspi_le32(code->bytes + 8);
            out->target_mode = entry & 1 ? USPI_MODE_THUMB : 0;
            out->target = entry & (entry & 1 ? ~1u : ~3u);
        }
    }
    return true;
}

/* A5.2.12 */
static bool miscellaneous(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 22, 21), op2 = uspi_arm_bits(w, 6, 4);
    unsigned reg = uspi_arm_bits(w, 15, 12), source = w & 15;
    switch (op2) {
    case 0: return op & 1 || uspi_arm_plain(out, reg); /* msr; mrs */
    case 1:
        if (op == 1) {
            uspi_arm_jump_register(out, code, source);
            return true;
        }
        return op == 3 && uspi_arm_plain(out, reg); /* clz */
    case 2:
        if (op != 1) return false; /* bxj, which behaves as bx */
        uspi_arm_jump_register(out, code, source);
        return true;
    case 3:
        if (op != 1 || source == USPI_ARM_PC) return false;
        uspi_arm_call(out, 0, 0);
        return true;
    case 4: /* crc32 */
    case 5: /* qadd … */ return uspi_arm_plain(out, reg);
    case 6:
    case 7:
        if (op2 == 7 && op >= 2) { /* hvc, smc: by the SMC calling convention results are in r0 … r3 */
            out->clobbers |= 0xf;
            return true;
        }
        if (op2 == 6 && op != 3) return false;
        out->flow = USPI_END; /* eret, hlt, bkpt */
        return true;
    default: return false;
    }
}

/* A5.2 with bit 25 clear */
static bool registers(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool bit7 = w >> 7 & 1, bit4 = w >> 4 & 1;
    if (bit7 && bit4) {
        if (w & 0x60) return extra_transfer(out, code, w);
        return w >> 24 & 1 ? synchronization(out, w) : multiply(out, w);
    }
    if ((w & 0x01900000) == 0x01000000) {
        return bit7 ? halfword_multiply(out, w) : miscellaneous(out, code, w);
    }
    return data_processing(out, code, w);
}

/* A5.2 with bit 25 set */
static bool immediates(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned reg = uspi_arm_bits(w, 15, 12);
    uint32_t half = uspi_arm_bits(w, 19, 16) << 12 | (w & 0xfff);
    switch (uspi_arm_bits(w, 24, 20)) {
    case 0x10: /* movw */
        if (reg == USPI_ARM_PC) return false;
        uspi_add_effect(out, USPI_SET, reg, USPI_NO_REGISTER, half);
        return true;
    case 0x14: /* movt */
        if (reg == USPI_ARM_PC) return false;
        uspi_add_effect(out, USPI_INSERT, reg, USPI_NO_REGISTER, half)->index = 16;
        return true;
    case 0x12:
    case 0x16: return true; /* msr, hints */
    default: return data_processing(out, code, w);
    }
}

/* A5.4 */
static bool media(struct uspi_instruction *out, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 24, 20), op2 = uspi_arm_bits(w, 7, 5);
    unsigned high = uspi_arm_bits(w, 19, 16), low = uspi_arm_bits(w, 15, 12);
    if (op < 8) return op & 3 && op2 != 5 && op2 != 6 && uspi_arm_plain(out, low); /* sadd16 … */
    if (op < 16) { /* packing, saturation, reversal: one bit for each defined op2 */
        static const uint8_t defined[8] = {0x7d, 0, 0x5f, 0x7f, 0x08, 0, 0x5f, 0x7f};
        return defined[op & 7] >> op2 & 1 && uspi_arm_plain(out, low);
    }
    if (op == 0x1f && op2 == 7) {
        out->flow = USPI_END; /* udf */
        return true;
    }
    switch (op) {
    case 0x10: return op2 < 4 && uspi_arm_plain(out, high);              /* smlad, smlsd */
    case 0x11: return op2 == 0 && uspi_arm_plain(out, high);             /* sdiv */
    case 0x13: return op2 == 0 && uspi_arm_plain(out, high);             /* udiv */
    case 0x14: return op2 < 4 && plain_pair(out, low, high);             /* smlald, smlsld */
    case 0x15: return (op2 < 2 || op2 > 5) && uspi_arm_plain(out, high); /* smmla, smmls */
    case 0x18: return op2 == 0 && uspi_arm_plain(out, high);             /* usada8 */
    case 0x1a:
    case 0x1b:
    case 0x1e:
    case 0x1f: return (op2 & 3) == 2 && uspi_arm_plain(out, low); /* sbfx, ubfx */
    case 0x1c:
    case 0x1d: return (op2 & 3) == 0 && uspi_arm_plain(out, low); /* bfi, bfc */
    default: return false;
    }
}

/* A5.5 */
static bool block_transfer(struct uspi_instruction *out, uint32_t w) {
    bool before = w >> 24 & 1, up = w >> 23 & 1, user = w >> 22 & 1, write_back = w >> 21 & 1, load = w >> 20 & 1;
    unsigned base = uspi_arm_bits(w, 19, 16), list = w & 0xffff;
    int32_t size = 4 * (int32_t)uspi_arm_count(list);
    if (base == USPI_ARM_PC || list == 0) return false;
    int32_t lowest = up ? (before ? 4 : 0) : (before ? -size : 4 - size);
    if (!user) {
        uspi_arm_multiple(out, (struct uspi_arm_multiple){.load = load,
                                                          .write_back = write_back,
                                                          .base = base,
                                                          .list = list,
                                                          .offset = lowest,
                                                          .change = up ? size : -size});
        return true;
    }
    /* with pc, a return from an exception; otherwise a transfer of user mode's registers */
    if (load && list >> USPI_ARM_PC & 1) {
        out->flow = USPI_END;
        return true;
    }
    if (load) {
        out->clobbers |= list;
    } else {
        uspi_arm_store_unknown(out, base, lowest, (uint32_t)size);
    }
    if (write_back) uspi_arm_unknown(out, base);
    return true;
}

static bool branch(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    uint32_t target = code->pc + (uint32_t)uspi_sign_extend((uint64_t)(w & 0xffffff) << 2, 26);
    if (w >> 24 & 1) {
        uspi_arm_call(out, target, 0);
    } else {
        uspi_arm_jump(out, target, 0);
    }
    return true;
}

/* A5.7: the space of condition 15 */
static bool unconditional(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 27, 20);
    if (op >> 5 == 5) { /* blx */
        uint32_t target = code->pc + (uint32_t)uspi_sign_extend((uint64_t)(w & 0xffffff) << 2, 26);
        uspi_arm_call(out, target | (w >> 23 & 2), USPI_MODE_THUMB);
        return true;
    }
    if (op >> 5 == 4) {
        if ((op & 5) == 1) {
            out->flow = USPI_END; /* rfe */
            return true;
        }
        if ((op & 5) != 4) return false;
        if (op & 2) uspi_arm_unknown(out, USPI_ARM_SP); /* srs, to the stack of the mode that it names */
        return true;
    }
    if (op >= 0xc0) return op < 0xf0 && uspi_arm_coprocessor(out, code, w);
    if (op >> 5 == 1) return true; /* Advanced SIMD data processing */
    if (op >> 4 == 4 && !(op & 1)) return uspi_arm_structures(out, w);
    if (op == 0x10) return true;                                          /* cps, setend */
    if (op == 0x11) return true;                                          /* setpan: ARMv8.1 */
    if (op == 0x57) return uspi_arm_bits(w, 7, 4) != 0;                   /* clrex, dsb, dmb, isb, sb */
    return (op >> 5 == 2 || (op >> 5 == 3 && !(w >> 4 & 1))) && (op & 1); /* pld, pldw, pli, and reserved hints */
}

static bool conditional(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    switch (uspi_arm_bits(w, 27, 25)) {
    case 0: return registers(out, code, w);
    case 1: return immediates(out, code, w);
    case 2: return word_byte_transfer(out, code, w);
    case 3: return w >> 4 & 1 ? media(out, w) : word_byte_transfer(out, code, w);
    case 4: return block_transfer(out, w);
    case 5: return branch(out, code, w);
    case 6: return uspi_arm_coprocessor(out, code, w);
    default:
        if (!(w >> 24 & 1)) return uspi_arm_coprocessor(out, code, w);
        out->clobbers |= 3; /* svc: Linux returns r0, Darwin r0 and r1 */
        return true;
    }
}

/* Returns whether an instruction sets flags: data processing and multiplications with bit S (A5.2). Among those with
 * bits 7 and 4 set are transfers, for which bit S means a load. */
static bool sets_flags(uint32_t w) {
    const bool is_transfer = !(w >> 25 & 1) && (w >> 7 & 1) && (w >> 4 & 1) && uspi_arm_bits(w, 6, 5) != 0;
    return uspi_arm_bits(w, 27, 26) == 0 && (w >> 20 & 1) && !is_transfer;
}

bool uspi_arm_decode_arm(const struct uspi_arm_code *code, struct uspi_instruction *out) {
    if (code->n < 4) return false;
    uint32_t w = uspi_le32(code->bytes);
    unsigned condition = w >> 28;
    if (condition == 15) return unconditional(out, code, w);
    if (!conditional(out, code, w)) return false;
    out->sets_flags = sets_flags(w);
    if (condition == USPI_ARM_COND_ALWAYS) return true;
    if (out->flow == USPI_JUMP) out->flow = USPI_BRANCH;
    out->conditional = (uint8_t)(condition + 1);
    return true;
}
