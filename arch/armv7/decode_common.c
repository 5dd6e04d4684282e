/* SPDX-License-Identifier: MIT */
/* Describes what the two instruction sets share; see decode.h. */
#include "arch/armv7/decode.h"

/* One effect stays free for the write-back. */
#define STORE_WORDS_MAX (USPI_EFFECTS_MAX - 1)

void uspi_arm_unknown(struct uspi_instruction *out, unsigned reg) {
    if (reg == USPI_ARM_PC) {
        out->flow = USPI_JUMP_UNKNOWN;
        out->target_register = USPI_NO_REGISTER;
    } else {
        out->clobbers |= UINT64_C(1) << reg;
    }
}

bool uspi_arm_plain(struct uspi_instruction *out, unsigned reg) {
    if (reg == USPI_ARM_PC) return false;
    uspi_arm_unknown(out, reg);
    return true;
}

void uspi_arm_jump(struct uspi_instruction *out, uint32_t target, uint32_t mode) {
    out->flow = USPI_JUMP;
    out->target = target & (mode & USPI_MODE_THUMB ? ~1u : ~3u);
    out->target_mode = mode;
}

void uspi_arm_jump_register(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg) {
    if (reg == USPI_ARM_PC) {
        uspi_arm_jump(out, code->pc, code->mode);
    } else {
        out->flow = reg == USPI_ARM_LR ? USPI_RETURN : USPI_JUMP_UNKNOWN;
        out->target_register = (uint8_t)reg;
    }
}

void uspi_arm_call(struct uspi_instruction *out, uint32_t target, uint32_t mode) {
    out->flow = USPI_CALL;
    out->target = target & (mode & USPI_MODE_THUMB ? ~1u : ~3u);
    out->target_mode = mode;
    out->clobbers |= UINT64_C(1) << USPI_ARM_LR;
}

void uspi_arm_constant(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg, uint32_t value) {
    if (reg == USPI_ARM_PC) {
        uspi_arm_jump(out, value, code->mode | (value & USPI_MODE_THUMB));
    } else {
        uspi_add_effect(out, USPI_SET, reg, USPI_NO_REGISTER, (int32_t)value);
    }
}

/* reg = base + value, base not pc. */
static void sum(struct uspi_instruction *out, unsigned reg, unsigned base, uint32_t value) {
    if (reg == USPI_ARM_PC) {
        uspi_arm_unknown(out, reg);
    } else {
        uspi_add_effect(out, USPI_SET, reg, base, (int32_t)value);
    }
}

static void combine(struct uspi_instruction *out, uint8_t op, unsigned reg, unsigned base, unsigned index) {
    uspi_add_effect(out, op, reg, base, 0)->index = (uint8_t)index;
}

void uspi_arm_result(struct uspi_instruction *out, const struct uspi_arm_code *code, enum uspi_arm_operation operation,
                     unsigned reg, unsigned first, uint32_t immediate) {
    switch (operation) {
    case USPI_ARM_MOVE: uspi_arm_constant(out, code, reg, immediate); return;
    case USPI_ARM_NOT: uspi_arm_constant(out, code, reg, ~immediate); return;
    case USPI_ARM_SUBTRACT: immediate = 0u - immediate; break;
    case USPI_ARM_ADD: break;
    default: uspi_arm_unknown(out, reg); return;
    }
    if (first == USPI_ARM_PC) {
        uspi_arm_constant(out, code, reg, (code->pc & ~3u) + immediate);
    } else {
        sum(out, reg, first, immediate);
    }
}

void uspi_arm_result_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                              enum uspi_arm_operation operation, struct uspi_arm_operands operands) {
    const unsigned reg = operands.reg, first = operands.first, second = operands.second;
    const bool shifted = operands.shifted;
    if (reg == USPI_ARM_PC && operation == USPI_ARM_ADD) {
        /* A switch computes its destination in this way. If the index is shifted, the table has branches of four bytes
         * each, the first at the value that is read from pc. Otherwise pc is added to a distance from a table
         * elsewhere. A linker's veneer adds pc to a constant (in Arm code). */
        const bool adds_pc = code->mode == 0 && !shifted && (first == USPI_ARM_PC) != (second == USPI_ARM_PC);
        if (adds_pc) {
            const unsigned other = first == USPI_ARM_PC ? second : first;
            uspi_add_effect(out, USPI_SET, USPI_ARM_PC, other, (int32_t)code->pc);
            out->target_register = USPI_ARM_PC;
        }
        out->flow = USPI_JUMP_TABLE;
        out->target_mode = code->mode;
        out->target = first == USPI_ARM_PC && second != USPI_ARM_PC && shifted ? code->pc : 0;
    } else if (shifted || operation == USPI_ARM_OTHER || operation == USPI_ARM_NOT) {
        uspi_arm_unknown(out, reg);
    } else if (operation == USPI_ARM_MOVE) {
        if (reg == USPI_ARM_PC) {
            uspi_arm_jump_register(out, code, second);
        } else if (second == USPI_ARM_PC) {
            uspi_arm_constant(out, code, reg, code->pc);
        } else {
            uspi_add_effect(out, USPI_SET, reg, second, 0);
        }
    } else if (reg == USPI_ARM_PC) {
        uspi_arm_unknown(out, reg);
    } else if (operation == USPI_ARM_ADD) {
        if (first == USPI_ARM_PC && second == USPI_ARM_PC) {
            uspi_arm_constant(out, code, reg, code->pc + code->pc);
        } else if (first == USPI_ARM_PC || second == USPI_ARM_PC) {
            sum(out, reg, first == USPI_ARM_PC ? second : first, code->pc);
        } else {
            combine(out, USPI_ADD, reg, first, second);
        }
    } else if (first == USPI_ARM_PC) {
        uspi_arm_unknown(out, reg);
    } else if (second == USPI_ARM_PC) {
        sum(out, reg, first, 0u - code->pc);
    } else {
        combine(out, USPI_SUBTRACT, reg, first, second);
    }
}

void uspi_arm_store_unknown(struct uspi_instruction *out, unsigned base, int32_t offset, uint32_t size) {
    if (base == USPI_ARM_PC) return;
    int64_t word = size % 4 == 0 ? offset : offset & ~3;
    int64_t end = (int64_t)offset + size;
    if (end - word > 4 * STORE_WORDS_MAX) return;
    for (; word < end; word += 4) uspi_add_effect(out, USPI_STORE, USPI_NO_REGISTER, base, word);
}

static void load_word(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned reg, unsigned base,
                      int32_t offset) {
    if (base == USPI_ARM_PC) {
        uspi_add_effect(out, USPI_LITERAL, reg, USPI_NO_REGISTER, (uint32_t)((code->pc & ~3u) + (uint32_t)offset));
    } else {
        uspi_add_effect(out, USPI_LOAD, reg, base, offset);
    }
}

/* Notes that an instruction loads data relative to pc. */
static void note_data(struct uspi_instruction *out, const struct uspi_arm_code *code, unsigned base, int32_t offset) {
    if (base == USPI_ARM_PC) out->data = (code->pc & ~3u) + (uint32_t)offset;
}

/* Describes a load. False when the instruction loads its base and also writes it back, which is undefined. */
static bool load(struct uspi_instruction *out, const struct uspi_arm_code *code, const struct uspi_arm_transfer *t,
                 int32_t offset) {
    bool dual = t->size == 8;
    if (t->write_back && (t->reg == t->base || (dual && t->second == t->base))) {
        uspi_arm_unknown(out, t->reg);
        if (dual) uspi_arm_unknown(out, t->second);
        uspi_arm_unknown(out, t->base);
        return false;
    }
    note_data(out, code, t->base, offset);
    if (t->size < 4) {
        uspi_arm_unknown(out, t->reg);
    } else if (t->reg == USPI_ARM_PC) {
        /* A value from the stack is a return address; from anywhere else, it is a stub's or a table's pointer. */
        load_word(out, code, USPI_ARM_PC, t->base, offset);
        out->flow = t->base == USPI_ARM_SP ? USPI_RETURN : USPI_JUMP_UNKNOWN;
        out->target_register = USPI_ARM_PC;
    } else if (!dual) {
        load_word(out, code, t->reg, t->base, offset);
    } else if (t->reg == t->base) {
        load_word(out, code, t->second, t->base, offset + 4);
        load_word(out, code, t->reg, t->base, offset);
    } else {
        load_word(out, code, t->reg, t->base, offset);
        load_word(out, code, t->second, t->base, offset + 4);
    }
    return true;
}

static void store_word(struct uspi_instruction *out, const struct uspi_arm_transfer *t, unsigned reg, int32_t offset) {
    bool unknown = reg == USPI_ARM_PC || (t->write_back && reg == t->base);
    uspi_add_effect(out, USPI_STORE, unknown ? USPI_NO_REGISTER : reg, t->base, offset);
}

static void store(struct uspi_instruction *out, const struct uspi_arm_transfer *t, int32_t offset) {
    if (t->base == USPI_ARM_PC) return;
    if (t->size < 4) {
        uspi_arm_store_unknown(out, t->base, offset, t->size);
        return;
    }
    store_word(out, t, t->reg, offset);
    if (t->size == 8) store_word(out, t, t->second, offset + 4);
}

void uspi_arm_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code,
                       const struct uspi_arm_transfer *t) {
    int32_t offset = t->post_indexed ? 0 : t->offset;
    if (t->load) {
        if (!load(out, code, t, offset)) return;
    } else {
        store(out, t, offset);
    }
    if (t->write_back) sum(out, t->base, t->base, (uint32_t)t->offset);
}

void uspi_arm_transfer_register(struct uspi_instruction *out, const struct uspi_arm_code *code,
                                const struct uspi_arm_transfer *t, unsigned index, bool shifted, bool subtract) {
    if (t->post_indexed) {
        if (!t->load) {
            store(out, t, 0);
        } else if (!load(out, code, t, 0)) {
            return;
        }
    } else if (t->load) {
        note_data(out, code, t->base, 0);
        uspi_arm_unknown(out, t->reg);
        if (t->size == 8) uspi_arm_unknown(out, t->second);
    }
    if (!t->write_back) return;
    bool overwritten = t->load && (t->reg == t->base || (t->size == 8 && t->second == t->base));
    bool index_overwritten =
        t->load && t->reg != USPI_ARM_PC && (t->reg == index || (t->size == 8 && t->second == index));
    if (shifted || overwritten || index_overwritten || t->base == USPI_ARM_PC || index == USPI_ARM_PC) {
        uspi_arm_unknown(out, t->base);
    } else {
        combine(out, subtract ? USPI_SUBTRACT : USPI_ADD, t->base, t->base, index);
    }
}

void uspi_arm_multiple(struct uspi_instruction *out, struct uspi_arm_multiple transfer) {
    const bool is_load = transfer.load, write_back = transfer.write_back;
    const unsigned base = transfer.base, list = transfer.list;
    int32_t offset = transfer.offset;
    bool lowest = true, base_listed = list >> base & 1;
    int32_t base_at = 0;
    for (unsigned reg = 0; reg < 16; reg++) {
        if (!(list >> reg & 1)) continue;
        if (!is_load) {
            bool unknown = reg == USPI_ARM_PC || (reg == base && write_back && !lowest);
            uspi_add_effect(out, USPI_STORE, unknown ? USPI_NO_REGISTER : reg, base, offset);
        } else if (reg == base) {
            base_at = offset;
        } else {
            uspi_add_effect(out, USPI_LOAD, reg, base, offset);
        }
        lowest = false;
        offset += 4;
    }
    if (is_load && base_listed) {
        if (write_back) {
            uspi_arm_unknown(out, base);
        } else {
            uspi_add_effect(out, USPI_LOAD, base, base, base_at);
        }
    } else if (write_back) {
        sum(out, base, base, (uint32_t)transfer.change);
    }
    if (is_load && list >> USPI_ARM_PC & 1) {
        out->flow = USPI_RETURN;
        out->target_register = USPI_ARM_PC;
    }
}

/* bits 27:25 are 110: loads, stores, and moves of two core registers */
static bool coprocessor_transfer(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    bool pre = w >> 24 & 1, up = w >> 23 & 1, write_back = w >> 21 & 1, is_load = w >> 20 & 1;
    unsigned base = uspi_arm_bits(w, 19, 16), coprocessor = uspi_arm_bits(w, 11, 8);
    if (!pre && !up && !write_back) {
        if (!(w >> 22 & 1)) return false;
        unsigned reg = uspi_arm_bits(w, 15, 12);
        if (reg == USPI_ARM_PC || base == USPI_ARM_PC) return false;
        if (is_load) {
            uspi_arm_unknown(out, reg);
            uspi_arm_unknown(out, base);
        }
        return true;
    }
    int32_t amount = (int32_t)(w & 0xff) * 4, change = up ? amount : -amount;
    if (write_back && base == USPI_ARM_PC) return false;
    if (coprocessor == 9 && pre && !write_back) { /* vstr.16, vldr.16: ARMv8.2 */
        if (!is_load) uspi_arm_store_unknown(out, base, change / 2, 2);
        return true;
    }
    if (coprocessor != 10 && coprocessor != 11) {
        if (write_back) sum(out, base, base, (uint32_t)change);
        return true;
    }
    if (pre == up && write_back) return false;
    if (pre && !write_back) {
        uint32_t size = w & 0x100 ? 8 : 4;
        if (is_load) note_data(out, code, base, change);
        if (!is_load) uspi_arm_store_unknown(out, base, change, size);
        return true;
    }
    if (!is_load) {
        /* fstmx has an odd number of words; it does not write the last one. */
        uint32_t size = (uint32_t)amount & (coprocessor == 11 ? ~7u : ~0u);
        uspi_arm_store_unknown(out, base, up ? 0 : change, size);
    }
    if (write_back) sum(out, base, base, (uint32_t)change);
    return true;
}

bool uspi_arm_coprocessor(struct uspi_instruction *out, const struct uspi_arm_code *code, uint32_t w) {
    unsigned coprocessor = uspi_arm_bits(w, 11, 8);
    /* ARMv8 uses the encodings of ldc2, mcr2 … of coprocessors 8 to 13 for more vector instructions. */
    bool vector = w >> 28 == 15 && coprocessor >= 8 && coprocessor <= 13;
    if (vector) return true;
    if (!(w >> 25 & 1)) return coprocessor_transfer(out, code, w);
    unsigned reg = uspi_arm_bits(w, 15, 12);
    bool to_core = (w >> 4 & 1) && (w >> 20 & 1);
    if (to_core && reg != USPI_ARM_PC) uspi_arm_unknown(out, reg); /* mrc, vmrs to r15 write the flags */
    return true;
}

bool uspi_arm_structures(struct uspi_instruction *out, uint32_t w) {
    /* registers by type (bits 11:8); 0: undefined */
    static const uint8_t registers[16] = {4, 4, 4, 4, 3, 3, 3, 1, 2, 2, 2};
    unsigned base = uspi_arm_bits(w, 19, 16), index = w & 15, size_bits = uspi_arm_bits(w, 11, 10);
    bool is_load = w >> 21 & 1;
    uint32_t size;
    if (!(w >> 23 & 1)) {
        size = 8u * registers[uspi_arm_bits(w, 11, 8)];
        if (size == 0) return false;
    } else {
        unsigned elements = uspi_arm_bits(w, 9, 8) + 1;
        if (size_bits == 3) {
            if (!is_load) return false;
            unsigned lane = uspi_arm_bits(w, 7, 6);
            size = elements << (lane == 3 ? 2 : lane);
        } else {
            size = elements << size_bits;
        }
    }
    if (base == USPI_ARM_PC) return false;
    if (!is_load) uspi_arm_store_unknown(out, base, 0, size);
    if (index == USPI_ARM_SP) {
        sum(out, base, base, size);
    } else if (index != USPI_ARM_PC) {
        combine(out, USPI_ADD, base, base, index);
    }
    return true;
}
