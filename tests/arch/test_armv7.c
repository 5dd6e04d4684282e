/* SPDX-License-Identifier: MIT */
/* Tests the armv7 backend: the effects of single instructions, IT blocks, calls before return addresses, thread states
 * and signal trampolines. decode_diff_armv7.py compares whole text sections with a disassembler,
 * emulated/effects_armv7.c compares effects with an emulator. */
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "arch/backend.h"
#include "tests/support/suite.h"

#define ARM   0u
#define THUMB USPI_MODE_THUMB
#define EQUAL (THUMB | 0x08u << USPI_MODE_IT_SHIFT) /* inside `it eq` */
#define PC    0x8000u

static size_t encode(uint32_t word, uint32_t mode, uint8_t *bytes) {
    if (mode & THUMB && word < 0xe800) {
        bytes[0] = (uint8_t)word, bytes[1] = (uint8_t)(word >> 8);
        return 2;
    }
    if (mode & THUMB) word = word << 16 | word >> 16;
    for (unsigned k = 0; k < 4; k++) bytes[k] = (uint8_t)(word >> 8 * k);
    return 4;
}

/* ---- instructions ---- */

/* A decoded instruction as text, to compare and to read:
 *   reg = base + n      reg = n         reg[16] = n (halfword)    reg = base + reg
 *   reg = [base + n]    reg = code[n]   [base + n] = reg or ?
 * then "? regs" for registers with unknown values, then "-> flow", unless it continues at the next instruction. "if"
 * and the condition precede what is conditional. */
struct text {
    char s[400];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->s + text->n, sizeof text->s - text->n, format, arguments);
    va_end(arguments);
    ck_assert(n >= 0 && (size_t)n < sizeof text->s - text->n);
    text->n += (size_t)n;
}

static const char *name(unsigned reg) { return reg < 16 ? uspi_armv7.register_names[reg] : "?"; }

static void add_sum(struct text *text, const struct uspi_effect *e) {
    add(text, "%s", name(e->base));
    if (e->value) add(text, " %c %" PRId64, e->value < 0 ? '-' : '+', e->value < 0 ? -e->value : e->value);
}

static void add_effect(struct text *text, const struct uspi_effect *e) {
    switch (e->op) {
    case USPI_SET:
        add(text, "%s = ", name(e->reg));
        if (e->base == USPI_NO_REGISTER) {
            add(text, "0x%" PRIx32, (uint32_t)e->value);
        } else {
            add_sum(text, e);
        }
        break;
    case USPI_INSERT: add(text, "%s[%u] = 0x%" PRIx64, name(e->reg), e->index, (uint64_t)e->value); break;
    case USPI_ADD: add(text, "%s = %s + %s", name(e->reg), name(e->base), name(e->index)); break;
    case USPI_SUBTRACT: add(text, "%s = %s - %s", name(e->reg), name(e->base), name(e->index)); break;
    case USPI_LOAD:
        add(text, "%s = [", name(e->reg));
        add_sum(text, e);
        add(text, "]");
        break;
    case USPI_LITERAL: add(text, "%s = code[0x%" PRIx64 "]", name(e->reg), (uint64_t)e->value); break;
    case USPI_STORE:
        add(text, "[");
        add_sum(text, e);
        add(text, "] = %s", name(e->reg));
        break;
    default: ck_abort_msg("no such effect: %u", e->op);
    }
    add(text, "; ");
}

static void describe(struct text *text, const struct uspi_instruction *i) {
    static const char *const flows[] = {"next", "jump", "branch", "call", "jump", "table", "return", "end"};
    static const char *const conditions[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs",
                                             "vc", "hi", "ls", "ge", "lt", "gt", "le"};
    bool by_register = i->flow == USPI_JUMP_UNKNOWN || i->flow == USPI_RETURN;
    text->n = 0;
    ck_assert_uint_le(i->conditional, 14);
    if (i->conditional) add(text, "if %s: ", conditions[i->conditional - 1]);
    for (unsigned k = 0; k < i->effect_count; k++) add_effect(text, &i->effects[k]);
    if (i->clobbers) {
        add(text, "?");
        for (unsigned r = 0; r < 16; r++) {
            if (i->clobbers >> r & 1) add(text, " %s", name(r));
        }
        add(text, "; ");
    }
    if (i->flow != USPI_NEXT) {
        add(text, "-> %s", flows[i->flow]);
        if (by_register) add(text, " %s", name(i->target_register));
        if (i->target) add(text, " 0x%" PRIx64 " %s", i->target, i->target_mode ? "thumb" : "arm");
    } else if (text->n >= 2) {
        text->n -= 2;
    }
    text->s[text->n] = 0;
}

/* Instructions with their expected text, all at 0x8000. A Thumb instruction has 16 bits, or 32 with the first halfword
 * in the high half. */
static const struct instruction {
    uint32_t mode;
    uint32_t word;
    const char *assembly;
    const char *expected;
} instructions[] = {
    /* Thumb: stacks */
    {THUMB, 0xb580, "push {r7, lr}", "[sp - 8] = r7; [sp - 4] = lr; sp = sp - 8"},
    {THUMB, 0xb5f0, "push {r4, r5, r6, r7, lr}",
     "[sp - 20] = r4; [sp - 16] = r5; [sp - 12] = r6; [sp - 8] = r7; [sp - 4] = lr; sp = sp - 20"},
    {THUMB, 0xe92d4110, "push.w {r4, r8, lr}", "[sp - 12] = r4; [sp - 8] = r8; [sp - 4] = lr; sp = sp - 12"},
    {THUMB, 0xf84d8d04, "push.w {r8}", "[sp - 4] = r8; sp = sp - 4"},
    {THUMB, 0xf84ded04, "str lr, [sp, #-4]!", "[sp - 4] = lr; sp = sp - 4"},
    {THUMB, 0xe92d4830, "stmdb sp!, {r4, r5, r11, lr}",
     "[sp - 16] = r4; [sp - 12] = r5; [sp - 8] = r11; [sp - 4] = lr; sp = sp - 16"},
    {THUMB, 0xbc90, "pop {r4, r7}", "r4 = [sp]; r7 = [sp + 4]; sp = sp + 8"},
    {THUMB, 0xbd80, "pop {r7, pc}", "r7 = [sp]; pc = [sp + 4]; sp = sp + 8; -> return pc"},
    {THUMB, 0xe8bd8110, "pop.w {r4, r8, pc}", "r4 = [sp]; r8 = [sp + 4]; pc = [sp + 8]; sp = sp + 12; -> return pc"},
    {THUMB, 0xf85d8b04, "pop.w {r8}", "r8 = [sp]; sp = sp + 4"},
    {THUMB, 0xf85dfb04, "ldr pc, [sp], #4", "pc = [sp]; sp = sp + 4; -> return pc"},
    {THUMB, 0xf85deb14, "ldr lr, [sp], #20", "lr = [sp]; sp = sp + 20"},
    {THUMB, 0xf8ddf008, "ldr.w pc, [sp, #8]", "pc = [sp + 8]; -> return pc"},
    {THUMB, 0xc006, "stmia r0!, {r1, r2}", "[r0] = r1; [r0 + 4] = r2; r0 = r0 + 8"},
    {THUMB, 0xc106, "stm r1!, {r1, r2}", "[r1] = r1; [r1 + 4] = r2; r1 = r1 + 8"},
    {THUMB, 0xc206, "stm r2!, {r1, r2}", "[r2] = r1; [r2 + 4] = ?; r2 = r2 + 8"},
    {THUMB, 0xc806, "ldmia r0!, {r1, r2}", "r1 = [r0]; r2 = [r0 + 4]; r0 = r0 + 8"},
    {THUMB, 0xc803, "ldm r0, {r0, r1}", "r1 = [r0 + 4]; r0 = [r0]"},
    {THUMB, 0xe89740b0, "ldm.w r7, {r4, r5, r7, lr}", "r4 = [r7]; r5 = [r7 + 4]; lr = [r7 + 12]; r7 = [r7 + 8]"},
    {THUMB, 0xe9330030, "ldmdb r3!, {r4, r5}", "r4 = [r3 - 8]; r5 = [r3 - 4]; r3 = r3 - 8"},
    {THUMB, 0xe8908030, "ldm.w r0, {r4, r5, pc}", "r4 = [r0]; r5 = [r0 + 4]; pc = [r0 + 8]; -> return pc"},
    {THUMB, 0xe96d4e02, "strd r4, lr, [sp, #-8]!", "[sp - 8] = r4; [sp - 4] = lr; sp = sp - 8"},
    {THUMB, 0xe9470106, "strd r0, r1, [r7, #-24]", "[r7 - 24] = r0; [r7 - 20] = r1"},
    {THUMB, 0xe9d00102, "ldrd r0, r1, [r0, #8]", "r1 = [r0 + 12]; r0 = [r0 + 8]"},
    {THUMB, 0xe9d01002, "ldrd r1, r0, [r0, #8]", "r1 = [r0 + 8]; r0 = [r0 + 12]"},
    {THUMB, 0xe8fd4702, "ldrd r4, r7, [sp], #8", "r4 = [sp]; r7 = [sp + 4]; sp = sp + 8"},
    {THUMB, 0xe9df2304, "ldrd r2, r3, [pc, #16]", "r2 = code[0x8014]; r3 = code[0x8018]"},
    {THUMB, 0xed2d8b04, "vpush {d8, d9}", "[sp - 16] = ?; [sp - 12] = ?; [sp - 8] = ?; [sp - 4] = ?; sp = sp - 16"},
    {THUMB, 0xecbd8b04, "vpop {d8, d9}", "sp = sp + 16"},
    {THUMB, 0xed2d8b10, "vpush {d8-d15}",
     "[sp - 64] = ?; [sp - 60] = ?; [sp - 56] = ?; [sp - 52] = ?; [sp - 48] = ?; [sp - 44] = ?; [sp - 40] = ?; [sp - "
     "36] = ?; [sp - 32] = ?; [sp - 28] = ?; [sp - 24] = ?; [sp - 20] = ?; [sp - 16] = ?; [sp - 12] = ?; [sp - 8] = ?; "
     "[sp - 4] = ?; sp = sp - 64"},
    {THUMB, 0xec800b20, "vstmia r0, {d0-d15}", ""},
    {THUMB, 0xed8d8b02, "vstr d8, [sp, #8]", "[sp + 8] = ?; [sp + 12] = ?"},
    {THUMB, 0xed070a02, "vstr s0, [r7, #-8]", "[r7 - 8] = ?"},
    {THUMB, 0xecb00a04, "vldmia r0!, {s0-s3}", "r0 = r0 + 16"},
    {THUMB, 0xed310b02, "vldmdb r1!, {d0}", "r1 = r1 - 8"},
    /* Thumb: sp and frame pointer */
    {THUMB, 0xb082, "sub sp, #8", "sp = sp - 8"},
    {THUMB, 0xb07f, "add sp, #508", "sp = sp + 508"},
    {THUMB, 0xaf02, "add r7, sp, #8", "r7 = sp + 8"},
    {THUMB, 0xf10d070c, "add.w r7, sp, #12", "r7 = sp + 12"},
    {THUMB, 0xf5ad5d80, "sub.w sp, sp, #4096", "sp = sp - 4096"},
    {THUMB, 0xf6ad0d04, "subw sp, sp, #2052", "sp = sp - 2052"},
    {THUMB, 0xf60d70ff, "addw r0, sp, #4095", "r0 = sp + 4095"},
    {THUMB, 0xf1a70d18, "sub.w sp, r7, #24", "sp = r7 - 24"},
    {THUMB, 0x46bd, "mov sp, r7", "sp = r7"},
    {THUMB, 0x466f, "mov r7, sp", "r7 = sp"},
    {THUMB, 0x44a5, "add sp, r4", "sp = sp + r4"},
    {THUMB, 0xebad0d04, "sub.w sp, sp, r4", "sp = sp - r4"},
    {THUMB, 0xeb0d0084, "add.w r0, sp, r4, lsl #2", "? r0"},
    {THUMB, 0x4468, "add r0, sp, r0", "r0 = r0 + sp"},
    {THUMB, 0xf02d040f, "bic r4, sp, #15", "? r4"},
    {THUMB, 0xf36f0403, "bfc r4, #0, #4", "? r4"},
    {THUMB, 0x46a5, "mov sp, r4", "sp = r4"},
    {THUMB, 0xf10d0b10, "add r11, sp, #16", "r11 = sp + 16"},
    /* Thumb: constants and addresses */
    {THUMB, 0x24ff, "movs r4, #255", "r4 = 0xff"},
    {THUMB, 0xf04f24ab, "mov.w r4, #0xab00ab00", "r4 = 0xab00ab00"},
    {THUMB, 0xf06f0400, "mvn r4, #0", "r4 = 0xffffffff"},
    {THUMB, 0xf06f447f, "mvn r4, #0xff000000", "r4 = 0xffffff"},
    {THUMB, 0xf2480410, "movw r4, #0x8010", "r4 = 0x8010"},
    {THUMB, 0xf6cf74ff, "movt r4, #0xffff", "r4[16] = 0xffff"},
    {THUMB, 0xf44f5cfe, "mov.w r12, #0x1fc0", "r12 = 0x1fc0"},
    {THUMB, 0xa004, "adr r0, #16", "r0 = 0x8014"},
    {THUMB, 0xf2af0010, "adr.w r0, #-16", "r0 = 0x7ff4"},
    {THUMB, 0x4c04, "ldr r4, [pc, #16]", "r4 = code[0x8014]"},
    {THUMB, 0xf85f4008, "ldr.w r4, [pc, #-8]", "r4 = code[0x7ffc]"},
    {THUMB, 0x447b, "add r3, pc", "r3 = r3 + 32772"},
    {THUMB, 0x467b, "mov r3, pc", "r3 = 0x8004"},
    {THUMB, 0x0011, "movs r1, r2", "r1 = r2"},
    {THUMB, 0x0051, "lsls r1, r2, #1", "? r1"},
    {THUMB, 0x1cd1, "adds r1, r2, #3", "r1 = r2 + 3"},
    {THUMB, 0x18d1, "adds r1, r2, r3", "r1 = r2 + r3"},
    {THUMB, 0x1ad1, "subs r1, r2, r3", "r1 = r2 - r3"},
    {THUMB, 0x39ff, "subs r1, #255", "r1 = r1 - 255"},
    {THUMB, 0xea4f0904, "mov.w r9, r4", "r9 = r4"},
    {THUMB, 0xeb140905, "adds.w r9, r4, r5", "r9 = r4 + r5"},
    {THUMB, 0xf1c40900, "rsb r9, r4, #0", "? r9"},
    {THUMB, 0xea440905, "orr r9, r4, r5", "? r9"},
    {THUMB, 0xea6f0405, "mvn.w r4, r5", "? r4"},
    {THUMB, 0xf0040d0f, "and sp, r4, #15", "? sp"},
    /* Thumb: loads and stores */
    {THUMB, 0x98ff, "ldr r0, [sp, #1020]", "r0 = [sp + 1020]"},
    {THUMB, 0x90ff, "str r0, [sp, #1020]", "[sp + 1020] = r0"},
    {THUMB, 0xf8570c04, "ldr r0, [r7, #-4]", "r0 = [r7 - 4]"},
    {THUMB, 0xf8470c04, "str r0, [r7, #-4]", "[r7 - 4] = r0"},
    {THUMB, 0xf8070d05, "strb r0, [r7, #-5]!", "[r7 - 8] = ?; r7 = r7 - 5"},
    {THUMB, 0xf8a7000b, "strh r0, [r7, #11]", "[r7 + 8] = ?; [r7 + 12] = ?"},
    {THUMB, 0x6fc8, "ldr r0, [r1, #124]", "r0 = [r1 + 124]"},
    {THUMB, 0x5888, "ldr r0, [r1, r2]", "? r0"},
    {THUMB, 0x5088, "str r0, [r1, r2]", ""},
    {THUMB, 0xf8514908, "ldr r4, [r1], #-8", "r4 = [r1]; r1 = r1 - 8"},
    {THUMB, 0x68a4, "ldr r4, [r4, #8]", "r4 = [r4 + 8]"},
    {THUMB, 0x7148, "strb r0, [r1, #5]", "[r1 + 4] = ?"},
    {THUMB, 0xf8270c06, "strh.w r0, [r7, #-6]", "[r7 - 8] = ?"},
    {THUMB, 0xf8010d01, "strb r0, [r1, #-1]!", "[r1 - 4] = ?; r1 = r1 - 1"},
    {THUMB, 0x7948, "ldrb r0, [r1, #5]", "? r0"},
    {THUMB, 0xf9310b02, "ldrsh r0, [r1], #2", "r1 = r1 + 2; ? r0"},
    {THUMB, 0xf81d4b01, "ldrb.w r4, [sp], #1", "sp = sp + 1; ? r4"},
    {THUMB, 0xe8421001, "strex r0, r1, [r2, #4]", "[r2 + 4] = ?; ? r0"},
    {THUMB, 0xe8520f01, "ldrex r0, [r2, #4]", "? r0"},
    {THUMB, 0xe8d2017f, "ldrexd r0, r1, [r2]", "? r0 r1"},
    {THUMB, 0xe8c31270, "strexd r0, r1, r2, [r3]", "[r3] = ?; [r3 + 4] = ?; ? r0"},
    {THUMB, 0xf94d0acd, "vst1.64 {d16, d17}, [sp]!",
     "[sp] = ?; [sp + 4] = ?; [sp + 8] = ?; [sp + 12] = ?; sp = sp + 16"},
    {THUMB, 0xf9c00021, "vst1.8 {d16[1]}, [r0], r1", "[r0] = ?; r0 = r0 + r1"},
    {THUMB, 0xf963078d, "vld1.32 {d16}, [r3]!", "r3 = r3 + 8"},
    {THUMB, 0xf923000c, "vld4.8 {d0, d1, d2, d3}, [r3], r12", "r3 = r3 + r12"},
    {THUMB, 0xf9a30c4d, "vld1.16 {d0[]}, [r3]!", "r3 = r3 + 2"},
    {THUMB, 0xee104a10, "vmov r4, s0", "? r4"},
    {THUMB, 0xec554b18, "vmov r4, r5, d8", "? r4 r5"},
    {THUMB, 0xec454b18, "vmov d8, r4, r5", ""},
    {THUMB, 0xeef14a10, "vmrs r4, fpscr", "? r4"},
    {THUMB, 0xeef1fa10, "vmrs apsr_nzcv, fpscr", ""},
    {THUMB, 0xee1d4f70, "mrc p15, #0, r4, c13, c0, #3", "? r4"},
    {THUMB, 0xee074fba, "mcr p15, #0, r4, c7, c10, #5", ""},
    /* Thumb: other results */
    {THUMB, 0xfb05f406, "mul r4, r5, r6", "? r4"},
    {THUMB, 0x436c, "muls r4, r5, r4", "? r4"},
    {THUMB, 0xfb864507, "smull r4, r5, r6, r7", "? r4 r5"},
    {THUMB, 0xfbe64567, "umaal r4, r5, r6, r7", "? r4 r5"},
    {THUMB, 0xfb95f4f6, "sdiv r4, r5, r6", "? r4"},
    {THUMB, 0xfb257406, "smlad r4, r5, r6, r7", "? r4"},
    {THUMB, 0xf3c50442, "ubfx r4, r5, #1, #3", "? r4"},
    {THUMB, 0xf3650443, "bfi r4, r5, #1, #3", "? r4"},
    {THUMB, 0xfab5f485, "clz r4, r5", "? r4"},
    {THUMB, 0xba2c, "rev r4, r5", "? r4"},
    {THUMB, 0xb2ec, "uxtb r4, r5", "? r4"},
    {THUMB, 0xfa09f88a, "sxtah r8, r9, r10", "? r8"},
    {THUMB, 0xf3050407, "ssat r4, #8, r5", "? r4"},
    {THUMB, 0xfa86f485, "qadd r4, r5, r6", "? r4"},
    {THUMB, 0xfaa5f486, "sel r4, r5, r6", "? r4"},
    {THUMB, 0xfac5f486, "crc32b r4, r5, r6", "? r4"},
    {THUMB, 0xfa04f805, "lsl.w r8, r4, r5", "? r8"},
    {THUMB, 0xf3ef8400, "mrs r4, apsr", "? r4"},
    {THUMB, 0x42ac, "cmp r4, r5", ""},
    {THUMB, 0xea140f05, "tst.w r4, r5", ""},
    {THUMB, 0xf1bd0f00, "cmp.w sp, #0", ""},
    {THUMB, 0xf0940f01, "teq.w r4, #1", ""},
    {THUMB, 0xbf00, "nop", ""},
    {THUMB, 0xf3bf8f5b, "dmb ish", ""},
    {THUMB, 0xf890f000, "pld [r0]", ""},
    {THUMB, 0xdf00, "svc #0", "? r0 r1"},
    /* Thumb: flow */
    {THUMB, 0xe010, "b #0x20", "-> jump 0x8024 thumb"},
    {THUMB, 0xf7ffbf00, "b.w #-0x200", "-> jump 0x7e04 thumb"},
    {THUMB, 0xd010, "beq #0x20", "if eq: -> branch 0x8024 thumb"},
    {THUMB, 0xf0418000, "bne.w #0x1000", "if ne: -> branch 0x9004 thumb"},
    {THUMB, 0xf001f800, "bl #0x1000", "? lr; -> call 0x9004 thumb"},
    {THUMB, 0xf001e800, "blx #0x1000", "? lr; -> call 0x9004 arm"},
    {THUMB, 0x4798, "blx r3", "? lr; -> call"},
    {THUMB, 0x4770, "bx lr", "-> return lr"},
    {THUMB, 0x4718, "bx r3", "-> jump r3"},
    {THUMB, 0x4778, "bx pc", "-> jump 0x8004 arm"},
    {THUMB, 0x46f7, "mov pc, lr", "-> return lr"},
    {THUMB, 0x469f, "mov pc, r3", "-> jump r3"},
    {THUMB, 0x449f, "add pc, r3", "-> table"},
    {THUMB, 0xb140, "cbz r0, #0x10", "-> branch 0x8014 thumb"},
    {THUMB, 0xb981, "cbnz r1, #0x20", "-> branch 0x8024 thumb"},
    {THUMB, 0xf8dff008, "ldr.w pc, [pc, #8]", "pc = code[0x800c]; -> jump pc"},
    {THUMB, 0xf8dcf000, "ldr.w pc, [r12]", "pc = [r12]; -> jump pc"},
    {THUMB, 0xf853f020, "ldr.w pc, [r3, r0, lsl #2]", "-> jump ?"},
    {THUMB, 0xe8d1f000, "tbb [r1, r0]", "-> table"},
    {THUMB, 0xde01, "udf #1", "-> end"},
    {THUMB, 0xbe00, "bkpt #0", "-> end"},
    {THUMB, 0xf7f0a001, "udf.w #1", "-> end"},
    {THUMB, 0xf3de8f04, "subs pc, lr, #4", "-> end"},
    {THUMB, 0xe9b0c000, "rfeia r0!", "-> end"},
    /* ARM: stacks */
    {ARM, 0xe92d4080, "push {r7, lr}", "[sp - 8] = r7; [sp - 4] = lr; sp = sp - 8"},
    {ARM, 0xe52d4004, "push {r4}", "[sp - 4] = r4; sp = sp - 4"},
    {ARM, 0xe92d4810, "stmdb sp!, {r4, r11, lr}", "[sp - 12] = r4; [sp - 8] = r11; [sp - 4] = lr; sp = sp - 12"},
    {ARM, 0xe92dd800, "push {r11, r12, lr, pc}",
     "[sp - 16] = r11; [sp - 12] = r12; [sp - 8] = lr; [sp - 4] = ?; sp = sp - 16"},
    {ARM, 0xe9800006, "stmib r0, {r1, r2}", "[r0 + 4] = r1; [r0 + 8] = r2"},
    {ARM, 0xe8200006, "stmda r0!, {r1, r2}", "[r0 - 4] = r1; [r0] = r2; r0 = r0 - 8"},
    {ARM, 0xe8c02002, "stm r0, {r1, sp}^", "[r0] = ?; [r0 + 4] = ?"},
    {ARM, 0xe91ba810, "ldmdb r11, {r4, r11, sp, pc}",
     "r4 = [r11 - 16]; sp = [r11 - 8]; pc = [r11 - 4]; r11 = [r11 - 12]; -> return pc"},
    {ARM, 0xe8bd8810, "pop {r4, r11, pc}", "r4 = [sp]; r11 = [sp + 4]; pc = [sp + 8]; sp = sp + 12; -> return pc"},
    {ARM, 0xe49d4004, "pop {r4}", "r4 = [sp]; sp = sp + 4"},
    {ARM, 0xe49df004, "pop {pc}", "pc = [sp]; sp = sp + 4; -> return pc"},
    {ARM, 0xe9900006, "ldmib r0, {r1, r2}", "r1 = [r0 + 4]; r2 = [r0 + 8]"},
    {ARM, 0xe8300006, "ldmda r0!, {r1, r2}", "r1 = [r0 - 4]; r2 = [r0]; r0 = r0 - 8"},
    {ARM, 0xe8900007, "ldm r0, {r0, r1, r2}", "r1 = [r0 + 4]; r2 = [r0 + 8]; r0 = [r0]"},
    {ARM, 0xe8d04002, "ldm r0, {r1, lr}^", "? r1 lr"},
    {ARM, 0xe8fd8001, "ldm sp!, {r0, pc}^", "-> end"},
    {ARM, 0xe49de008, "ldr lr, [sp], #8", "lr = [sp]; sp = sp + 8"},
    {ARM, 0xe16d40f8, "strd r4, r5, [sp, #-8]!", "[sp - 8] = r4; [sp - 4] = r5; sp = sp - 8"},
    {ARM, 0xe14b01f4, "strd r0, r1, [r11, #-20]", "[r11 - 20] = r0; [r11 - 16] = r1"},
    {ARM, 0xe08200f3, "strd r0, r1, [r2], r3", "[r2] = r0; [r2 + 4] = r1; r2 = r2 + r3"},
    {ARM, 0xe0cd40d8, "ldrd r4, r5, [sp], #8", "r4 = [sp]; r5 = [sp + 4]; sp = sp + 8"},
    {ARM, 0xe1c000d0, "ldrd r0, r1, [r0]", "r1 = [r0 + 4]; r0 = [r0]"},
    {ARM, 0xed2d8b04, "vpush {d8, d9}", "[sp - 16] = ?; [sp - 12] = ?; [sp - 8] = ?; [sp - 4] = ?; sp = sp - 16"},
    {ARM, 0xecbd8b04, "vpop {d8, d9}", "sp = sp + 16"},
    /* ARM: sp and frame pointer */
    {ARM, 0xe28db004, "add r11, sp, #4", "r11 = sp + 4"},
    {ARM, 0xe24cb004, "sub r11, r12, #4", "r11 = r12 - 4"},
    {ARM, 0xe1a0c00d, "mov r12, sp", "r12 = sp"},
    {ARM, 0xe24dd901, "sub sp, sp, #16384", "sp = sp - 16384"},
    {ARM, 0xe24bd008, "sub sp, r11, #8", "sp = r11 - 8"},
    {ARM, 0xe04dd003, "sub sp, sp, r3", "sp = sp - r3"},
    {ARM, 0xe08dd003, "add sp, sp, r3", "sp = sp + r3"},
    {ARM, 0xe1a0d00b, "mov sp, r11", "sp = r11"},
    {ARM, 0xe3cdd00f, "bic sp, sp, #15", "? sp"},
    {ARM, 0xe203d00f, "and sp, r3, #15", "? sp"},
    {ARM, 0xe7c3d01f, "bfc sp, #0, #4", "? sp"},
    {ARM, 0xe08dd103, "add sp, sp, r3, lsl #2", "? sp"},
    /* ARM: constants and addresses */
    {ARM, 0xe3a004ff, "mov r0, #0xff000000", "r0 = 0xff000000"},
    {ARM, 0xe3e00000, "mvn r0, #0", "r0 = 0xffffffff"},
    {ARM, 0xe3084010, "movw r4, #0x8010", "r4 = 0x8010"},
    {ARM, 0xe34f4fff, "movt r4, #0xffff", "r4[16] = 0xffff"},
    {ARM, 0xe28f0010, "add r0, pc, #16", "r0 = 0x8018"},
    {ARM, 0xe24f0010, "sub r0, pc, #16", "r0 = 0x7ff8"},
    {ARM, 0xe08f3003, "add r3, pc, r3", "r3 = r3 + 32776"},
    {ARM, 0xe043300f, "sub r3, r3, pc", "r3 = r3 - 32776"},
    {ARM, 0xe1a0e00f, "mov lr, pc", "lr = 0x8008"},
    {ARM, 0xe59f4010, "ldr r4, [pc, #16]", "r4 = code[0x8018]"},
    {ARM, 0xe51f4008, "ldr r4, [pc, #-8]", "r4 = code[0x8000]"},
    {ARM, 0xe1b01002, "movs r1, r2", "r1 = r2"},
    {ARM, 0xe1a01082, "mov r1, r2, lsl #1", "? r1"},
    {ARM, 0xe2621003, "rsb r1, r2, #3", "? r1"},
    {ARM, 0xe0921003, "adds r1, r2, r3", "r1 = r2 + r3"},
    {ARM, 0xe0521003, "subs r1, r2, r3", "r1 = r2 - r3"},
    /* ARM: loads and stores */
    {ARM, 0xe51b0008, "ldr r0, [r11, #-8]", "r0 = [r11 - 8]"},
    {ARM, 0xe50b0008, "str r0, [r11, #-8]", "[r11 - 8] = r0"},
    {ARM, 0xe580f000, "str pc, [r0]", "[r0] = ?"},
    {ARM, 0xe7910002, "ldr r0, [r1, r2]", "? r0"},
    {ARM, 0xe7b10002, "ldr r0, [r1, r2]!", "r1 = r1 + r2; ? r0"},
    {ARM, 0xe7310002, "ldr r0, [r1, -r2]!", "r1 = r1 - r2; ? r0"},
    {ARM, 0xe6910002, "ldr r0, [r1], r2", "r0 = [r1]; r1 = r1 + r2"},
    {ARM, 0xe6912002, "ldr r2, [r1], r2", "r2 = [r1]; ? r1"},
    {ARM, 0xe6110182, "ldr r0, [r1], -r2, lsl #3", "r0 = [r1]; ? r1"},
    {ARM, 0xe7a10102, "str r0, [r1, r2, lsl #2]!", "? r1"},
    {ARM, 0xe5c10007, "strb r0, [r1, #7]", "[r1 + 4] = ?"},
    {ARM, 0xe16100b2, "strh r0, [r1, #-2]!", "[r1 - 4] = ?; r1 = r1 - 2"},
    {ARM, 0xe0d100b2, "ldrh r0, [r1], #2", "r1 = r1 + 2; ? r0"},
    {ARM, 0xe19100d2, "ldrsb r0, [r1, r2]", "? r0"},
    {ARM, 0xe4b10004, "ldrt r0, [r1], #4", "r0 = [r1]; r1 = r1 + 4"},
    {ARM, 0xe1b20f9f, "ldrexd r0, r1, [r2]", "? r0 r1"},
    {ARM, 0xe1a200f3, "strd r0, r1, [r2, r3]!", "r2 = r2 + r3"},
    {ARM, 0xe1a200d3, "ldrd r0, r1, [r2, r3]!", "r2 = r2 + r3; ? r0 r1"},
    {ARM, 0xe0c200d8, "ldrd r0, r1, [r2], #8", "r0 = [r2]; r1 = [r2 + 4]; r2 = r2 + 8"},
    {ARM, 0xe1020091, "swp r0, r1, [r2]", "[r2] = ?; ? r0"},
    {ARM, 0xed686b0b, "fstmdbx r8!, {d22-d26}",
     "[r8 - 44] = ?; [r8 - 40] = ?; [r8 - 36] = ?; [r8 - 32] = ?; [r8 - 28] = ?; [r8 - 24] = ?; [r8 - 20] = ?; [r8 - "
     "16] = ?; [r8 - 12] = ?; [r8 - 8] = ?; r8 = r8 - 44"},
    {ARM, 0xe1920f9f, "ldrex r0, [r2]", "? r0"},
    {ARM, 0xe1a40f92, "strexd r0, r2, r3, [r4]", "[r4] = ?; [r4 + 4] = ?; ? r0"},
    {ARM, 0xf44d0acd, "vst1.64 {d16, d17}, [sp]!", "[sp] = ?; [sp + 4] = ?; [sp + 8] = ?; [sp + 12] = ?; sp = sp + 16"},
    {ARM, 0xec554b18, "vmov r4, r5, d8", "? r4 r5"},
    {ARM, 0xee1d4f70, "mrc p15, #0, r4, c13, c0, #3", "? r4"},
    {ARM, 0xec554f02, "mrrc p15, #0, r4, r5, c2", "? r4 r5"},
    {ARM, 0xecb05e01, "ldc p14, c5, [r0], #4", "r0 = r0 + 4"},
    /* ARM: other results */
    {ARM, 0xe0040695, "mul r4, r5, r6", "? r4"},
    {ARM, 0xe0247695, "mla r4, r5, r6, r7", "? r4"},
    {ARM, 0xe0e54796, "smlal r4, r5, r6, r7", "? r4 r5"},
    {ARM, 0xe1047685, "smlabb r4, r5, r6, r7", "? r4"},
    {ARM, 0xe14547a6, "smlaltb r4, r5, r6, r7", "? r4 r5"},
    {ARM, 0xe714f615, "sdiv r4, r5, r6", "? r4"},
    {ARM, 0xe784f615, "usad8 r4, r5, r6", "? r4"},
    {ARM, 0xe7e240d5, "ubfx r4, r5, #1, #3", "? r4"},
    {ARM, 0xe7c34095, "bfi r4, r5, #1, #3", "? r4"},
    {ARM, 0xe6854016, "pkhbt r4, r5, r6", "? r4"},
    {ARM, 0xe6ff4f35, "rbit r4, r5", "? r4"},
    {ARM, 0xe6c54076, "uxtab16 r4, r5, r6", "? r4"},
    {ARM, 0xe16f4f15, "clz r4, r5", "? r4"},
    {ARM, 0xe1264055, "qsub r4, r5, r6", "? r4"},
    {ARM, 0xe10f4000, "mrs r4, apsr", "? r4"},
    {ARM, 0xe128f004, "msr apsr_nzcvq, r4", ""},
    {ARM, 0xe1540005, "cmp r4, r5", ""},
    {ARM, 0xe1140615, "tst r4, r5, lsl r6", ""},
    {ARM, 0xe0054716, "and r4, r5, r6, lsl r7", "? r4"},
    {ARM, 0xe320f000, "nop", ""},
    {ARM, 0xf57ff05b, "dmb ish", ""},
    {ARM, 0xf5d0f000, "pld [r0]", ""},
    {ARM, 0xf10c0080, "cpsid i", ""},
    {ARM, 0xef000000, "svc #0", "? r0 r1"},
    /* ARM: flow */
    {ARM, 0xea000008, "b #0x20", "-> jump 0x8028 arm"},
    {ARM, 0x0afffff8, "beq #-0x20", "if eq: -> branch 0x7fe8 arm"},
    {ARM, 0xeb000400, "bl #0x1000", "? lr; -> call 0x9008 arm"},
    {ARM, 0x1b000400, "blne #0x1000", "if ne: ? lr; -> call 0x9008 arm"},
    {ARM, 0xfb000400, "blx #0x1002", "? lr; -> call 0x900a thumb"},
    {ARM, 0xe12fff33, "blx r3", "? lr; -> call"},
    {ARM, 0xe12fff1e, "bx lr", "-> return lr"},
    {ARM, 0x012fff1e, "bxeq lr", "if eq: -> return lr"},
    {ARM, 0xe12fff13, "bx r3", "-> jump r3"},
    {ARM, 0xe1a0f00e, "mov pc, lr", "-> return lr"},
    {ARM, 0xe1a0f003, "mov pc, r3", "-> jump r3"},
    {ARM, 0xe3a0f902, "mov pc, #0x8000", "-> jump 0x8000 arm"},
    {ARM, 0xe28ff008, "add pc, pc, #8", "-> jump 0x8010 arm"},
    {ARM, 0x908ff103, "addls pc, pc, r3, lsl #2", "if ls: -> table 0x8008 arm"},
    {ARM, 0xe081f003, "add pc, r1, r3", "-> table"},
    {ARM, 0xe08ff065, "add pc, pc, r5, rrx", "-> jump ?"},
    {ARM, 0xe08ff3cf, "add pc, pc, pc, asr #7", "-> table"},
    {ARM, 0xe241f004, "sub pc, r1, #4", "-> jump ?"},
    {ARM, 0xe59ff008, "ldr pc, [pc, #8]", "pc = code[0x8010]; -> jump pc"},
    {ARM, 0xe08cf00f, "add pc, r12, pc", "pc = r12 + 32776; -> table"},
    {ARM, 0xe5bcf008, "ldr pc, [r12, #8]!", "pc = [r12 + 8]; r12 = r12 + 8; -> jump pc"},
    {ARM, 0x979ff103, "ldrls pc, [pc, r3, lsl #2]", "if ls: -> table"},
    {ARM, 0xe792f103, "ldr pc, [r2, r3, lsl #2]", "-> jump ?"},
    {ARM, 0xe8908010, "ldm r0, {r4, pc}", "r4 = [r0]; pc = [r0 + 4]; -> return pc"},
    {ARM, 0x18bd8010, "popne {r4, pc}", "if ne: r4 = [sp]; pc = [sp + 4]; sp = sp + 8; -> return pc"},
    {ARM, 0x128dd008, "addne sp, sp, #8", "if ne: sp = sp + 8"},
    {ARM, 0xe7f000f1, "udf #1", "-> end"},
    {ARM, 0xe1200070, "bkpt #0", "-> end"},
    {ARM, 0xe25ef004, "subs pc, lr, #4", "-> end"},
    {ARM, 0xf8b00a00, "rfeia r0!", "-> end"},
};

START_TEST(single_instructions) {
    const struct instruction *c = &instructions[_i];
    struct uspi_instruction i;
    struct text text;
    uint8_t bytes[4];
    size_t n = encode(c->word, c->mode, bytes);
    ck_assert_msg(uspi_armv7.decode(bytes, n, PC, c->mode, &i), "%s is not decoded", c->assembly);
    describe(&text, &i);
    ck_assert_msg(strcmp(text.s, c->expected) == 0, "%s: %s", c->assembly, text.s);
    ck_assert_uint_eq(i.length, n);
    ck_assert_uint_eq(i.mode, c->mode);
    ck_assert_uint_eq(i.start_hint, 0);
    ck_assert_msg(!uspi_armv7.decode(bytes, n - 1, PC, c->mode, &i), "%s is decoded from %zu bytes", c->assembly,
                  n - 1);
}
END_TEST

static struct uspi_instruction decode_all(const uint8_t *bytes, size_t n, uint32_t mode) {
    struct uspi_instruction i;
    ck_assert(uspi_armv7.decode(bytes, n, PC, mode, &i));
    return i;
}

/* The table of a switch must be found at its address. */
START_TEST(jump_tables) {
    static const uint8_t tbb[] = {0xdf, 0xe8, 0x03, 0xf0, 0x05, 0x09};   /* tbb [pc, r3] */
    static const uint8_t tbh[] = {0xdf, 0xe8, 0x13, 0xf0, 0x34, 0x12};   /* tbh [pc, r3, lsl #1] */
    static const uint8_t ldr[] = {0x03, 0xf1, 0x9f, 0xe7, 0, 0, 0, 0xea, /* ldr pc, [pc, r3, lsl #2]; b */
                                  0x41, 0x90, 0x00, 0x00};               /* .word 0x9041 */
    struct uspi_instruction i = decode_all(tbb, sizeof tbb, THUMB);
    ck_assert_uint_eq(i.flow, USPI_JUMP_TABLE);
    ck_assert_uint_eq(i.target, PC + 4 + 2 * 5);
    ck_assert_uint_eq(i.target_mode, THUMB);
    ck_assert_uint_eq(decode_all(tbb, 4, THUMB).target, 0);
    i = decode_all(tbh, sizeof tbh, THUMB);
    ck_assert_uint_eq(i.target, PC + 4 + 2 * 0x1234);
    ck_assert_uint_eq(decode_all(tbh, 5, THUMB).target, 0);
    i = decode_all(ldr, sizeof ldr, ARM);
    ck_assert_uint_eq(i.flow, USPI_JUMP_TABLE);
    ck_assert_uint_eq(i.target, 0x9040);
    ck_assert_uint_eq(i.target_mode, THUMB);
    ck_assert_uint_eq(decode_all(ldr, 11, ARM).target, 0);
}
END_TEST

START_TEST(undefined) {
    static const struct {
        uint32_t mode, word;
    } cases[] = {
        {THUMB, 0xb700},     /* undefined 16 bits */
        {THUMB, 0xb800},     /* likewise */
        {THUMB, 0x4719},     /* bx r3 with bits that must be 0 */
        {THUMB, 0xbc00},     /* pop {} */
        {THUMB, 0xf8701000}, /* a load of 8 bytes */
        {THUMB, 0xfbf00000}, /* a long multiplication that does not exist */
        {THUMB, 0xf0000f00}, /* and pc, r0, #0 */
        {THUMB, 0xe8bd0000}, /* pop.w {} */
        {THUMB, 0xe9d66600}, /* ldrd r6, r6, [r6] */
        {ARM, 0xe8bd0000},   /* pop {} */
        {ARM, 0xe9bf0001},   /* ldmib pc!, {r0} */
        {ARM, 0xe00f0f99},   /* mul pc, r9, r15 */
        {ARM, 0xe1c010d4},   /* ldrd r1, r2, [r0, #4] */
        {ARM, 0xff000000},   /* svc has a condition */
    };
    struct uspi_instruction i;
    uint8_t bytes[4];
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        size_t n = encode(cases[k].word, cases[k].mode, bytes);
        ck_assert_msg(!uspi_armv7.decode(bytes, n, PC, cases[k].mode, &i), "%" PRIx32, cases[k].word);
    }
    encode(0xe320f000, ARM, bytes); /* nop, also two Thumb instructions */
    ck_assert(uspi_armv7.decode(bytes, 4, PC, ARM, &i));
    ck_assert(!uspi_armv7.decode(bytes, 4, PC + 2, ARM, &i));
    ck_assert(uspi_armv7.decode(bytes, 4, PC + 2, THUMB, &i));
    ck_assert(!uspi_armv7.decode(bytes, 4, PC + 1, THUMB, &i));
}
END_TEST

static bool is_register(unsigned reg) { return reg < 16; }

static bool is_register_or_none(unsigned reg) { return is_register(reg) || reg == USPI_NO_REGISTER; }

static bool is_well_formed(const struct uspi_effect *e) {
    switch (e->op) {
    case USPI_SET:
        /* A veneer jumps to the sum of registers. */
        return e->value == (int32_t)e->value && is_register_or_none(e->base) && is_register(e->reg) &&
               (e->reg != uspi_armv7.pc || is_register(e->base));
    case USPI_INSERT: return e->index == 16 && is_register(e->reg) && e->reg != uspi_armv7.pc;
    case USPI_ADD:
    case USPI_SUBTRACT:
        return is_register(e->reg) && e->reg != uspi_armv7.pc && is_register(e->base) && is_register(e->index);
    case USPI_LOAD: return is_register(e->reg) && is_register(e->base) && e->base != uspi_armv7.pc;
    case USPI_LITERAL: return is_register(e->reg) && e->value >= 0 && e->value <= UINT32_MAX;
    case USPI_STORE: return is_register_or_none(e->reg) && is_register(e->base) && e->base != uspi_armv7.pc;
    default: return false;
    }
}

/* Whatever the bytes are, the decoded instruction must keep to the contract. */
START_TEST(any_bytes) {
    uint64_t state = 0x2545f4914f6cdd1d;
    for (unsigned k = 0; k < 2000000; k++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        uint32_t word = (uint32_t)(state >> 32), mode = k & 1 ? THUMB | (word & 0xff00) : ARM;
        uint8_t bytes[4];
        struct uspi_instruction i;
        encode(word, ARM, bytes);
        if (!uspi_armv7.decode(bytes, 4, PC, mode, &i)) continue;
        bool length = i.length == 4 || (i.length == 2 && mode & THUMB);
        bool flow = i.flow <= USPI_END && (i.flow != USPI_RETURN || is_register(i.target_register));
        bool target = i.target <= UINT32_MAX && i.target % (i.target_mode & THUMB ? 2 : 4) == 0;
        bool written = i.clobbers < 1u << uspi_armv7.pc;
        bool effects = i.effect_count <= USPI_EFFECTS_MAX;
        for (unsigned e = 0; effects && e < i.effect_count; e++) effects = is_well_formed(&i.effects[e]);
        /* Check's own assertions report each success to the parent process, which takes too long here. */
        if (!(length && flow && target && written && effects)) ck_abort_msg("%08" PRIx32, word);
    }
}
END_TEST

/* ---- IT blocks ---- */

/* Follows `it` through its block. The conditions follow the manual's table of masks (DDI 0406C A8.8.54): the lowest set
 * bit ends the block, the bits above it are the lowest bits of the conditions. */
START_TEST(it_blocks) {
    unsigned first = (unsigned)_i, always = 14;
    for (unsigned mask = 1; mask < 16; mask++) {
        uint8_t it[2] = {(uint8_t)(first << 4 | mask), 0xbf}, adds[2] = {0x01, 0x30};
        unsigned length = mask & 1 ? 4 : mask & 2 ? 3 : mask & 4 ? 2 : 1;
        if (first == always && mask != 8) continue; /* else blocks of `it al` are undefined */
        struct uspi_instruction i = decode_all(it, 2, THUMB);
        ck_assert_uint_eq(i.flow, USPI_NEXT);
        ck_assert_uint_eq(i.effect_count, 0);
        ck_assert_uint_eq(i.conditional, 0);
        for (unsigned k = 0; k < length; k++) {
            unsigned condition = k == 0 ? first : (first & 14) | (mask >> (4 - k) & 1);
            ck_assert_uint_eq(i.mode >> USPI_MODE_IT_SHIFT >> 4, condition);
            ck_assert_uint_eq(i.mode & THUMB, THUMB);
            i = decode_all(adds, 2, i.mode);
            ck_assert_uint_eq(i.conditional, first == always ? 0 : condition + 1);
            ck_assert_uint_eq(i.effect_count, 1);
        }
        ck_assert_uint_eq(i.mode, THUMB);
    }
}
END_TEST

/* Instructions that change the flags, after which a known condition must no longer be used. */
START_TEST(flags_that_are_set) {
    static const struct {
        uint32_t mode, word;
        bool sets;
    } cases[] = {
        {ARM, 0x22522008, true},    /* subshs r2, r2, #8 */
        {ARM, 0x20422008, false},   /* subhs r2, r2, r8 */
        {ARM, 0x03510000, true},    /* cmpeq r1, #0 */
        {ARM, 0x00110392, true},    /* mulseq r1, r2, r3 */
        {ARM, 0x00d100b2, false},   /* ldrheq r0, [r1], #2 */
        {ARM, 0x01d100d0, false},   /* ldrsbeq r0, [r1] */
        {ARM, 0x28a31002, false},   /* stmhs r3!, {r1, r12} */
        {ARM, 0x349d8004, false},   /* ldrlo r8, [sp], #4 */
        {EQUAL, 0x2800, true},      /* cmp r0, #0 */
        {EQUAL, 0x4208, true},      /* tst r0, r1 */
        {EQUAL, 0x4288, true},      /* cmp r0, r1 */
        {EQUAL, 0x42c8, true},      /* cmn r0, r1 */
        {EQUAL, 0x4560, true},      /* cmp r0, r12 */
        {EQUAL, 0x3001, false},     /* add r0, #1 */
        {EQUAL, 0xbd10, false},     /* pop {r4, pc} */
        {EQUAL, 0xf1b00f01, true},  /* cmp.w r0, #1 */
        {EQUAL, 0xeb120003, true},  /* adds.w r0, r2, r3 */
        {EQUAL, 0xeb020003, false}, /* add.w r0, r2, r3 */
        {EQUAL, 0xfa12f003, true},  /* lsls.w r0, r2, r3 */
        {EQUAL, 0xf8d10004, false}, /* ldr.w r0, [r1, #4] */
    };
    for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint8_t bytes[4];
        size_t n = encode(cases[k].word, cases[k].mode & THUMB, bytes);
        struct uspi_instruction i = decode_all(bytes, n, cases[k].mode);
        ck_assert_msg((i.sets_flags != 0) == cases[k].sets, "%#x", cases[k].word);
    }
}
END_TEST

START_TEST(instructions_in_it_blocks) {
    static const struct {
        uint32_t word;
        const char *expected;
    } cases[] = {
        {0xbd80, "if eq: r7 = [sp]; pc = [sp + 4]; sp = sp + 8; -> return pc"}, /* pop {r7, pc} */
        {0x4770, "if eq: -> return lr"},                                        /* bx lr */
        {0xe010, "if eq: -> branch 0x8024 thumb"},                              /* b */
        {0xf000b80e, "if eq: -> branch 0x8020 thumb"},                          /* b.w */
        {0xf001f800, "if eq: ? lr; -> call 0x9004 thumb"},                      /* bl */
        {0x4798, "if eq: ? lr; -> call"},                                       /* blx r3 */
        {0xe8dff003, "if eq: -> table"},                                        /* tbb [pc, r3] */
        {0xf84d8d04, "if eq: [sp - 4] = r8; sp = sp - 4"},                      /* str r8, [sp, #-4]! */
        {0xde01, "if eq: -> end"},                                              /* udf #1 */
        {0xbe00, "-> end"},                                                     /* bkpt #0, which has no condition */
    };
    struct text text;
    uint8_t bytes[4];
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct uspi_instruction i = decode_all(bytes, encode(cases[k].word, THUMB, bytes), EQUAL);
        describe(&text, &i);
        ck_assert_str_eq(text.s, cases[k].expected);
        ck_assert_uint_eq(i.mode, THUMB);
    }
    struct uspi_instruction i;
    encode(0xbf08, THUMB, bytes); /* it in a block */
    ck_assert(!uspi_armv7.decode(bytes, 2, PC, EQUAL, &i));
}
END_TEST

/* CPSR holds the ITSTATE of a thread that was interrupted in an IT block. */
START_TEST(mode_from_flags) {
    ck_assert_uint_eq(uspi_armv7.initial_mode(0x60000010), 0);
    ck_assert_uint_eq(uspi_armv7.initial_mode(0x60000030), THUMB);
    ck_assert_uint_eq(uspi_armv7.initial_mode(0x0600fc10), 0);
    ck_assert_uint_eq(uspi_armv7.initial_mode(0x06000030), THUMB | 0x03u << USPI_MODE_IT_SHIFT);
    ck_assert_uint_eq(uspi_armv7.initial_mode(0x0000fc30), THUMB | 0xfcu << USPI_MODE_IT_SHIFT);
    ck_assert_uint_eq(uspi_armv7.initial_mode(0xf9ff03ff), THUMB);
}
END_TEST

/* ---- calls ---- */

START_TEST(calls_before_return_addresses) {
    static const struct {
        bool thumb;
        uint8_t n;
        uint8_t bytes[4];
        bool call;
        usp_addr target;
    } cases[] = {
        {true, 4, {0x01, 0xf0, 0x00, 0xf8}, true, 0x9000},  /* bl 0x9000, from 0x7ffc */
        {true, 4, {0xff, 0xf7, 0xfe, 0xff}, true, 0x7ffc},  /* bl to itself */
        {true, 4, {0x01, 0xf0, 0x00, 0xe8}, true, 0x9000},  /* blx 0x9000 */
        {true, 4, {0x00, 0xbf, 0x98, 0x47}, true, 0},       /* nop; blx r3 */
        {true, 2, {0xf0, 0x47}, true, 0},                   /* blx lr */
        {true, 2, {0x18, 0x47}, false, 0},                  /* bx r3 */
        {true, 2, {0x00, 0xf8}, false, 0},                  /* half of a bl */
        {true, 4, {0x98, 0x47, 0x00, 0xbf}, false, 0},      /* blx r3; nop */
        {true, 4, {0x01, 0xf0, 0x00, 0xb8}, false, 0},      /* b.w */
        {true, 0, {0}, false, 0},                           /* the start of text */
        {false, 4, {0x00, 0x04, 0x00, 0xeb}, true, 0x9004}, /* bl 0x9004 */
        {false, 4, {0x00, 0x04, 0x00, 0x1b}, true, 0x9004}, /* blne 0x9004 */
        {false, 4, {0x00, 0x04, 0x00, 0xfb}, true, 0x9006}, /* blx 0x9006 */
        {false, 4, {0x33, 0xff, 0x2f, 0xe1}, true, 0},      /* blx r3 */
        {false, 4, {0x33, 0xff, 0x2f, 0x01}, true, 0},      /* blxeq r3 */
        {false, 4, {0x13, 0xff, 0x2f, 0xe1}, false, 0},     /* bx r3 */
        {false, 4, {0x00, 0x04, 0x00, 0xea}, false, 0},     /* b */
        {false, 2, {0x98, 0x47}, false, 0},                 /* blx r3, but in Thumb state */
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        usp_addr target = 1;
        usp_addr return_address = cases[k].thumb ? PC | 1 : PC;
        bool call = uspi_armv7.follows_call(cases[k].bytes, cases[k].n, return_address, cases[k].thumb, &target);
        ck_assert_msg(call == cases[k].call && target == cases[k].target, "case %zu: %d 0x%" PRIx64, k, call, target);
    }
}
END_TEST

/* ---- states, trampolines, constants ---- */

/* Returns a register's offset in a layout; -1: the layout lacks it. */
static int offset_of(const struct uspi_state_layout *layout, unsigned reg) {
    for (unsigned k = 0; k < layout->run_count; k++) {
        const struct uspi_run *run = &layout->runs[k];
        if (reg < run->first || reg >= run->first + run->count) continue;
        int offset = layout->base + run->offset + (int)(reg - run->first) * run->stride;
        ck_assert_uint_eq(run->width, 4);
        ck_assert_int_le(offset + run->width, layout->size);
        return offset;
    }
    return -1;
}

START_TEST(states) {
    static const struct {
        uint32_t state;
        int size, r0, r7, r11, sp, lr, pc, cpsr;
    } cases[] = {
        {USP_THREAD_STATE_MACH + 1, 68, 0, 28, 44, 52, 56, 60, 64},
        {USP_THREAD_STATE_MACH + 9, 68, 0, 28, 44, 52, 56, 60, 64},
        {USP_THREAD_STATE_DARWIN_MCONTEXT, 80, 12, 40, 56, 64, 68, 72, 76},
        {USP_THREAD_STATE_LINUX_PRSTATUS, 68, 0, 28, 44, 52, 56, 60, 64},
        {USP_THREAD_STATE_LINUX_UCONTEXT, 0x64, 0x20, 0x3c, 0x4c, 0x54, 0x58, 0x5c, 0x60},
    };
    ck_assert_uint_eq(uspi_armv7.state_count, sizeof cases / sizeof cases[0]);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct uspi_state_layout *layout = NULL;
        for (size_t s = 0; s < uspi_armv7.state_count; s++) {
            if (uspi_armv7.states[s].state == cases[k].state) layout = &uspi_armv7.states[s];
        }
        ck_assert_ptr_nonnull(layout);
        ck_assert_uint_eq(layout->unified, 0);
        ck_assert_int_eq(layout->size, cases[k].size);
        ck_assert_int_eq(offset_of(layout, 0), cases[k].r0);
        ck_assert_int_eq(offset_of(layout, 7), cases[k].r7);
        ck_assert_int_eq(offset_of(layout, 11), cases[k].r11);
        ck_assert_int_eq(offset_of(layout, uspi_armv7.sp), cases[k].sp);
        ck_assert_int_eq(offset_of(layout, uspi_armv7.lr), cases[k].lr);
        ck_assert_int_eq(offset_of(layout, uspi_armv7.pc), cases[k].pc);
        ck_assert_int_eq(offset_of(layout, USPI_FLAGS_REGISTER), cases[k].cpsr);
    }
}
END_TEST

START_TEST(signal_stubs) {
    static const struct {
        uint8_t length;
        uint8_t code[8];
        uint8_t thumb;
        uint16_t context;
    } cases[] = {
        {6, {0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf}, 1, 128}, /* Debian 12, __default_rt_sa_restorer */
        {6, {0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf}, 1, 0},   /* Debian 12, __default_sa_restorer */
        {4, {0xad, 0x27, 0x00, 0xdf}, 1, 128},
        {4, {0x77, 0x27, 0x00, 0xdf}, 1, 0},
        {8, {0xad, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}, 0, 128},
        {8, {0x77, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}, 0, 0},
        {8, {0xad, 0x70, 0xa0, 0xe3, 0xad, 0x00, 0x90, 0xef}, 0, 128},
        {8, {0x77, 0x70, 0xa0, 0xe3, 0x77, 0x00, 0x90, 0xef}, 0, 0},
    };
    ck_assert_uint_eq(uspi_armv7.stub_count, sizeof cases / sizeof cases[0]);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct uspi_signal_stub *stub = NULL;
        for (size_t s = 0; s < uspi_armv7.stub_count; s++) {
            const struct uspi_signal_stub *candidate = &uspi_armv7.stubs[s];
            bool same =
                candidate->length == cases[k].length && memcmp(candidate->code, cases[k].code, cases[k].length) == 0;
            if (same) stub = candidate;
        }
        ck_assert_ptr_nonnull(stub);
        ck_assert_uint_eq(stub->os, USP_OS_LINUX);
        ck_assert_uint_eq(stub->state, USP_THREAD_STATE_LINUX_UCONTEXT);
        ck_assert_uint_eq(stub->thumb, cases[k].thumb);
        ck_assert_uint_eq(stub->entry, 0);
        ck_assert_uint_eq(stub->context, cases[k].context);
    }
}
END_TEST

START_TEST(constants) {
    const struct uspi_backend *b = &uspi_armv7;
    ck_assert_uint_eq(b->arch, USP_ARCH_ARMV7);
    ck_assert_uint_eq(b->register_count, 16);
    ck_assert_str_eq(b->register_names[b->fp], "r7");
    ck_assert_str_eq(b->register_names[b->sp], "sp");
    ck_assert_str_eq(b->register_names[b->lr], "lr");
    ck_assert_str_eq(b->register_names[b->pc], "pc");
    ck_assert_uint_eq(b->callee_saved, 0xff0); /* r4 … r11 */
    ck_assert_uint_eq(b->word_mask, 0xffffffff);
    ck_assert_uint_eq(b->has_thumb, 1);
    ck_assert_uint_eq(b->has_async, 0);
    ck_assert_uint_eq(b->has_signatures, 0);
}
END_TEST

int main(void) {
    TCase *decoding = tcase_create("decode"), *tables = tcase_create("tables");
    tcase_add_loop_test(decoding, single_instructions, 0, ELEMENTS(instructions));
    add_tests(decoding, jump_tables, undefined, any_bytes);
    tcase_add_loop_test(decoding, it_blocks, 0, 15);
    add_tests(decoding, flags_that_are_set, instructions_in_it_blocks, mode_from_flags, calls_before_return_addresses);
    add_tests(tables, states, signal_stubs, constants);
    return run_suite("armv7", decoding, tables);
}
