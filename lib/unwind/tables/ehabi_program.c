/* SPDX-License-Identifier: MIT */
/* Executes the program of an ARM unwind table entry symbolically: for each register it computes where the value is,
 * relative to the registers of the unwound frame. See ehabi.h; section 10.3 of the ABI has the instructions.
 *
 *     vsp = sp at first; CFA = vsp at last
 *     pop {...}        register i of them, from the lowest number up: [vsp + 4i]; vsp += 4 * their number
 *     vsp = r[n], vsp += n, vsp -= n
 *     ra  = what was popped into pc, or else into lr, or else lr itself
 *
 *        push {r4, r7, lr}; mov r7, sp; sub sp, #n          the program
 *          +-------------+ <- CFA
 *          | lr          |                                  pop {r4, r7, lr}
 *          | caller's r7 |
 *          | r4          | <- r7                            vsp = r7
 *          | locals      |
 *          +-------------+ <- sp
 */
#include "lib/unwind/tables/ehabi.h"

#include <inttypes.h>

enum registers { R4 = 4, R11 = 11, SP = 13, LR = 14, PC = 15, REGISTERS = 16, WORD = 4 };

struct machine {
    struct uspi_bytes program;
    uint64_t next;
    struct uspi_location at[REGISTERS]; /* at[SP] is vsp */
    struct uspi_error *error;
};

/* Result of an instruction. */
enum outcome { GOES_ON, FINISHED, REFUSES, FAULTY };

static enum outcome faulty(const struct machine *m, const char *what) {
    uspi_bytes_error(m->error, m->program, m->next, USP_ERROR_FORMAT, "%s", what);
    return FAULTY;
}

static bool fetch(struct machine *m, uint64_t *byte) {
    if (uspi_bytes_load(m->program, m->next, 1, byte, "ARM unwind instruction", m->error) != USP_OK) return false;
    m->next++;
    return true;
}

/* vsp += n. If vsp itself was loaded from memory, n is added to the loaded value. */
static enum outcome move(struct machine *m, int64_t n) {
    struct uspi_location *vsp = &m->at[SP];
    int32_t *offset = vsp->kind == USPI_MEMORY ? &vsp->addend : &vsp->offset;
    const int64_t sum = *offset + n;
    if (sum < INT32_MIN || sum > INT32_MAX) return faulty(m, "a stack of more than 2 GB");
    *offset = (int32_t)sum;
    return GOES_ON;
}

/* Pops the registers of a mask. */
static enum outcome pop(struct machine *m, uint32_t mask) {
    const struct uspi_location vsp = m->at[SP];
    int32_t n = 0;
    /* A rule cannot express a load from a loaded address, and compilers do not write such programs. */
    if (vsp.kind != USPI_REGISTER) return faulty(m, "a pop from a stack whose place was popped");
    if (vsp.offset > INT32_MAX - REGISTERS * WORD) return faulty(m, "a stack of more than 2 GB");
    for (unsigned reg = 0; reg < REGISTERS; reg++) {
        if ((mask >> reg & 1) == 0) continue;
        m->at[reg] = uspi_in_memory(vsp.base, vsp.offset + n);
        n += WORD;
    }
    /* A popped stack pointer keeps the popped value. */
    return (mask >> SP & 1) != 0 ? GOES_ON : move(m, n);
}

static enum outcome pop_r4_up(struct machine *m, uint32_t byte) {
    const uint32_t with_lr = byte >> 3 & 1;
    return pop(m, ((2u << (byte & 7)) - 1) << R4 | with_lr << LR);
}

static enum outcome set_from_register(struct machine *m, unsigned reg) {
    /* 13 and 15 are reserved for moves between register files. */
    if (reg == SP || reg == PC) return faulty(m, "a reserved ARM unwind instruction");
    m->at[SP] = m->at[reg];
    return GOES_ON;
}

static enum outcome add_long(struct machine *m) {
    uint64_t n;
    if (uspi_bytes_uleb(m->program, &m->next, &n, "ARM unwind instruction", m->error) != USP_OK) return FAULTY;
    if (n > INT32_MAX / WORD) return faulty(m, "a stack of more than 2 GB");
    return move(m, 0x204 + (int64_t)n * WORD);
}

/* Executes an instruction from 10110000 to 10111111. */
static enum outcome carry_out_b(struct machine *m, uint64_t byte) {
    uint64_t second;
    switch (byte & 0xf) {
    case 0: return FINISHED;
    case 1:
        if (!fetch(m, &second)) return FAULTY;
        if (second == 0 || second > 0xf) return faulty(m, "a spare ARM unwind instruction");
        return pop(m, (uint32_t)second);
    case 2: return add_long(m);
    case 3: /* double registers as fstmfdx stores them, and one more word */
        if (!fetch(m, &second)) return FAULTY;
        return move(m, (int64_t)((second & 0xf) + 1) * 2 * WORD + WORD);
    case 4: return move(m, WORD); /* the authentication code of the return address */
    case 5: return GOES_ON;       /* the authentication code was made with the current vsp */
    case 6:
    case 7: return faulty(m, "a spare ARM unwind instruction");
    default: return move(m, (int64_t)((byte & 7) + 1) * 2 * WORD + WORD); /* fstmfdx again, from d8 on */
    }
}

/* Executes an instruction from 11000000 to 11111111. These pop registers of coprocessors, of which only the size
 * matters. */
static enum outcome carry_out_c(struct machine *m, uint64_t byte) {
    uint64_t second;
    if (byte >= 0xd0) {
        /* Double registers from d8 on, as vpush stores them. */
        if (byte < 0xd8) return move(m, (int64_t)((byte & 7) + 1) * 2 * WORD);
        return faulty(m, "a spare ARM unwind instruction");
    }
    /* Registers from wR10 on. */
    if (byte <= 0xc5) return move(m, (int64_t)((byte & 7) + 1) * 2 * WORD);
    if (byte > 0xc9) return faulty(m, "a spare ARM unwind instruction");
    if (!fetch(m, &second)) return FAULTY;
    if (byte != 0xc7) return move(m, (int64_t)((second & 0xf) + 1) * 2 * WORD);
    if (second == 0 || second > 0xf) return faulty(m, "a spare ARM unwind instruction");
    int64_t words = 0;
    for (; second != 0; second &= second - 1) words++;
    return move(m, words * WORD);
}

static enum outcome carry_out(struct machine *m) {
    uint64_t byte, second;
    if (!fetch(m, &byte)) return FAULTY;
    if (byte < 0x40) return move(m, (int64_t)(byte & 0x3f) * WORD + WORD);
    if (byte < 0x80) return move(m, -((int64_t)(byte & 0x3f) * WORD + WORD));
    if (byte < 0x90) {
        if (!fetch(m, &second)) return FAULTY;
        const uint32_t mask = (uint32_t)((byte & 0xf) << 8 | second);
        return mask == 0 ? REFUSES : pop(m, mask << R4);
    }
    if (byte < 0xa0) return set_from_register(m, byte & 0xf);
    if (byte < 0xb0) return pop_r4_up(m, (uint32_t)byte);
    return byte < 0xc0 ? carry_out_b(m, byte) : carry_out_c(m, byte);
}

enum uspi_described uspi_ehabi_run(struct uspi_bytes program, struct uspi_rule *rule, struct uspi_error *error) {
    struct machine m = {.program = program, .error = error};
    enum outcome outcome = GOES_ON;
    *rule = (struct uspi_rule){0};
    for (unsigned reg = 0; reg < REGISTERS; reg++) m.at[reg] = uspi_in_register(reg, 0);
    /* The end of the bytes means "finish". */
    while (outcome == GOES_ON && m.next < program.size) outcome = carry_out(&m);
    if (outcome == REFUSES) return USPI_CANNOT_UNWIND;
    if (outcome == FAULTY) return USPI_TABLE_CORRUPT;
    rule->cfa = m.at[SP];
    rule->return_address = m.at[m.at[PC].kind == USPI_MEMORY ? PC : LR];
    for (unsigned reg = R4; reg <= R11; reg++) {
        if (m.at[reg].kind != USPI_REGISTER) uspi_rule_add(rule, reg, m.at[reg]);
    }
    return USPI_DESCRIBED;
}
