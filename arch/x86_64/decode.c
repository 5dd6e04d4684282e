/* SPDX-License-Identifier: MIT */
/* Describes what an x86 instruction does to the stack, the integer registers and the control flow, in 64- and 32-bit
 * mode. It is not a disassembler: instructions that write no integer register are distinguished only as far as needed
 * for their length. */
#include "arch/x86_64/describe.h"

/* The bit of a stored frame pointer that code sets and clears: the lowest bit of Swift's mark of an extended frame
 * record. */
#define ASYNC_BIT 60

static const struct uspi_x86_mode mode_64 = {8, 16, UINT64_MAX, {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}};
static const struct uspi_x86_mode mode_32 = {4, 8, UINT32_MAX, {0, 1, 2, 3, 4, 5, 6, 7}};

static void set_constant(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg, uint64_t value) {
    effect(c, out, USPI_SET, reg, NONE, (int64_t)(value & c->mode->mask));
}

static void move_sp(const struct uspi_x86_code *c, struct uspi_instruction *out, int64_t by) {
    effect(c, out, USPI_SET, SP, SP, by);
}

static unsigned stack_bytes(const struct uspi_x86_code *c) { return c->size == 2 ? 2 : c->mode->word; }

/* Pushes reg (NONE: something unknown). The store comes first, because push rsp stores the old value. */
static void push(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg) {
    int64_t bytes = stack_bytes(c);
    if (bytes == c->mode->word) effect(c, out, USPI_STORE, reg, SP, -bytes);
    move_sp(c, out, -bytes);
}

static void pop(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg) {
    int64_t bytes = stack_bytes(c);
    if (bytes == c->mode->word) {
        effect(c, out, USPI_LOAD, reg, SP, 0);
    } else {
        clobber(c, out, reg);
    }
    if (reg != SP) move_sp(c, out, bytes);
}

static void go_relative(const struct uspi_x86_code *c, struct uspi_instruction *out, enum uspi_flow flow) {
    bool short_pc = !c->wide && c->size == 2;
    out->flow = (uint8_t)flow;
    out->target = (c->pc + c->at + (uint64_t)c->immediate) & (short_pc ? 0xffff : c->mode->mask);
}

/* Numbered as in the opcodes and in ModRM's reg. */
enum { PLUS = 0, OR = 1, AND = 4, MINUS = 5, EXCLUSIVE_OR = 6, COMPARE = 7 };

static void arithmetic(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned operation, unsigned to,
                       unsigned from) {
    bool whole = c->size == c->mode->word;
    if ((operation == EXCLUSIVE_OR || operation == MINUS) && from == to && c->size >= 4) {
        set_constant(c, out, to, 0);
    } else if (whole && operation == PLUS) {
        effect(c, out, USPI_ADD, to, to, 0)->index = dwarf(c, from);
    } else if (whole && operation == MINUS) {
        effect(c, out, USPI_SUBTRACT, to, to, 0)->index = dwarf(c, from);
    } else {
        clobber(c, out, to);
    }
}

static void arithmetic_immediate(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned operation,
                                 unsigned to) {
    const bool whole = c->size == c->mode->word;
    const uint64_t step = 0 - (uint64_t)c->immediate;
    if (whole && (operation == PLUS || operation == MINUS)) {
        effect(c, out, USPI_SET, to, to, operation == PLUS ? c->immediate : -c->immediate);
    } else if (whole && operation == AND && c->immediate < -1 && (step & (step - 1)) == 0) {
        effect(c, out, USPI_ALIGN, to, to, (int64_t)step);
    } else {
        clobber(c, out, to);
    }
}

/* Opcodes 00 to 3f: six forms of each of eight operations. */
static void describe_arithmetic(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    unsigned operation = c->opcode >> 3 & 7;
    bool to_rm = (c->opcode & 2) == 0;
    if (operation == COMPARE) return;
    switch (c->opcode & 7) {
    case 0: clobber_rm_byte(c, out); break;
    case 2: clobber(c, out, byte_register(c, c->reg)); break;
    case 4: clobber(c, out, AX); break;
    case 5: arithmetic_immediate(c, out, operation, AX); break;
    default:
        if (c->mod == 3) {
            arithmetic(c, out, operation, to_rm ? c->rm : c->reg, to_rm ? c->reg : c->rm);
        } else if (to_rm) {
            store(c, out, NONE);
        } else {
            clobber(c, out, c->reg);
        }
    }
}

/* A memory barrier of compilers is "lock or $0, (sp)", where a leaf function has its return address. */
static bool keeps_memory(const struct uspi_x86_code *c, unsigned operation) {
    const bool by_zero = operation == PLUS || operation == OR || operation == MINUS || operation == EXCLUSIVE_OR;
    return c->mod != 3 && by_zero && c->immediate == 0;
}

/* 80 to 83: an immediate and rm. */
static void describe_arithmetic_group(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    unsigned operation = c->reg & 7;
    if (operation == COMPARE || keeps_memory(c, operation)) return;
    if ((c->opcode & 1) == 0) {
        clobber_rm_byte(c, out);
    } else if (c->mod == 3) {
        arithmetic_immediate(c, out, operation, c->rm);
    } else {
        store(c, out, NONE);
    }
}

/* mov reg, rm in either direction. */
static void describe_move(const struct uspi_x86_code *c, struct uspi_instruction *out, bool to_rm) {
    bool whole = c->size == c->mode->word;
    if (c->mod == 3 && whole) {
        effect(c, out, USPI_SET, to_rm ? c->rm : c->reg, to_rm ? c->reg : c->rm, 0);
    } else if (c->mod == 3) {
        clobber(c, out, to_rm ? c->rm : c->reg);
    } else if (to_rm) {
        store(c, out, c->reg);
    } else if (whole && is_plain_memory(c)) {
        effect(c, out, USPI_LOAD, c->reg, c->base, c->displacement);
    } else {
        clobber(c, out, c->reg);
    }
}

static void describe_move_immediate(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg) {
    if (c->size == 2) {
        clobber(c, out, reg);
    } else {
        set_constant(c, out, reg, c->size == 4 ? (uint32_t)c->immediate : (uint64_t)c->immediate);
    }
}

static bool describe_lea(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->mod == 3) return false;
    if (c->size != c->mode->word || c->address_cut) {
        clobber(c, out, c->reg);
    } else if (c->pc_relative) {
        set_constant(c, out, c->reg, c->pc + c->at + (uint64_t)c->displacement);
    } else if (c->base == NONE && c->index == NONE) {
        set_constant(c, out, c->reg, (uint64_t)c->displacement);
    } else if (c->index == NONE) {
        effect(c, out, USPI_SET, c->reg, c->base, c->displacement);
    } else if (c->base != NONE && c->scale == 0) {
        effect(c, out, USPI_ADD, c->reg, c->base, 0)->index = dwarf(c, c->index);
        if (c->displacement != 0) effect(c, out, USPI_SET, c->reg, c->reg, c->displacement);
    } else {
        clobber(c, out, c->reg);
    }
    return true;
}

static void describe_exchange(const struct uspi_x86_code *c, struct uspi_instruction *out, bool bytes) {
    if (bytes) {
        clobber_rm_byte(c, out);
        clobber(c, out, byte_register(c, c->reg));
    } else {
        store(c, out, c->reg);
        clobber_rm(c, out);
        clobber(c, out, c->reg);
    }
}

/* 8f /0. An address based on sp is computed after sp has moved. */
static bool describe_pop_rm(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if ((c->reg & 7) != 0) return false;
    if (c->mod == 3) {
        pop(c, out, c->rm);
        return true;
    }
    move_sp(c, out, stack_bytes(c));
    if (stack_bytes(c) == c->mode->word && is_plain_memory(c)) {
        effect(c, out, USPI_STORE, NONE, c->base, c->displacement);
    }
    return true;
}

/* pusha and popa; the latter skips sp's place. */
static void describe_push_all(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    int64_t bytes = stack_bytes(c);
    if (bytes == c->mode->word) {
        for (unsigned reg = AX; reg <= DI; reg++) effect(c, out, USPI_STORE, reg, SP, -bytes * (int64_t)(reg + 1));
    }
    move_sp(c, out, -8 * bytes);
}

static void describe_pop_all(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    int64_t bytes = stack_bytes(c);
    for (unsigned reg = AX; reg <= DI; reg++) {
        if (reg == SP) continue;
        if (bytes == c->mode->word) {
            effect(c, out, USPI_LOAD, reg, SP, bytes * (int64_t)(DI - reg));
        } else {
            clobber(c, out, reg);
        }
    }
    move_sp(c, out, 8 * bytes);
}

/* enter: push fp; fp = sp; then, for a nesting level, copies of as many enclosing frames' pointers, of which only the
 * room is described; then room for locals. */
static void describe_enter(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    int64_t word = c->mode->word;
    if (c->size == 2) {
        clobber(c, out, SP);
        clobber(c, out, BP);
        return;
    }
    effect(c, out, USPI_STORE, BP, SP, -word);
    effect(c, out, USPI_SET, BP, SP, -word);
    move_sp(c, out, -word * (1 + c->reg) - c->immediate);
}

static void describe_leave(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->size == 2) {
        clobber(c, out, SP);
        clobber(c, out, BP);
        return;
    }
    effect(c, out, USPI_SET, SP, BP, 0);
    effect(c, out, USPI_LOAD, BP, SP, 0);
    move_sp(c, out, c->mode->word);
}

/* immediate: how many bytes of arguments the callee pops. */
static void describe_return(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    out->flow = USPI_RETURN;
    out->target_register = c->mode->pc;
    if (!c->wide && c->size == 2) {
        out->clobbers |= UINT64_C(1) << c->mode->pc;
        move_sp(c, out, 2 + (c->immediate & 0xffff));
        return;
    }
    uspi_add_effect(out, USPI_LOAD, c->mode->pc, dwarf(c, SP), 0);
    move_sp(c, out, c->mode->word + (c->immediate & 0xffff));
}

/* A call of the next instruction is how 32-bit code learns its own address: the address is popped, not returned to. */
static void describe_call(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    go_relative(c, out, USPI_CALL);
    if (out->target != ((c->pc + c->at) & c->mode->mask)) return;
    out->flow = USPI_NEXT;
    out->target = 0;
    effect(c, out, USPI_STORE, NONE, SP, -c->mode->word);
    move_sp(c, out, -c->mode->word);
}

/* Loads pc from memory, if an effect can describe the address. In 64-bit code a jump loads 8 bytes even without the
 * prefix that other instructions need for that (Intel SDM volume 2, JMP). */
static void load_pc(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    const bool is_constant = c->pc_relative || (c->base == NONE && c->index == NONE);
    const uint64_t origin = c->pc_relative ? c->pc + c->at : 0;
    if (c->size == 2 || c->segment || c->address_cut) return;
    if (is_constant) {
        uspi_add_effect(out, USPI_LOAD, c->mode->pc, USPI_NO_REGISTER,
                        (int64_t)((origin + (uint64_t)c->displacement) & c->mode->mask));
    } else if (is_plain_memory(c)) {
        uspi_add_effect(out, USPI_LOAD, c->mode->pc, dwarf(c, c->base), c->displacement);
    } else {
        return;
    }
    out->target_register = c->mode->pc;
}

/* jmp rm. An index that is scaled or added to a constant selects from a table of addresses. That is a switch, or a tail
 * call through an array of functions, which looks the same. If a tail call is taken for a switch, only one path to the
 * caller is lost; if a switch were taken for a tail call, the caller would be wrong. gcc and clang use the prefix that
 * exempts a jump from branch tracking (3e) only for a switch. */
static void describe_jump(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    bool table = c->notrack || (c->mod != 3 && c->index != NONE && (c->base == NONE || c->scale != 0));
    out->flow = table ? USPI_JUMP_TABLE : USPI_JUMP_UNKNOWN;
    if (c->mod == 3) {
        out->target_register = dwarf(c, c->rm);
    } else if (!table) {
        load_pc(c, out);
    }
}

/* f6 and f7: test, not, neg, mul, imul, div, idiv. */
static void describe_unary_group(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    bool bytes = c->opcode == 0xf6;
    switch (c->reg & 7) {
    case 0:
    case 1: break;
    case 2:
    case 3:
        if (bytes) {
            clobber_rm_byte(c, out);
        } else {
            overwrite_rm(c, out);
        }
        break;
    default:
        clobber(c, out, AX);
        if (!bytes) clobber(c, out, DX);
    }
}

/* inc and dec. */
static void describe_step(const struct uspi_x86_code *c, struct uspi_instruction *out, unsigned reg, int64_t by) {
    if (c->size == c->mode->word) {
        effect(c, out, USPI_SET, reg, reg, by);
    } else {
        clobber(c, out, reg);
    }
}

/* ff: inc, dec, call, far call, jmp, far jmp, push. */
static bool describe_ff_group(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    switch (c->reg & 7) {
    case 0:
    case 1:
        if (c->mod == 3) {
            describe_step(c, out, c->rm, (c->reg & 7) == 0 ? 1 : -1);
        } else {
            store(c, out, NONE);
        }
        return true;
    case 2: out->flow = USPI_CALL; return true;
    case 3: out->flow = USPI_CALL; return c->mod != 3;
    case 4: describe_jump(c, out); return true;
    case 5: out->flow = USPI_JUMP_UNKNOWN; return c->mod != 3;
    case 6: push(c, out, c->mod == 3 ? c->rm : NONE); return true;
    default: return false;
    }
}

/* c6 and c7: mov, and the two transaction instructions, which use one ModRM value each. An abort continues at xbegin's
 * target with a reason in eax. */
static bool describe_c6_c7(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    bool transaction = c->mod == 3 && (c->reg & 7) == 7 && (c->rm & 7) == 0;
    if (transaction) {
        if (c->opcode == 0xc7) go_relative(c, out, USPI_BRANCH);
        clobber(c, out, AX);
        return true;
    }
    if ((c->reg & 7) != 0) return false;
    if (c->opcode == 0xc6) {
        clobber_rm_byte(c, out);
    } else if (c->mod == 3) {
        describe_move_immediate(c, out, c->rm);
    } else {
        store(c, out, NONE);
    }
    return true;
}

static bool describe_one_byte(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    unsigned opcode = c->opcode;
    unsigned low = (opcode & 7) | ((c->rex & REX_B) != 0 ? 8u : 0);
    if (opcode < 0x40) {
        if ((opcode & 7) < 6) {
            describe_arithmetic(c, out);
        } else if ((opcode & 7) == 6) {
            push(c, out, NONE); /* a segment register */
        } else {
            move_sp(c, out, stack_bytes(c));
        }
        return true;
    }
    switch (opcode & 0xf8) {
    case 0x40: describe_step(c, out, low, 1); return true;
    case 0x48: describe_step(c, out, low, -1); return true;
    case 0x50: push(c, out, low); return true;
    case 0x58: pop(c, out, low); return true;
    case 0x70:
    case 0x78: go_relative(c, out, USPI_BRANCH); return true;
    case 0x90:
        if (low == AX) return true; /* nop, pause */
        clobber(c, out, AX);
        clobber(c, out, low);
        return true;
    case 0xb8: describe_move_immediate(c, out, low); return true;
    default: break;
    }
    switch (opcode) {
    case 0x60: describe_push_all(c, out); return true;
    case 0x61: describe_pop_all(c, out); return true;
    case 0x63: /* movsxd; arpl in 32-bit mode */
        if (c->wide) {
            clobber(c, out, c->reg);
        } else {
            clobber_rm(c, out);
        }
        return true;
    case 0x68:
    case 0x6a:
    case 0x9c: push(c, out, NONE); return true;
    case 0x9d: move_sp(c, out, stack_bytes(c)); return true;
    case 0x80:
    case 0x81:
    case 0x82:
    case 0x83: describe_arithmetic_group(c, out); return true;
    case 0x86:
    case 0x87: describe_exchange(c, out, opcode == 0x86); return true;
    case 0x89:
    case 0x8b: describe_move(c, out, opcode == 0x89); return true;
    case 0x8d: return describe_lea(c, out);
    case 0x8f: return describe_pop_rm(c, out);
    case 0x9a: out->flow = USPI_CALL; return true;
    case 0xc2:
    case 0xc3: describe_return(c, out); return true;
    case 0xc6:
    case 0xc7: return describe_c6_c7(c, out);
    case 0xc8: describe_enter(c, out); return true;
    case 0xc9: describe_leave(c, out); return true;
    case 0xca: /* far returns; traps; int1; hlt */
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf1:
    case 0xf4: out->flow = USPI_END; return true;
    case 0xdf: /* fnstsw ax */
        if (c->mod == 3 && (c->reg & 7) == 4 && (c->rm & 7) == 0) clobber(c, out, AX);
        return true;
    case 0xe0:
    case 0xe1:
    case 0xe2: /* loop, which counts in rcx */
        go_relative(c, out, USPI_BRANCH);
        if (c->address_cut) {
            clobber(c, out, CX);
        } else {
            effect(c, out, USPI_SET, CX, CX, -1);
        }
        return true;
    case 0xe3: go_relative(c, out, USPI_BRANCH); return true;
    case 0xe8: describe_call(c, out); return true;
    case 0xe9:
    case 0xeb: go_relative(c, out, USPI_JUMP); return true;
    case 0xea: out->flow = USPI_JUMP_UNKNOWN; return true;
    case 0xf6:
    case 0xf7: describe_unary_group(c, out); return true;
    case 0xfe: clobber_rm_byte(c, out); return (c->reg & 7) < 2;
    default: return describe_ff_group(c, out);
    }
}

static bool describe_two_byte(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    unsigned extension = c->reg & 7;
    switch (c->opcode) {
    case 0x05: /* syscall: by convention the kernel changes these; Darwin may return a second value in rdx */
    case 0x34: /* sysenter, in Linux's vdso, which has pushed the registers that the kernel changes */
        clobber(c, out, AX);
        clobber(c, out, CX);
        if (c->wide) {
            clobber(c, out, R11);
        } else {
            clobber(c, out, DX);
            clobber(c, out, BP);
        }
        return true;
    case 0x07: /* sysret, sysexit, rsm; ud2, ud1, ud0 */
    case 0x35:
    case 0xaa:
    case 0x0b:
    case 0xb9:
    case 0xff: out->flow = USPI_END; return true;
    case 0x1e:
        /* endbr64, endbr32 and rdssp, among wide nops. Compilers also put endbr where a function is entered again:
         * after calls that return twice (setjmp), at landing pads and at labels whose address is taken. Of these, only
         * the one after a call is reached from a call before it. There the wrong hint costs only the paths through
         * it. */
        if (c->mandatory != 0xf3 || c->mod != 3) return true;
        if (extension == 7) out->start_hint = (c->rm & 7) == (c->wide ? 2 : 3);
        if (extension == 1) clobber_rm(c, out);
        return true;
    case 0xa0: /* fs and gs */
    case 0xa8: push(c, out, NONE); return true;
    case 0xa1:
    case 0xa9: move_sp(c, out, stack_bytes(c)); return true;
    case 0xb1:
        overwrite_rm(c, out);
        clobber(c, out, AX);
        return true;
    case 0xba: /* bt, bts, btr, btc with an immediate */
        if (extension < 4) return false;
        if (extension == 4) return true;
        if (c->mod == 3 && c->size == 8 && c->immediate == ASYNC_BIT && extension != 7) {
            effect(c, out, USPI_SET, c->rm, c->rm, 0);
            /* An async function marks the frame pointer in its first instruction. */
            out->start_hint = extension == 5 && c->rm == BP;
        } else {
            overwrite_rm(c, out);
        }
        return true;
    case 0xc1:
        overwrite_rm(c, out);
        clobber(c, out, c->reg);
        return true;
    case 0xc3: /* movnti */ store(c, out, c->reg); return c->mod != 3;
    default: go_relative(c, out, USPI_BRANCH); return true; /* 80 to 8f */
    }
}

static bool decode(const struct uspi_x86_mode *mode, const uint8_t *bytes, size_t n, usp_addr pc,
                   struct uspi_instruction *out) {
    struct uspi_x86_code c;
    if (!uspi_x86_parse(&c, mode, bytes, n, pc)) return false;
    memset(out, 0, sizeof *out);
    out->length = (uint8_t)c.at;
    out->target_register = USPI_NO_REGISTER;
    if (uspi_x86_describe_writes(&c, out)) return true;
    return c.map == MAP_ONE_BYTE ? describe_one_byte(&c, out) : describe_two_byte(&c, out);
}

static bool follows_call(const struct uspi_x86_mode *mode, const uint8_t *before, size_t n, usp_addr return_address,
                         usp_addr *target) {
    const uint8_t *end = before + n;
    bool direct = n >= 5 && end[-5] == 0xe8;
    bool indirect = false;
    struct uspi_instruction call;
    for (size_t length = 2; length <= n && length <= USPI_X86_CALL_MAX && !indirect; length++) {
        const uint8_t *start = end - length;
        indirect = start[0] == 0xff && (start[1] >> 3 & 7) == 2 &&
                   decode(mode, start, length, return_address - length, &call) && call.length == length;
    }
    *target = 0;
    /* If both a direct and an indirect call are possible, the callee is unknown. */
    if (direct && !indirect) {
        *target = (return_address + (uint64_t)uspi_sign_extend(uspi_le32(end - 4), 32)) & mode->mask;
    }
    return direct || indirect;
}

bool uspi_x86_64_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    (void)mode;
    return decode(&mode_64, bytes, n, pc, out);
}

bool uspi_i386_decode(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t mode, struct uspi_instruction *out) {
    (void)mode;
    return decode(&mode_32, bytes, n, pc, out);
}

bool uspi_x86_64_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target) {
    (void)thumb;
    return follows_call(&mode_64, before, n, return_address, target);
}

bool uspi_i386_follows_call(const uint8_t *before, size_t n, usp_addr return_address, bool thumb, usp_addr *target) {
    (void)thumb;
    return follows_call(&mode_32, before, n, return_address, target);
}
