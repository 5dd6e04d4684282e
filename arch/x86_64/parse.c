/* SPDX-License-Identifier: MIT */
/* Parses an x86 instruction, in 64- and 32-bit mode, using tables with one character per opcode. Prefixes that an
 * instruction does not allow are not rejected. An opcode that is unknown only within a group is parsed like its group.
 *
 * Source of the opcode maps: Intel SDM volume 2 (order number 325383), appendix A, and its instruction pages; AMD APM
 * volume 3 (24594) for XOP and SSE4a; Intel 355828 for AVX512-FP16, 319433 for later extensions. Where Intel and AMD
 * differ (a 66 prefix before a near branch in 64-bit mode), the parser follows Intel.
 *
 * Not supported: APX (REX2, and EVEX map 4), whose registers 16 to 31 are not in the register file. */
#include "arch/x86_64/parse.h"

/* What follows an opcode:
 *                  .  nothing          m  ModRM           M  ModRM, imm8          X  ModRM, imm16/32
 *                  b  imm8             w  imm16           z  imm16/32             v  imm16/32/64
 *                  j  displacement of a branch            o  an address           p  a far address
 *                  e  imm16, imm8 (enter)                 g  ModRM, an immediate if it is `test` (f6, f7)
 *                  c  ModRM that is a register whatever mod says (control and debug registers)
 *                  -  not an instruction, or handled before the table is used */
static const char one_byte_operands[16][17] = {
    /*       0123456789abcdef */
    /* 0 */ "mmmmbz..mmmmbz.-",
    /* 1 */ "mmmmbz..mmmmbz..",
    /* 2 */ "mmmmbz-.mmmmbz-.",
    /* 3 */ "mmmmbz-.mmmmbz-.",
    /* 4 */ "................",
    /* 5 */ "................",
    /* 6 */ "..mm----zXbM....",
    /* 7 */ "bbbbbbbbbbbbbbbb",
    /* 8 */ "MXMMmmmmmmmmmmmm",
    /* 9 */ "..........p.....",
    /* a */ "oooo....bz......",
    /* b */ "bbbbbbbbvvvvvvvv",
    /* c */ "MMw.mmMXe.w..b..",
    /* d */ "mmmmbb..mmmmmmmm",
    /* e */ "bbbbbbbbjjpb....",
    /* f */ "-.--..gg......mm",
};

static const char two_byte_operands[16][17] = {
    /*       0123456789abcdef */
    /* 0 */ "mmmm-.....-.-m.M",
    /* 1 */ "mmmmmmmmmmmmmmmm",
    /* 2 */ "cccc----mmmmmmmm",
    /* 3 */ "......-.--------",
    /* 4 */ "mmmmmmmmmmmmmmmm",
    /* 5 */ "mmmmmmmmmmmmmmmm",
    /* 6 */ "mmmmmmmmmmmmmmmm",
    /* 7 */ "MMMMmmm.mm--mmmm",
    /* 8 */ "jjjjjjjjjjjjjjjj",
    /* 9 */ "mmmmmmmmmmmmmmmm",
    /* a */ "...mMmmm...mMmmm",
    /* b */ "mmmmmmmmmmMmmmmm",
    /* c */ "mmMmMMMm........",
    /* d */ "mmmmmmmmmmmmmmmm",
    /* e */ "mmmmmmmmmmmmmmmm",
    /* f */ "mmmmmmmmmmmmmmmm",
};

/* One row per sixteen opcodes, bit n for opcode n of the row. */
static bool has_bit(const uint16_t rows[16], unsigned opcode) { return rows[opcode >> 4] >> (opcode & 15) & 1; }

/* One-byte opcodes that do not exist in 64-bit mode. c4, c5 and 62 are prefixes there. */
static const uint16_t gone_in_64[16] = {0x40c0, 0xc0c0, 0x8080, 0x8080, 0,      0,      0x0007, 0,
                                        0x0004, 0x0400, 0,      0,      0x4030, 0x0070, 0x0400, 0};

/* Defined opcodes of the legacy map 0F 38; all have ModRM and no immediate. */
static const uint16_t known_0f38[16] = {0x0fff, 0x70b1, 0x0f3f, 0xffbf, 0x0003, 0,      0, 0,
                                        0x0c07, 0,      0,      0,      0xbf00, 0xf900, 0, 0x1f63};

/* Defined opcodes of map 1 in VEX and EVEX. */
static const uint16_t known_vector_0f[16] = {0, 0x00ff, 0xff00, 0, 0x0cf6, 0xffff, 0xffff, 0xffff,
                                             0, 0x030f, 0x4000, 0, 0x0074, 0xffff, 0xffff, 0x7fff};

static uint8_t byte_ahead(const struct uspi_x86_code *c) { return c->at < c->limit ? c->bytes[c->at] : 0; }

static uint8_t next_byte(struct uspi_x86_code *c) {
    uint8_t byte = byte_ahead(c);
    if (c->at < c->limit) {
        c->at++;
    } else {
        c->cut = true;
    }
    return byte;
}

/* Reads the next n bytes as a signed number. */
static int64_t next_number(struct uspi_x86_code *c, unsigned n) {
    if (n > c->limit - c->at) {
        c->cut = true;
        return 0;
    }
    const uint8_t *number = c->bytes + c->at;
    c->at += n;
    uint64_t value = n == 1 ? number[0] : n == 4 ? uspi_le32(number) : uspi_le(number, n);
    return uspi_sign_extend(value, 8 * n);
}

static void parse_prefixes(struct uspi_x86_code *c) {
    for (; c->at < c->limit; c->at++) {
        uint8_t byte = c->bytes[c->at];
        switch (byte) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
            /* The last segment override counts, but 64-bit mode ignores those of es, cs, ss and ds. */
            c->segment = c->segment && c->wide;
            c->notrack = c->notrack || byte == 0x3e;
            break;
        case 0x64:
        case 0x65: c->segment = true; break;
        case 0x66: c->operand_16 = true; break;
        case 0x67: c->address_cut = true; break;
        case 0xf0: break;
        case 0xf2:
        case 0xf3: c->repeat = byte; break;
        default:
            if (!c->wide || (byte & 0xf0) != 0x40) return;
            c->rex = byte;
            continue;
        }
        c->rex = 0; /* REX counts only directly before the opcode */
    }
}

/* Parses a VEX, EVEX or XOP prefix after its first byte. */
static bool parse_vector_prefix(struct uspi_x86_code *c, uint8_t first) {
    static const uint8_t mandatory[4] = {0, 0x66, 0xf3, 0xf2};
    if (c->operand_16 || c->repeat != 0 || c->rex != 0) return false;
    uint8_t inverted = next_byte(c); /* R, X, B in the top bits, inverted */
    uint8_t low = inverted;          /* W (inverted R in the short form), vvvv inverted, pp */
    uint8_t rex = 0x40 | ((inverted & 0x80) == 0 ? REX_R : 0);
    c->map = MAP_0F;
    c->encoding = VEX;
    if (first != 0xc5) {
        low = next_byte(c);
        rex |= (uint8_t)(((inverted & 0x40) == 0 ? REX_X : 0) | ((inverted & 0x20) == 0 ? REX_B : 0) |
                         ((low & 0x80) != 0 ? REX_W : 0));
        c->map = inverted & 0x1f;
        c->encoding = first == 0x8f ? XOP : VEX;
    }
    c->vvvv = (uint8_t)~(low >> 3) & 15;
    if (first == 0x62) {
        /* Bit 3 of the first byte and bit 2 of the second have these values in all of AVX-512; APX changes them. */
        if ((inverted & 0x08) != 0 || (low & 0x04) == 0) return false;
        c->map = inverted & 7;
        c->encoding = EVEX;
        next_byte(c); /* mask, broadcast, vector length: irrelevant for integer registers */
    }
    if (!c->wide) {
        rex &= (uint8_t)~(REX_R | REX_X | REX_B);
        c->vvvv &= 7;
    }
    c->rex = rex;
    c->mandatory = mandatory[low & 3];
    c->opcode = next_byte(c);
    return true;
}

static bool parse_opcode(struct uspi_x86_code *c) {
    uint8_t byte = next_byte(c), ahead = byte_ahead(c);
    /* In 32-bit mode les, lds and bound need a memory operand, so a register operand means a prefix. pop (8f) has 0 in
     * ModRM's reg. */
    bool vector = ((byte == 0xc4 || byte == 0xc5 || byte == 0x62) && (c->wide || ahead >= 0xc0)) ||
                  (byte == 0x8f && (ahead & 0x1f) >= XOP_8);
    if (vector) return parse_vector_prefix(c, byte);
    c->mandatory = c->repeat != 0 ? c->repeat : c->operand_16 ? 0x66 : 0;
    if (byte == 0x0f) {
        byte = next_byte(c);
        c->map = byte == 0x38 ? MAP_0F38 : byte == 0x3a ? MAP_0F3A : MAP_0F;
        if (c->map != MAP_0F) byte = next_byte(c);
    }
    c->opcode = byte;
    return true;
}

/* Returns the character of the tables above for the opcode. */
static char operands_of(const struct uspi_x86_code *c) {
    bool legacy = c->encoding == LEGACY;
    unsigned opcode = c->opcode;
    switch (c->map) {
    case MAP_ONE_BYTE:
        if (!legacy || (c->wide && has_bit(gone_in_64, opcode))) return '-';
        return one_byte_operands[opcode >> 4][opcode & 15];
    case MAP_0F:
        if (legacy) return two_byte_operands[opcode >> 4][opcode & 15];
        if (!has_bit(known_vector_0f, opcode)) return '-';
        if (c->encoding == VEX && opcode == 0x77) return '.'; /* vzeroupper, vzeroall */
        return two_byte_operands[opcode >> 4][opcode & 15] == 'M' ? 'M' : 'm';
    case MAP_0F38:
        if (legacy) return has_bit(known_0f38, opcode) ? 'm' : '-';
        return c->encoding == EVEX && opcode >= 0xe0 ? '-' : 'm'; /* general registers in EVEX are APX */
    case MAP_0F3A: return c->encoding == EVEX && opcode >= 0xf0 ? '-' : 'M';
    case MAP_5:
    case MAP_6: return c->encoding == EVEX ? 'm' : '-';
    case MAP_7: return c->encoding == VEX && opcode == 0xf8 ? 'X' : '-';
    case XOP_8: return c->encoding == XOP ? 'M' : '-';
    case XOP_9: return c->encoding == XOP ? 'm' : '-';
    case XOP_A: return c->encoding == XOP ? 'X' : '-';
    default: return '-';
    }
}

static void parse_address_16(struct uspi_x86_code *c) {
    if (c->mod == 0) {
        if (c->rm == 6) next_number(c, 2);
    } else {
        next_number(c, c->mod);
    }
}

static void parse_address(struct uspi_x86_code *c) {
    bool extended = c->rm == 4;
    if (extended) {
        uint8_t sib = next_byte(c);
        c->scale = sib >> 6;
        c->index = (uint8_t)((sib >> 3 & 7) | ((c->rex & REX_X) != 0 ? 8 : 0));
        if (c->index == SP) c->index = NONE;
        c->rm = sib & 7;
    }
    if (c->mod == 0 && c->rm == BP) {
        c->pc_relative = !extended && c->wide;
        c->displacement = next_number(c, 4);
    } else {
        c->base = (uint8_t)(c->rm | ((c->rex & REX_B) != 0 ? 8 : 0));
        if (c->mod == 1) c->displacement = next_number(c, 1);
        if (c->mod == 2) c->displacement = next_number(c, 4);
    }
    if (c->base == NONE && c->scale == 0) {
        c->base = c->index;
        c->index = NONE;
    }
}

static void parse_modrm(struct uspi_x86_code *c, bool always_register) {
    uint8_t modrm = next_byte(c);
    c->mod = always_register ? 3 : modrm >> 6;
    c->reg = (uint8_t)((modrm >> 3 & 7) | ((c->rex & REX_R) != 0 ? 8 : 0));
    c->rm = modrm & 7;
    if (c->mod == 3) {
        c->rm |= (c->rex & REX_B) != 0 ? 8 : 0;
    } else if (c->address_cut && !c->wide) {
        parse_address_16(c);
    } else {
        parse_address(c);
    }
}

bool uspi_x86_parse(struct uspi_x86_code *c, const struct uspi_x86_mode *mode, const uint8_t *bytes, size_t n,
                    usp_addr pc) {
    *c = (struct uspi_x86_code){
        .mode = mode, .wide = mode->word == 8, .pc = pc, .bytes = bytes, .base = NONE, .index = NONE};
    c->limit = n < USPI_X86_INSTRUCTION_MAX ? (unsigned)n : USPI_X86_INSTRUCTION_MAX;
    parse_prefixes(c);
    if (!parse_opcode(c)) return false;
    c->size = (c->rex & REX_W) != 0 ? 8 : c->operand_16 ? 2 : 4;
    unsigned z = c->size == 2 ? 2 : 4;
    switch (operands_of(c)) {
    case '.': break;
    case 'm': parse_modrm(c, false); break;
    case 'M':
        parse_modrm(c, false);
        c->immediate = next_number(c, 1);
        break;
    case 'X':
        parse_modrm(c, false);
        c->immediate = next_number(c, z);
        break;
    case 'g':
        parse_modrm(c, false);
        if ((c->reg & 7) < 2) c->immediate = next_number(c, c->opcode == 0xf6 ? 1 : z);
        break;
    case 'c': parse_modrm(c, true); break;
    case 'b': c->immediate = next_number(c, 1); break;
    case 'w': c->immediate = next_number(c, 2); break;
    case 'z': c->immediate = next_number(c, z); break;
    case 'v': c->immediate = next_number(c, c->size); break;
    case 'j': c->immediate = next_number(c, c->wide ? 4 : z); break;
    case 'o': next_number(c, c->mode->word / (c->address_cut ? 2u : 1u)); break;
    case 'p': next_number(c, z + 2); break;
    case 'e':
        c->immediate = next_number(c, 2) & 0xffff;
        c->reg = next_byte(c) & 31;
        break;
    default: return false;
    }
    /* extrq and insertq share vmread's opcode and have two immediates. */
    bool sse4a = c->mod == 3 && (c->mandatory == 0x66 || c->mandatory == 0xf2);
    if (c->encoding == LEGACY && c->map == MAP_0F && c->opcode == 0x78 && sse4a) next_number(c, 2);
    return !c->cut;
}
