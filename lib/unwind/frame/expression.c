/* SPDX-License-Identifier: MIT */
/* See expression.h. */
#include "lib/unwind/frame/expression.h"

/* Limits of the number of operations and of entries on the stack. The expression of a procedure linkage table needs ten
 * operations and three entries. Loops must end. */
#define STEPS  1024u
#define PLACES 64u

enum opcode {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08, /* … const8s 0x0f: sizes 1, 1, 2, 2, 4, 4, 8, 8, unsigned and signed in turn */
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_REG0 = 0x50,
    OP_REG31 = 0x6f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_REGX = 0x90,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96
};

struct machine {
    const struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
    struct uspi_bytes bytes;
    uint64_t at;
    unsigned used;
    uint64_t stack[PLACES]; /* truncated to the target's word */
};

static unsigned word_of(const struct machine *m) { return m->walk->backend->word; }

static uint64_t cut(const struct machine *m, uint64_t value) {
    return word_of(m) == 8 ? value : value & ((UINT64_C(1) << 8 * word_of(m)) - 1);
}

static int64_t is_signed(const struct machine *m, uint64_t value) { return uspi_sign_extend(value, 8 * word_of(m)); }

static bool push(struct machine *m, uint64_t value) {
    if (m->used == PLACES) return false;
    m->stack[m->used++] = cut(m, value);
    return true;
}

static bool pop(struct machine *m, uint64_t *value) {
    if (m->used == 0) return false;
    *value = m->stack[--m->used];
    return true;
}

/* Pushes a copy of the entry that is `below` entries below the top. */
static bool pick(struct machine *m, uint64_t below) {
    return below < m->used && push(m, m->stack[m->used - 1 - (unsigned)below]);
}

static bool load(struct machine *m, unsigned width, uint64_t *value) {
    if (uspi_bytes_load(m->bytes, m->at, width, value, "operand", NULL) != USP_OK) return false;
    m->at += width;
    return true;
}

static bool load_unsigned(struct machine *m, uint64_t *value) {
    return uspi_bytes_uleb(m->bytes, &m->at, value, "operand", NULL) == USP_OK;
}

static bool load_signed(struct machine *m, int64_t *value) {
    return uspi_bytes_sleb(m->bytes, &m->at, value, "operand", NULL) == USP_OK;
}

static bool push_register(struct machine *m, uint64_t reg, int64_t offset) {
    const struct usp_registers *r = &m->frame->registers;
    if (reg >= USP_REGISTERS_MAX || !uspi_known(r, (unsigned)reg)) return false;
    if (reg == m->walk->backend->sp && !m->frame->sp_known) return false;
    return push(m, r->value[reg] + (uint64_t)offset);
}

static bool dereference(struct machine *m, uint64_t size) {
    uint8_t bytes[8];
    uint64_t address;
    const struct usp_memory *memory = &m->walk->target.memory;
    if (size == 0 || size > word_of(m) || !pop(m, &address)) return false;
    if (memory->read(memory->context, address, bytes, (size_t)size) != USP_OK) return false;
    return push(m, uspi_le(bytes, (unsigned)size));
}

/* Reads a 2-byte offset, which is relative to the byte after it. The expression's end is a valid destination. */
static bool jump(struct machine *m, bool taken) {
    uint64_t raw;
    if (!load(m, 2, &raw)) return false;
    if (taken) m->at += (uint64_t)uspi_sign_extend(raw, 16);
    return m->at <= m->bytes.size;
}

static bool rotate(struct machine *m) {
    if (m->used < 3) return false;
    uint64_t *top = &m->stack[m->used - 1], first = top[0];
    top[0] = top[-1];
    top[-1] = top[-2];
    top[-2] = first;
    return true;
}

/* a was pushed before b. */
static bool combine(struct machine *m, uint8_t op) {
    uint64_t a, b;
    if (!pop(m, &b) || !pop(m, &a)) return false;
    int64_t x = is_signed(m, a), y = is_signed(m, b);
    unsigned bits = 8 * word_of(m);
    switch (op) {
    case OP_AND: return push(m, a & b);
    case OP_OR: return push(m, a | b);
    case OP_XOR: return push(m, a ^ b);
    case OP_PLUS: return push(m, a + b);
    case OP_MINUS: return push(m, a - b);
    case OP_MUL: return push(m, a * b);
    case OP_DIV:
        if (y == 0) return false;
        /* Division by -1 as a negation: the quotient of the lowest number would not be representable. */
        return push(m, y == -1 ? 0 - a : (uint64_t)(x / y));
    case OP_MOD: return b != 0 && push(m, a % b);
    case OP_SHL: return push(m, b < bits ? a << b : 0);
    case OP_SHR: return push(m, b < bits ? a >> b : 0);
    case OP_SHRA: return push(m, (uint64_t)(x >> (b < bits ? b : bits - 1)));
    case OP_EQ: return push(m, a == b);
    case OP_NE: return push(m, a != b);
    case OP_GE: return push(m, x >= y);
    case OP_GT: return push(m, x > y);
    case OP_LE: return push(m, x <= y);
    case OP_LT: return push(m, x < y);
    default: return false;
    }
}

static bool change(struct machine *m, uint8_t op) {
    uint64_t a, operand = 0;
    if ((op == OP_PLUS_UCONST && !load_unsigned(m, &operand)) || !pop(m, &a)) return false;
    switch (op) {
    case OP_ABS: return push(m, is_signed(m, a) < 0 ? 0 - a : a);
    case OP_NEG: return push(m, 0 - a);
    case OP_NOT: return push(m, ~a);
    default: return push(m, a + operand);
    }
}

static bool push_constant(struct machine *m, uint8_t op) {
    uint64_t value;
    int64_t number;
    if (op == OP_ADDR) return load(m, word_of(m), &value) && push(m, value);
    if (op == OP_CONSTU) return load_unsigned(m, &value) && push(m, value);
    if (op == OP_CONSTS) return load_signed(m, &number) && push(m, (uint64_t)number);
    unsigned width = 1u << (op - OP_CONST1U) / 2;
    if (!load(m, width, &value)) return false;
    return push(m, (op & 1) != 0 ? (uint64_t)uspi_sign_extend(value, 8 * width) : value);
}

static bool push_by_register(struct machine *m, uint8_t op) {
    uint64_t reg;
    int64_t offset = 0;
    if (op == OP_REGX || op == OP_BREGX) {
        if (!load_unsigned(m, &reg)) return false;
    } else {
        reg = op >= OP_BREG0 ? op - OP_BREG0 : op - OP_REG0;
    }
    bool has_offset = op == OP_BREGX || (op >= OP_BREG0 && op <= OP_BREG31);
    return (!has_offset || load_signed(m, &offset)) && push_register(m, reg, offset);
}

static bool step(struct machine *m) {
    uint64_t op, value, other;
    if (!load(m, 1, &op)) return false;
    if (op >= OP_LIT0 && op <= OP_LIT31) return push(m, op - OP_LIT0);
    if ((op >= OP_REG0 && op <= OP_REGX) || op == OP_BREGX) return push_by_register(m, (uint8_t)op);
    if (op >= OP_CONST1U && op <= OP_CONSTS) return push_constant(m, (uint8_t)op);
    switch (op) {
    case OP_NOP: return true;
    case OP_ADDR: return push_constant(m, OP_ADDR);
    case OP_DEREF: return dereference(m, word_of(m));
    case OP_DEREF_SIZE: return load(m, 1, &value) && dereference(m, value);
    case OP_DUP: return pick(m, 0);
    case OP_OVER: return pick(m, 1);
    case OP_PICK: return load(m, 1, &value) && pick(m, value);
    case OP_DROP: return pop(m, &value);
    case OP_SWAP: return pop(m, &value) && pop(m, &other) && push(m, value) && push(m, other);
    case OP_ROT: return rotate(m);
    case OP_SKIP: return jump(m, true);
    case OP_BRA: return pop(m, &value) && jump(m, value != 0);
    case OP_ABS:
    case OP_NEG:
    case OP_NOT:
    case OP_PLUS_UCONST: return change(m, (uint8_t)op);
    default: return combine(m, (uint8_t)op);
    }
}

bool uspi_dwarf_evaluate(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                         struct uspi_bytes expression, const usp_addr *cfa, usp_addr *value) {
    struct machine m = {.walk = walk, .frame = frame, .bytes = expression};
    if (cfa != NULL && !push(&m, *cfa)) return false;
    for (unsigned steps = 0; m.at < expression.size; steps++) {
        if (steps == STEPS || !step(&m)) return false;
    }
    return pop(&m, value);
}
