/* SPDX-License-Identifier: MIT */
/* See signing.h. Encodings: Arm Architecture Reference Manual for A-profile, C6.2 (PACIA … XPACD, RETAA, BRAA, BLRAA).
 * */
#include "signing.h"

#include <string.h>

#define SP   31u /* as a modifier; the library's number of sp, too */
#define ZERO 32u

enum what { NOTHING, SIGN, CHECK, STRIP };

struct operation {
    enum what what;
    unsigned reg;      /* register of the pointer */
    unsigned modifier; /* register of the modifier; ZERO: no modifier */
    unsigned key;      /* IA, IB, DA, DB = 0 … 3 */
};

void signing_begin(struct signing *s, unsigned address_bits, bool top_byte) {
    memset(s, 0, sizeof *s);
    s->address_bits = address_bits;
    s->top_byte = top_byte;
    s->mask = ((UINT64_C(1) << 55) - 1) & ~((UINT64_C(1) << address_bits) - 1);
    if (top_byte) s->mask |= UINT64_C(0xff) << 56;
}

static uint64_t signature(const struct signing *s, uint64_t pointer, uint64_t modifier, unsigned key) {
    uint64_t h = pointer * UINT64_C(0x9e3779b97f4a7c15) ^ (modifier + key + 1) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 29;
    h *= UINT64_C(0x94d049bb133111eb);
    h ^= h >> 32;
    /* Never 0: a signed address must differ from a plain one. */
    return (h | UINT64_C(1) << s->address_bits) & s->mask;
}

/* The hint space: instructions that older processors skip. */
static struct operation decode_hint(uint32_t word) {
    switch (word) {
    case 0xd503211f: return (struct operation){SIGN, 17, 16, 0};   /* pacia1716 */
    case 0xd503215f: return (struct operation){SIGN, 17, 16, 1};   /* pacib1716 */
    case 0xd503219f: return (struct operation){CHECK, 17, 16, 0};  /* autia1716 */
    case 0xd50321df: return (struct operation){CHECK, 17, 16, 1};  /* autib1716 */
    case 0xd503231f: return (struct operation){SIGN, 30, ZERO, 0}; /* paciaz */
    case 0xd503233f: return (struct operation){SIGN, 30, SP, 0};   /* paciasp */
    case 0xd503235f: return (struct operation){SIGN, 30, ZERO, 1}; /* pacibz */
    case 0xd503237f: return (struct operation){SIGN, 30, SP, 1};   /* pacibsp */
    case 0xd503239f: return (struct operation){CHECK, 30, ZERO, 0};
    case 0xd50323bf: return (struct operation){CHECK, 30, SP, 0}; /* autiasp */
    case 0xd50323df: return (struct operation){CHECK, 30, ZERO, 1};
    case 0xd50323ff: return (struct operation){CHECK, 30, SP, 1};   /* autibsp */
    case 0xd50320ff: return (struct operation){STRIP, 30, ZERO, 0}; /* xpaclri */
    case 0xd65f0bff: return (struct operation){CHECK, 30, SP, 0};   /* retaa */
    case 0xd65f0fff: return (struct operation){CHECK, 30, SP, 1};   /* retab */
    default: return (struct operation){.what = NOTHING};
    }
}

static struct operation decode(uint32_t word) {
    struct operation op = decode_hint(word);
    unsigned rd = word & 31, rn = word >> 5 & 31;
    if (op.what != NOTHING) return op;
    if ((word & 0xffff8000) == 0xdac10000) { /* data processing, one source: pac*, aut*, xpac* */
        unsigned opcode = word >> 10 & 15;
        bool zero = (word & 0x2000) != 0;
        if (zero && (word & 0xfffffbe0) == 0xdac143e0) return (struct operation){STRIP, rd, ZERO, 0};
        if ((word & 0x4000) != 0) return op;
        op.what = (opcode & 4) != 0 ? CHECK : SIGN;
        op.key = opcode & 3;
        op.reg = rd;
        op.modifier = zero ? ZERO : rn;
        return op;
    }
    if ((word & 0xfedff800) == 0xd61f0800) { /* braa, brab, blraa, blrab and their forms without modifier */
        op.what = CHECK;
        op.key = word >> 10 & 1;
        op.reg = rn;
        op.modifier = (word & 0x01000000) != 0 ? rd : ZERO;
    }
    return op;
}

bool signing_concerns(uint32_t instruction) { return decode(instruction).what != NOTHING; }

bool signing_apply(struct signing *s, struct machine *machine, const struct moment *now) {
    uint64_t word;
    if (!machine_load(machine, now->pc, 4, &word)) return true;
    struct operation op = decode((uint32_t)word);
    if (op.what == NOTHING || op.reg == 31) return true;
    uint64_t pointer = now->registers.value[op.reg], plain = pointer & ~s->mask;
    uint64_t modifier = op.modifier == ZERO ? 0 : now->registers.value[op.modifier];
    if (op.what == SIGN) {
        s->signed_count++;
        machine_set(machine, op.reg, plain | signature(s, plain, modifier, op.key));
        return true;
    }
    if (op.what == CHECK) {
        s->checked_count++;
        if (pointer != (plain | signature(s, plain, modifier, op.key))) {
            s->error = "an authentication failed";
            return false;
        }
    }
    machine_set(machine, op.reg, plain);
    return true;
}

uint64_t signing_sign(const struct signing *s, uint64_t pointer, uint64_t modifier, unsigned key) {
    return pointer | signature(s, pointer, modifier, key);
}
