/* SPDX-License-Identifier: MIT */
/* Decodes the Thumb instruction set (T32): the effects of one or two halfwords. IT blocks are handled at the end;
 * nothing before that depends on them. A 32-bit instruction is one word here, with its first halfword in the high half.
 * Section numbers are those of DDI 0406C. */
#include "arch/armv7/decode.h"

/* ---- 16 bits ---- */

/* A6.2.1 */
static bool shift_add_compare(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    unsigned low = h & 7, middle = h >> 3 & 7, high = h >> 8 & 7;
    enum uspi_arm_operation sum = h >> 9 & 1 ? USPI_ARM_SUBTRACT : USPI_ARM_ADD;
    switch (h >> 11) {
    case 0: /* lsls by 0 is movs */
        uspi_arm_result_register(out, code, USPI_ARM_MOVE,
                                 (struct uspi_arm_operands){low, 0, middle, (h >> 6 & 31) != 0});
        return true;
    case 1:
    case 2: return uspi_arm_plain(out, low); /* lsrs, asrs */
    case 3:
        if (h >> 10 & 1) {
            uspi_arm_result(out, code, sum, low, middle, h >> 6 & 7);
        } else {
            uspi_arm_result_register(out, code, sum, (struct uspi_arm_operands){low, middle, h >> 6 & 7, false});
        }
        return true;
    case 4: uspi_arm_result(out, code, USPI_ARM_MOVE, high, 0, h & 0xff); return true;
    case 5: return true; /* cmp */
    case 6: uspi_arm_result(out, code, USPI_ARM_ADD, high, high, h & 0xff); return true;
    default: uspi_arm_result(out, code, USPI_ARM_SUBTRACT, high, high, h & 0xff); return true;
    }
}

/* A6.2.2 */
static bool data_processing16(struct uspi_instruction *out, uint32_t h) {
    unsigned op = h >> 6 & 15;
    bool compare = op == 8 || op == 10 || op == 11; /* tst, cmp, cmn */
    return compare || uspi_arm_plain(out, h & 7);
}

/* A6.2.3 */
static bool special16(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    unsigned reg = (h >> 4 & 8) | (h & 7), source = h >> 3 & 15;
    switch (h >> 8 & 3) {
    case 0:
        if (reg == USPI_ARM_PC && source == USPI_ARM_PC) return false;
        uspi_arm_result_register(out, code, USPI_ARM_ADD, (struct uspi_arm_operands){reg, reg, source, false});
        return true;
    case 1: return true; /* cmp */
    case 2:
        uspi_arm_result_register(out, code, USPI_ARM_MOVE, (struct uspi_arm_operands){reg, 0, source, false});
        return true;
    default:
        if (h & 7) return false;
        if (h >> 7 & 1) {
            if (source == USPI_ARM_PC) return false;
            uspi_arm_call(out, 0, 0);
        } else if (source == USPI_ARM_PC) { /* bx pc: linkers enter ARM stubs with it */
            uspi_arm_jump(out, code->pc, 0);
        } else {
            uspi_arm_jump_register(out, code, source);
        }
        return true;
    }
}

/* A6.2.4 */
static void transfer16(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    struct uspi_arm_transfer t = {.reg = (uint8_t)(h & 7), .base = (uint8_t)(h >> 3 & 7)};
    if (h >> 12 == 5) {
        static const uint8_t sizes[8] = {4, 2, 1, 1, 4, 2, 1, 2}; /* str strh strb ldrsb ldr ldrh ldrb ldrsh */
        unsigned op = h >> 9 & 7;
        t.size = sizes[op];
        t.load = op >= 3;
        uspi_arm_transfer_register(out, code, &t, h >> 6 & 7, false, false);
        return;
    }
    t.load = h >> 11 & 1;
    if (h >> 12 == 9) {
        t.size = 4;
        t.reg = h >> 8 & 7;
        t.base = USPI_ARM_SP;
        t.offset = (int32_t)(h & 0xff) * 4;
    } else {
        t.size = h >> 12 == 6 ? 4 : h >> 12 == 7 ? 1 : 2;
        t.offset = (int32_t)(h >> 6 & 31) * t.size;
    }
    uspi_arm_transfer(out, code, &t);
}

/* Transfers registers from the base upwards. */
static void transfer_upwards(struct uspi_instruction *out, bool load, unsigned base, unsigned list, bool write_back) {
    uspi_arm_multiple(out, (struct uspi_arm_multiple){.load = load,
                                                      .write_back = write_back,
                                                      .base = base,
                                                      .list = list,
                                                      .change = 4 * (int32_t)uspi_arm_count(list)});
}

static bool push(struct uspi_instruction *out, unsigned list) {
    int32_t size = 4 * (int32_t)uspi_arm_count(list);
    uspi_arm_multiple(
        out,
        (struct uspi_arm_multiple){
            .load = false, .write_back = true, .base = USPI_ARM_SP, .list = list, .offset = -size, .change = -size});
    return list != 0;
}

static bool pop(struct uspi_instruction *out, unsigned list) {
    transfer_upwards(out, true, USPI_ARM_SP, list, true);
    return list != 0;
}

/* A6.2.5 */
static bool miscellaneous16(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    switch (h >> 8 & 15) {
    case 0: /* add sp, sub sp */
        uspi_arm_result(out, code, h >> 7 & 1 ? USPI_ARM_SUBTRACT : USPI_ARM_ADD, USPI_ARM_SP, USPI_ARM_SP,
                        (h & 0x7f) * 4);
        return true;
    case 1:
    case 3:
    case 9:
    case 11: /* cbz, cbnz */
        uspi_arm_jump(out, code->pc + (h >> 3 & 0x40) + (h >> 2 & 0x3e), USPI_MODE_THUMB);
        out->flow = USPI_BRANCH;
        return true;
    case 2: return uspi_arm_plain(out, h & 7); /* sxth … */
    case 4:
    case 5: return push(out, (h & 0xff) | (h & 0x100 ? 1u << USPI_ARM_LR : 0));
    case 6: return (h & 0xe0) == 0x60 || (h & 0xf7) == 0x50 || (h & 0xf7) == 0x10; /* cps, setend, setpan */
    case 10:
        if ((h >> 6 & 3) != 2) return uspi_arm_plain(out, h & 7); /* rev … */
        out->flow = USPI_END;                                     /* hlt */
        return true;
    case 12:
    case 13: return pop(out, (h & 0xff) | (h & 0x100 ? 1u << USPI_ARM_PC : 0));
    case 14: out->flow = USPI_END; return true; /* bkpt */
    case 15: return true;                       /* it, hints */
    default: return false;
    }
}

/* A6.2.6 */
static bool branch16(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    unsigned condition = h >> 8 & 15;
    if (condition == 14) { /* udf */
        out->flow = USPI_END;
    } else if (condition == 15) { /* svc: Linux returns r0, Darwin r0 and r1 */
        out->clobbers |= 3;
    } else {
        uspi_arm_jump(out, code->pc + (uint32_t)uspi_sign_extend((uint64_t)(h & 0xff) << 1, 9), USPI_MODE_THUMB);
        out->flow = USPI_BRANCH;
        out->conditional = (uint8_t)(condition + 1);
    }
    return true;
}

/* A6.2 */
static bool narrow(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t h) {
    unsigned reg = h >> 8 & 7, list = h & 0xff;
    switch (h >> 11) {
    case 8:
        if (h >> 10 & 1) return special16(out, code, h);
        return data_processing16(out, h);
    case 9: {
        struct uspi_arm_transfer t = {.load = true, .size = 4, .reg = (uint8_t)reg, .base = USPI_ARM_PC};
        t.offset = (int32_t)list * 4;
        uspi_arm_transfer(out, code, &t);
        return true;
    }
    case 20: uspi_arm_result(out, code, USPI_ARM_ADD, reg, USPI_ARM_PC, list * 4); return true; /* adr */
    case 21: uspi_arm_result(out, code, USPI_ARM_ADD, reg, USPI_ARM_SP, list * 4); return true;
    case 22:
    case 23: return miscellaneous16(out, code, h);
    case 24: transfer_upwards(out, false, reg, list, true); return list != 0; /* stm, always with write-back */
    case 25: /* ldm, with write-back unless the base is loaded */
        transfer_upwards(out, true, reg, list, !(list >> reg & 1));
        return list != 0;
    case 26:
    case 27: return branch16(out, code, h);
    case 28:
        uspi_arm_jump(out, code->pc + (uint32_t)uspi_sign_extend((uint64_t)(h & 0x7ff) << 1, 12), USPI_MODE_THUMB);
        return true;
    default:
        if (h >> 11 < 8) return shift_add_compare(out, code, h);
        transfer16(out, code, h);
        return true;
    }
}

/* ---- 32 bits ---- */

/* A6.3.2 */
static uint32_t expand_immediate(uint32_t w) {
    uint32_t imm12 = (w >> 15 & 0x800) | (w >> 4 & 0x700) | (w & 0xff), byte = w & 0xff;
    if (imm12 < 0x400) {
        static const uint32_t patterns[4] = {0x00000001, 0x00010001, 0x01000100, 0x01010101};
        return byte * patterns[imm12 >> 8];
    }
    unsigned by = imm12 >> 7;
    uint32_t value = 0x80 | (imm12 & 0x7f);
    return value >> by | value << (32 - by);
}

/* The operations of A6.3.1 and A6.3.11. If the first register is pc, orr and orn are mov and mvn. If the destination is
 * pc, four operations are comparisons. All others with pc are undefined. */
static bool operation32(unsigned op, unsigned reg, unsigned first, bool set_flags, bool *compare,
                        enum uspi_arm_operation *operation) {
    *compare = reg == USPI_ARM_PC && set_flags && (op == 0 || op == 4 || op == 8 || op == 13);
    *operation = USPI_ARM_OTHER;
    switch (op) {
    case 0:
    case 1:
    case 4:
    case 10:
    case 11:
    case 14: break;
    case 2:
        if (first == USPI_ARM_PC) *operation = USPI_ARM_MOVE;
        break;
    case 3:
        if (first == USPI_ARM_PC) *operation = USPI_ARM_NOT;
        break;
    case 8: *operation = USPI_ARM_ADD; break;
    case 13: *operation = USPI_ARM_SUBTRACT; break;
    default: return false;
    }
    return (*compare || reg != USPI_ARM_PC) && (first != USPI_ARM_PC || op == 2 || op == 3);
}

/* A6.3.1 */
static bool modified_immediate(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned reg = uspi_arm_bits(w, 11, 8), first = uspi_arm_bits(w, 19, 16);
    bool compare;
    enum uspi_arm_operation operation;
    if (!operation32(uspi_arm_bits(w, 24, 21), reg, first, w >> 20 & 1, &compare, &operation)) return false;
    if (!compare) uspi_arm_result(out, code, operation, reg, first, expand_immediate(w));
    return true;
}

/* A6.3.11 */
static bool shifted_register(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 24, 21), reg = uspi_arm_bits(w, 11, 8), first = uspi_arm_bits(w, 19, 16);
    bool compare;
    enum uspi_arm_operation operation;
    if (op == 6) return !(w >> 20 & 1) && uspi_arm_plain(out, reg); /* pkh */
    if (!operation32(op, reg, first, w >> 20 & 1, &compare, &operation)) return false;
    if (!compare)
        uspi_arm_result_register(out, code, operation,
                                 (struct uspi_arm_operands){reg, first, w & 15, (w & 0x70f0) != 0});
    return true;
}

/* A6.3.3 */
static bool plain_immediate(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned reg = uspi_arm_bits(w, 11, 8), first = uspi_arm_bits(w, 19, 16);
    uint32_t imm12 = (w >> 15 & 0x800) | (w >> 4 & 0x700) | (w & 0xff), half = first << 12 | imm12;
    if (reg == USPI_ARM_PC) return false;
    switch (uspi_arm_bits(w, 24, 20)) {
    case 0: uspi_arm_result(out, code, USPI_ARM_ADD, reg, first, imm12); return true;
    case 4: uspi_add_effect(out, USPI_SET, reg, USPI_NO_REGISTER, half); return true; /* movw */
    case 10: uspi_arm_result(out, code, USPI_ARM_SUBTRACT, reg, first, imm12); return true;
    case 12: uspi_add_effect(out, USPI_INSERT, reg, USPI_NO_REGISTER, half)->index = 16; return true; /* movt */
    case 16:                                                                                          /* ssat */
    case 18:                                                                                          /* ssat16 */
    case 20:                                                                                          /* sbfx */
    case 22:                                                                                          /* bfi, bfc */
    case 24:                                                                                          /* usat */
    case 26:                                                                                          /* usat16 */
    case 28: return uspi_arm_plain(out, reg);                                                         /* ubfx */
    default: return false;
    }
}

/* The offset of b.w, bl and blx, before the lowest bit of blx is cleared. */
static uint32_t wide_offset(uint32_t w) {
    uint32_t s = w >> 26 & 1, i1 = ~((w >> 13 & 1) ^ s) & 1, i2 = ~((w >> 11 & 1) ^ s) & 1;
    uint32_t offset = s << 24 | i1 << 23 | i2 << 22 | uspi_arm_bits(w, 25, 16) << 12 | (w & 0x7ff) << 1;
    return (uint32_t)uspi_sign_extend(offset, 25);
}

static uint32_t conditional_offset(uint32_t w) {
    uint32_t offset = (w >> 26 & 1) << 20 | (w >> 11 & 1) << 19 | (w >> 13 & 1) << 18 | uspi_arm_bits(w, 21, 16) << 12 |
                      (w & 0x7ff) << 1;
    return (uint32_t)uspi_sign_extend(offset, 21);
}

/* A6.3.4 where bits 14 and 12 are clear and bits 25:23 are all set */
static bool system_control(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 26, 20), op1 = uspi_arm_bits(w, 14, 12);
    switch (op) {
    case 0x38:
    case 0x39: /* msr */
    case 0x3a: /* cps, hints */
    case 0x3b: /* clrex, dsb, dmb, isb, sb */ return true;
    case 0x3c: /* bxj, which behaves as bx */
        if (uspi_arm_bits(w, 19, 16) == USPI_ARM_PC) return false;
        uspi_arm_jump_register(out, code, uspi_arm_bits(w, 19, 16));
        return true;
    case 0x3d: /* subs pc, lr; eret */
    case 0x78: /* dcps */ out->flow = USPI_END; return true;
    case 0x3e:
    case 0x3f: return uspi_arm_plain(out, uspi_arm_bits(w, 11, 8)); /* mrs */
    case 0x7e:
    case 0x7f:
        if (op1 == 2) {
            out->flow = USPI_END; /* udf */
            return op == 0x7f;
        }
        out->clobbers |= 0xf; /* hvc, smc: by the SMC calling convention results are in r0 … r3 */
        return true;
    default: return false;
    }
}

/* A6.3.4 */
static bool branch_control(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    switch (w >> 12 & 5) {
    case 0:
        if ((w >> 23 & 7) == 7) return system_control(out, code, w);
        uspi_arm_jump(out, code->pc + conditional_offset(w), USPI_MODE_THUMB);
        out->flow = USPI_BRANCH;
        out->conditional = (uint8_t)(uspi_arm_bits(w, 25, 22) + 1);
        return true;
    case 1: uspi_arm_jump(out, code->pc + wide_offset(w), USPI_MODE_THUMB); return true;
    case 4:
        if (w & 1) return false;
        uspi_arm_call(out, (code->pc & ~3u) + wide_offset(w), 0);
        return true;
    default: uspi_arm_call(out, code->pc + wide_offset(w), USPI_MODE_THUMB); return true;
    }
}

/* A6.3.5 */
static bool multiple32(struct uspi_instruction *out, uint32_t w) {
    unsigned op = uspi_arm_bits(w, 24, 23), base = uspi_arm_bits(w, 19, 16), list = w & 0xffff;
    bool write_back = w >> 21 & 1, load = w >> 20 & 1;
    if (op == 0 || op == 3) {
        if (load) {
            out->flow = USPI_END; /* rfe */
        } else if (write_back) {
            uspi_arm_unknown(out, USPI_ARM_SP); /* srs, to the stack of the mode that it names */
        }
        return true;
    }
    if (base == USPI_ARM_PC || list == 0) return false;
    int32_t size = 4 * (int32_t)uspi_arm_count(list);
    uspi_arm_multiple(out, (struct uspi_arm_multiple){.load = load,
                                                      .write_back = write_back,
                                                      .base = base,
                                                      .list = list,
                                                      .offset = op == 1 ? 0 : -size,
                                                      .change = op == 1 ? size : -size});
    return true;
}

/* tbb, tbh. With pc as base, the table follows the instruction. */
static bool table_branch(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool halfwords = w >> 4 & 1;
    out->flow = USPI_JUMP_TABLE;
    out->target_mode = USPI_MODE_THUMB;
    if (uspi_arm_bits(w, 19, 16) == USPI_ARM_PC && code->n >= 6) {
        uint32_t entry = halfwords ? uspi_le16(code->bytes + 4) : code->bytes[4];
        out->target = code->pc + 2 * entry;
    }
    return true;
}

/* A6.3.6 with bits 24 and 21 clear: exclusives, table branches, and ARMv8's load-acquire and store-release */
static bool synchronization(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool load = w >> 20 & 1;
    unsigned base = uspi_arm_bits(w, 19, 16), reg = uspi_arm_bits(w, 15, 12), second = uspi_arm_bits(w, 11, 8);
    if (!(w >> 23 & 1)) { /* ldrex, strex */
        if (base == USPI_ARM_PC || reg == USPI_ARM_PC) return false;
        if (load) return uspi_arm_plain(out, reg);
        uspi_arm_store_unknown(out, base, (int32_t)(w & 0xff) * 4, 4);
        return uspi_arm_plain(out, second);
    }
    unsigned op = uspi_arm_bits(w, 7, 4);
    if (op < 2) return load && table_branch(out, code, w);
    /* by the two low bits: byte, halfword, word, doubleword; ops 4 … 7: exclusive, 8 … 11: ordered, 12 … 15: both */
    uint32_t size = 1u << (op & 3);
    if (op < 4 || op == 6 || op == 11 || base == USPI_ARM_PC || reg == USPI_ARM_PC) return false;
    if (load) return uspi_arm_plain(out, reg) && (size < 8 || uspi_arm_plain(out, second));
    uspi_arm_store_unknown(out, base, 0, size);
    return op < 12 && op >= 8 ? true : uspi_arm_plain(out, w & 15);
}

/* A6.3.6 */
static bool dual_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool pre = w >> 24 & 1, up = w >> 23 & 1, write_back = w >> 21 & 1;
    if (!pre && !write_back) return synchronization(out, code, w);
    int32_t amount = (int32_t)(w & 0xff) * 4;
    struct uspi_arm_transfer t = {.load = w >> 20 & 1, .size = 8, .write_back = write_back, .post_indexed = !pre};
    t.reg = (uint8_t)uspi_arm_bits(w, 15, 12);
    t.second = (uint8_t)uspi_arm_bits(w, 11, 8);
    t.base = (uint8_t)uspi_arm_bits(w, 19, 16);
    t.offset = up ? amount : -amount;
    if (t.reg == USPI_ARM_PC || t.second == USPI_ARM_PC || (t.load && t.reg == t.second)) return false;
    if (t.base == USPI_ARM_PC && (write_back || !t.load)) return false;
    uspi_arm_transfer(out, code, &t);
    return true;
}

/* A6.3.7 to A6.3.10 */
static bool transfer32(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool load = w >> 20 & 1, sign = w >> 24 & 1, long_offset = w >> 23 & 1;
    unsigned base = uspi_arm_bits(w, 19, 16), reg = uspi_arm_bits(w, 15, 12), size = uspi_arm_bits(w, 22, 21);
    struct uspi_arm_transfer t = {
        .load = load, .size = (uint8_t)(1u << size), .reg = (uint8_t)reg, .base = (uint8_t)base};
    if (size == 3 || (sign && size == 2)) return false;
    if (reg == USPI_ARM_PC && !load) return false;
    if (base == USPI_ARM_PC) {
        if (!load) return false;
        t.offset = long_offset ? (int32_t)(w & 0xfff) : -(int32_t)(w & 0xfff);
    } else if (long_offset) {
        t.offset = (int32_t)(w & 0xfff);
    } else if (w >> 11 & 1) {
        bool pre = w >> 10 & 1, up = w >> 9 & 1, write_back = w >> 8 & 1;
        if (!pre && !write_back) return false;
        t.post_indexed = !pre;
        t.write_back = write_back;
        t.offset = up ? (int32_t)(w & 0xff) : -(int32_t)(w & 0xff);
    } else if ((w >> 6 & 0x3f) == 0) {
        if (size < 2 && reg == USPI_ARM_PC) return true; /* pld, pli */
        uspi_arm_transfer_register(out, code, &t, w & 15, (w & 0x30) != 0, false);
        return true;
    } else {
        return false;
    }
    if (size < 2 && reg == USPI_ARM_PC) return !t.write_back; /* pld, pli, and reserved hints */
    uspi_arm_transfer(out, code, &t);
    return true;
}

/* A6.3.12 to A6.3.15 */
static bool register_operation(struct uspi_instruction *out, uint32_t w) {
    unsigned op1 = uspi_arm_bits(w, 23, 20), op2 = uspi_arm_bits(w, 7, 4), reg = uspi_arm_bits(w, 11, 8);
    if (uspi_arm_bits(w, 15, 12) != 15) return false;
    if (op1 < 8) {
        bool shift = op2 == 0, extend = op2 >= 8 && op1 < 6;
        return (shift || extend) && uspi_arm_plain(out, reg);
    }
    bool parallel = op2 < 8 && (op2 & 3) != 3 && (op1 & 7) != 3 && op1 != 15;
    bool other = op2 >= 8 && op2 < 12 && op1 < 14; /* qadd, rev, sel, clz, crc32 … */
    return (parallel || other) && uspi_arm_plain(out, reg);
}

/* A6.3.16, A6.3.17 */
static bool multiply(struct uspi_instruction *out, uint32_t w) {
    unsigned op1 = uspi_arm_bits(w, 22, 20), op2 = uspi_arm_bits(w, 7, 4);
    unsigned high = uspi_arm_bits(w, 11, 8), low = uspi_arm_bits(w, 15, 12);
    if (!(w >> 23 & 1)) return op2 < 4 && uspi_arm_plain(out, high);
    if (op1 == 1 || op1 == 3) return op2 == 15 && uspi_arm_plain(out, high); /* sdiv, udiv */
    return op1 != 7 && uspi_arm_plain(out, low) && uspi_arm_plain(out, high);
}

/* A6.3 */
static bool wide(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    switch (w >> 25 & 15) {
    case 4: return w >> 22 & 1 ? dual_transfer(out, code, w) : multiple32(out, w);
    case 5: return shifted_register(out, code, w);
    case 8:
    case 10: return w >> 15 & 1 ? branch_control(out, code, w) : modified_immediate(out, code, w);
    case 9:
    case 11: return w >> 15 & 1 ? branch_control(out, code, w) : plain_immediate(out, code, w);
    case 12:
        if (w >> 24 & 1 && !(w >> 20 & 1)) return uspi_arm_structures(out, w);
        return transfer32(out, code, w);
    case 13: return w >> 24 & 1 ? multiply(out, w) : register_operation(out, w);
    case 6:
    case 14: return uspi_arm_coprocessor(out, code, w);
    default: /* 7, 15: Advanced SIMD data processing has bits 27:24 set, the rest is for coprocessors */
        return (w >> 24 & 1) || uspi_arm_coprocessor(out, code, w);
    }
}

/* Returns whether an instruction sets flags inside an IT block. There, narrow instructions set flags only if they do
 * nothing else (A6.2.1, A6.2.2, A6.2.3). */
static bool sets_flags(uint32_t w, bool is_narrow) {
    if (is_narrow) {
        const unsigned op = w >> 6 & 0x3ff;
        return w >> 11 == 5 || op == 0x108 || op == 0x10a || op == 0x10b ||
               w >> 8 == 0x45; /* cmp, tst, cmp, cmn, cmp */
    }
    if (!(w >> 20 & 1)) return false;
    const bool is_immediate = w >> 27 == 0x1e && !(w >> 25 & 1) && !(w >> 15 & 1); /* A6.3.1 */
    return is_immediate || w >> 25 == 0x75 || w >> 23 == 0x1f4;                    /* A6.3.11, A6.3.12 */
}

/* A2.5.2, ITAdvance */
static uint32_t it_advance(uint32_t state) { return state & 7 ? (state & 0xe0) | (state << 1 & 0x1f) : 0; }

bool uspi_arm_decode_thumb(const struct uspi_arm_code *code, uint32_t it_state, struct uspi_instruction *out) {
    if (code->n < 2) return false;
    uint32_t h = uspi_le16(code->bytes), next = it_advance(it_state);
    unsigned condition = it_state >> 4;
    bool is_narrow = h >> 11 < 29;
    out->sets_flags = sets_flags(is_narrow || code->n < 4 ? h : h << 16 | uspi_le16(code->bytes + 2), is_narrow);
    if (is_narrow) {
        out->length = 2;
        if (!narrow(out, code, h)) return false;
        if (h >> 8 == 0xbf && h & 15) { /* it */
            if (it_state) return false;
            next = h & 0xff;
        }
    } else if (code->n < 4 || !wide(out, code, h << 16 | uspi_le16(code->bytes + 2))) {
        return false;
    }
    out->mode = USPI_MODE_THUMB | next << USPI_MODE_IT_SHIFT;
    bool always = h >> 8 == 0xbe; /* bkpt */
    if (it_state == 0 || condition >= USPI_ARM_COND_ALWAYS || always) return true;
    if (out->flow == USPI_JUMP) out->flow = USPI_BRANCH;
    out->conditional = (uint8_t)(condition + 1);
    return true;
}
