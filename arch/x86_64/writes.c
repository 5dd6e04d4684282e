/* SPDX-License-Identifier: MIT */
/* Tells which integer registers an x86 instruction overwrites, for the many instructions with no other relevant
 * effect. */
#include "arch/x86_64/describe.h"

/* Overwritten:  .  none       *  more than that, see decode.c
 *   r  reg        m  rm, if it is a register        n  rm: register, or memory that is read and written
 *   R  reg, byte  M  rm, byte, if it is a register
 *   l  the register in the opcode's low bits        L  the same, byte
 *   a  rax        d  rdx        D  rax, rdx         q  rax, rbx, rcx, rdx
 *   s  rsi        t  rdi        u  rsi, rdi         v  rax, rsi       and rcx where a repeat prefix counts it
 *   x  see vector_writes()                          y  see describe_0f() */
static const char one_byte_writes[16][17] = {
    /*       0123456789abcdef */
    /* 0 */ "***************.",
    /* 1 */ "****************",
    /* 2 */ "******.a******.a",
    /* 3 */ "******.a******.a",
    /* 4 */ "****************",
    /* 5 */ "****************",
    /* 6 */ "**.*....*r*rttss",
    /* 7 */ "****************",
    /* 8 */ "****..**M*R*m*.*",
    /* 9 */ "********ad*.**.a",
    /* a */ "aa..uuuu..ttvvtt",
    /* b */ "LLLLLLLL********",
    /* c */ "Mn**rr*******a.*",
    /* d */ "MnMnaaaa.......*",
    /* e */ "****aa..****aa..",
    /* f */ ".*..*.**......**",
};

static const char two_byte_writes[16][17] = {
    /*       0123456789abcdef */
    /* 0 */ "yyrr.*.*...*....",
    /* 1 */ "..............*.",
    /* 2 */ "mm..........xx..",
    /* 3 */ ".DDD**.q........",
    /* 4 */ "rrrrrrrrrrrrrrrr",
    /* 5 */ "x...............",
    /* 6 */ "................",
    /* 7 */ "........y.....x.",
    /* 8 */ "****************",
    /* 9 */ "MMMMMMMMMMMMMMMM",
    /* a */ "**q.nnyy***mnnyr",
    /* b */ "y*rmrrrrr**mrrrr",
    /* c */ "y*.*.x.yllllllll",
    /* d */ ".......x........",
    /* e */ "................",
    /* f */ "...............*",
};

/* 0f 01 with a register in ModRM: system instructions without operands, and smsw, lmsw. Instructions of a hypervisor,
 * an enclave or the kernel are only described as returning values. */
static void describe_0f01(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->mod != 3) return;
    switch ((c->reg & 7) << 3 | (c->rm & 7)) {
    case 0x10: /* xgetbv */
    case 0x2e: /* rdpkru */
    case 0x3d: /* rdpru */
        clobber(c, out, AX);
        clobber(c, out, DX);
        break;
    case 0x39: /* rdtscp */
        clobber(c, out, AX);
        clobber(c, out, DX);
        clobber(c, out, CX);
        break;
    case 0x0a: /* erets, eretu */
    case 0x2c: /* uiret */ out->flow = c->mandatory != 0 ? USPI_END : USPI_NEXT; break;
    case 0x00: /* enclv */
    case 0x01: /* vmcall */
    case 0x05: /* pconfig */
    case 0x06: /* rdmsrlist */
    case 0x07: /* pbndkb */
    case 0x0c: /* tdcall */
    case 0x0d: /* seamret */
    case 0x0e: /* seamops */
    case 0x0f: /* encls, seamcall */
    case 0x14: /* vmfunc */
    case 0x17: /* enclu */
    case 0x18: /* vmrun */
    case 0x19: /* vmmcall, vmgexit */
    case 0x3e: /* rmpadjust, rmpupdate, rmpquery */
    case 0x3f: /* psmash, pvalidate */ out->clobbers |= c->wide ? 0xff3f : 0xcf; break;
    default:
        if ((c->reg & 7) == 4) clobber(c, out, c->rm); /* smsw */
    }
}

static void describe_0f(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    unsigned extension = c->reg & 7;
    switch (c->opcode) {
    case 0x00: /* sldt, str */
        if (extension < 2) clobber_rm(c, out);
        break;
    case 0x01: describe_0f01(c, out); break;
    case 0x78: /* vmread */
        if (c->mandatory == 0 || c->mandatory == 0xf3) clobber_rm(c, out);
        break;
    case 0xa6: /* VIA's cryptographic instructions */
    case 0xa7:
        for (unsigned reg = AX; reg <= DX; reg++) clobber(c, out, reg);
        clobber(c, out, SI);
        clobber(c, out, DI);
        break;
    case 0xae: /* rdfsbase, rdgsbase */
        if (c->mandatory == 0xf3 && extension < 2) clobber_rm(c, out);
        break;
    case 0xb0: /* cmpxchg */
        clobber_rm_byte(c, out);
        clobber(c, out, AX);
        break;
    case 0xc0: /* xadd */
        clobber_rm_byte(c, out);
        clobber(c, out, byte_register(c, c->reg));
        break;
    default: /* c7: cmpxchg8b and cmpxchg16b; rdrand, rdseed, rdpid */
        if (c->mod != 3 && extension == 1) {
            clobber(c, out, AX);
            clobber(c, out, DX);
        }
        if (extension >= 6) clobber_rm(c, out);
    }
}

static void describe_0f38(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    switch (c->opcode) {
    case 0x8a: /* movrs */
    case 0x8b:
    case 0xf0: /* movbe, crc32 */
    case 0xfa: /* encodekey128, encodekey256 */
    case 0xfb: clobber(c, out, c->reg); break;
    case 0xf1:
        if (c->mandatory == 0xf2) {
            clobber(c, out, c->reg);
        } else {
            store(c, out, NONE);
        }
        break;
    case 0xf6: /* adcx, adox; wrss without a prefix */
        if (c->mandatory != 0) clobber(c, out, c->reg);
        break;
    case 0xf8: /* urdmsr, among stores */
        if (c->mandatory == 0xf2) clobber_rm(c, out);
        break;
    default: break;
    }
}

/* Describes instructions in all encodings that share their opcodes with vector instructions. */
static void vector_writes(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    bool scalar = c->mandatory == 0xf3 || c->mandatory == 0xf2;
    bool vex = c->encoding == VEX;
    switch (c->map << 8 | c->opcode) {
    case 0x12c: /* (v)cvt(t)ss2si, (v)cvt(t)sd2si */
    case 0x12d:
        if (scalar) clobber(c, out, c->reg);
        break;
    case 0x178: /* vcvt(t)ss2usi, vcvt(t)sd2usi */
    case 0x179:
    case 0x52c: /* vcvt(t)sh2si, vcvt(t)sh2usi; vcvttss2sis and the like */
    case 0x52d:
    case 0x56c:
    case 0x56d:
    case 0x578:
    case 0x579:
        if (c->encoding == EVEX && scalar) clobber(c, out, c->reg);
        break;
    case 0x150: /* (v)movmskps, (v)movmskpd */
    case 0x1c5: /* (v)pextrw */
    case 0x1d7: /* (v)pmovmskb */ clobber(c, out, c->reg); break;
    case 0x17e: /* (v)movd, (v)movq; vmovw */
    case 0x57e:
        if (!scalar) clobber_rm(c, out);
        break;
    case 0x193: /* kmov to a register */
    case 0x2f2: /* andn */
    case 0x2f5: /* bzhi, pext, pdep */
    case 0x2f7: /* bextr, shlx, sarx, shrx */
    case 0x3f0: /* rorx */
        if (vex) clobber(c, out, c->reg);
        break;
    case 0x2f6: /* mulx */
        if (vex) clobber(c, out, c->reg);
        if (vex) clobber(c, out, c->vvvv);
        break;
    case 0x2f3: /* blsr, blsmsk, blsi */
    case 0x901: /* blcfill and the rest of TBM */
    case 0x902: clobber(c, out, c->vvvv); break;
    case 0x314: /* (v)pextrb, (v)pextrw, (v)pextrd, (v)extractps */
    case 0x315:
    case 0x316:
    case 0x317:
    case 0x7f8: /* urdmsr */
    case 0x912: /* slwpcb */ clobber_rm(c, out); break;
    case 0x361: /* (v)pcmpestri, (v)pcmpistri */
    case 0x363: clobber(c, out, CX); break;
    case 0xa10: /* bextr with an immediate */ clobber(c, out, c->reg); break;
    default:
        if (vex && (c->map << 8 | (c->opcode & 0xf0)) == 0x2e0) clobber(c, out, c->reg); /* cmpccxadd */
    }
}

bool uspi_x86_describe_writes(const struct uspi_x86_code *c, struct uspi_instruction *out) {
    if (c->encoding != LEGACY || c->map == MAP_0F3A) {
        vector_writes(c, out);
        return true;
    }
    if (c->map == MAP_0F38) {
        describe_0f38(c, out);
        return true;
    }
    unsigned low = (c->opcode & 7) | ((c->rex & REX_B) != 0 ? 8u : 0);
    char writes = c->map == MAP_ONE_BYTE ? one_byte_writes[c->opcode >> 4][c->opcode & 15]
                                         : two_byte_writes[c->opcode >> 4][c->opcode & 15];
    switch (writes) {
    case 'r': clobber(c, out, c->reg); break;
    case 'R': clobber(c, out, byte_register(c, c->reg)); break;
    case 'm': clobber_rm(c, out); break;
    case 'M': clobber_rm_byte(c, out); break;
    case 'n': overwrite_rm(c, out); break;
    case 'l': clobber(c, out, low); break;
    case 'L': clobber(c, out, byte_register(c, low)); break;
    case 'a': clobber(c, out, AX); break;
    case 'd': clobber(c, out, DX); break;
    case 'D':
        clobber(c, out, AX);
        clobber(c, out, DX);
        break;
    case 'q':
        for (unsigned reg = AX; reg <= BX; reg++) clobber(c, out, reg);
        break;
    case 's':
    case 't':
    case 'u':
    case 'v':
        if (writes != 't') clobber(c, out, SI);
        if (writes == 't' || writes == 'u') clobber(c, out, DI);
        if (writes == 'v') clobber(c, out, AX);
        if (c->repeat != 0) clobber(c, out, CX);
        break;
    case 'x': vector_writes(c, out); break;
    case 'y': describe_0f(c, out); break;
    case '*': return false;
    default: break;
    }
    return true;
}
