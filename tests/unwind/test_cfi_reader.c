/* SPDX-License-Identifier: MIT */
/* Walks by call frame information over targets that the test builds, and DWARF expressions by bytes. test_dwarf_cfi.c
 * tests the tables themselves. */
#include <check.h>
#include <stdlib.h>

#include "lib/unwind/frame/expression.h"
#include "lib/unwind/unwind.h"
#include "tests/support/golden.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define STACK  UINT64_C(0x7000)
#define CALLEE (CODE + 0x10)
#define CALLER (CODE + 0x100)
#define OUTER  (CODE + 0x200)

static struct cfi c;
static struct usp_unwind_tables given;

static void free_table(void) { builder_free(&c.bytes); }

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < CODE || pc >= CODE + 0x1000) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static int all_is_code(void *context, usp_addr pc, struct usp_region *region) {
    (void)context;
    (void)region;
    return pc >= CODE && pc < CODE + 0x1000 ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* Begins a target with the tables built so far. */
static struct fixture *begin_tables(uint32_t arch) {
    struct fixture *f = begin(arch, USP_OS_LINUX);
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    f->target.unwind_tables_at = tables_at;
    f->options.readers = USP_READER_CFI;
    return f;
}

static void expect_methods(const struct fixture *f, uint32_t n) {
    ck_assert_uint_eq(f->frames[0].method, USP_FRAME_METHOD_CONTEXT);
    for (uint32_t i = 1; i < n; i++) ck_assert_uint_eq(f->frames[i].method, USP_FRAME_METHOD_CFI);
}

/* Three x86_64 functions without frame pointers, the outermost marked as such:
 *
 *     CALLEE  push rbx; sub rsp, 16       [sp + 16] rbx   [sp + 24] return address
 *     CALLER  sub rsp, 8                  [sp + 8] return address
 *     OUTER   undefined return address
 * Returns the CIE's offset. */
static size_t three_x86_64(void) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "41 0e 10 83 02 44 0e 20");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "41 0e 10");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    return cie;
}

static void calls_x86_64(struct fixture *f) {
    /* call rel32 before each return address. */
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, CODE, 0x53, 0x48, 0x83, 0xec, 0x10, 0x90);
}

START_TEST(frameless) {
    struct usp_cursor cursor;
    struct usp_frame frame;
    struct usp_registers registers;
    three_x86_64();
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    WORDS(&f->memory, STACK, 8, 0x11, 0x12, 0xbbb, CALLER, 0x13, OUTER, 0x14);
    set_registers(f, CALLEE, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CALLEE, CALLER, OUTER);
    expect_methods(f, 3);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 48);
    /* rbx was saved, rbp was left unchanged. */
    ck_assert_int_eq(usp_cursor_init(&cursor, &f->target, &f->registers, &f->options), USP_OK);
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 1);
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 1);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &registers), USP_OK);
    ck_assert_uint_eq(registers.value[3], 0xbbb);
    ck_assert_uint_eq(registers.value[6], 0x5555);
    ck_assert_uint_eq(usp_registers_sp(&registers), STACK + 32);
    ck_assert((registers.known & 1) == 0);
}
END_TEST

/* At a function's first instruction and after its push, the rule of that instruction must apply. */
START_TEST(prologue) {
    three_x86_64();
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    WORDS(&f->memory, STACK, 8, CALLER, 0x13, OUTER);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, OUTER);
    WORDS(&f->memory, STACK - 8, 8, 0xbbb);
    set_registers(f, CODE + 1, STACK - 8, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 1, CALLER, OUTER);
}
END_TEST

/* A call that never returns is its function's last instruction. The frame must be looked up at the call, not in the
 * function after it. */
START_TEST(noreturn_call) {
    size_t cie = three_x86_64();
    put_fde(&c, cie, CODE + 0x300, 0x20, "0e 18");
    put_fde(&c, cie, CODE + 0x320, 0x20, "0e 80 08"); /* the next function */
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    CODE8(&f->memory, CODE + 0x320 - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 8, CODE + 0x320, 0x11, 0x12, OUTER);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE, CODE + 0x320, OUTER);
}
END_TEST

/* Begins tables of arm64 functions that keep the link register on the stack. */
static size_t begin_arm64(void) {
    cfi_begin(&c, USP_ARCH_ARM64, true);
    return put_cie(&c, false, 1, "", "04 78 1e  0c 1f 00");
}

/* Ends the tables after a test's own functions: CALLER, whose frame has 16 bytes, and OUTER, the root. Each return
 * address follows a call. */
static struct fixture *end_arm64(size_t cie) {
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 10 9e 01");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 1e");
    struct fixture *f = begin_tables(USP_ARCH_ARM64);
    CODE32(&f->memory, CALLER - 4, 0x94000000);
    CODE32(&f->memory, OUTER - 4, 0x94000000);
    return f;
}

/* arm64: the return address must be found in the link register before it is stored, then in memory, signed. */
START_TEST(link_register) {
    const size_t cie = begin_arm64();
    put_fde(&c, cie, CODE, 0x40, "41 2d 41 0e 20 9d 04 9e 03 93 02");
    struct fixture *f = end_arm64(cie);
    CODE32(&f->memory, CODE, 0xd503233f, 0xa9be7bfd, 0xd503201f);
    WORDS(&f->memory, STACK - 32, 8, 0xfff, CALLER | UINT64_C(0x2a) << 48, 0x1313, 0, 0, OUTER, 0);
    set_registers(f, CODE, STACK, 0x5555);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[1].fp, 0x5555);
    /* Once the link register is saved, its value is stale. */
    set_registers(f, CODE + 8, STACK - 32, 0x5555);
    usp_registers_set_lr(&f->registers, CODE + 0x20);
    EXPECT(f, USP_STOP_ROOT, CODE + 8, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_uint_eq(f->frames[1].flags, USP_FRAME_SIGNED);
    ck_assert_uint_eq(f->frames[1].fp, 0xfff);
}
END_TEST

/* The CFA of a procedure linkage table is an expression: rsp + 8, and 8 more after the push at the entry's byte 11. */
START_TEST(linkage_table) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "0f 0b 77 08 80 00 3f 1a 3b 2a 33 24 22");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    WORDS(&f->memory, STACK, 8, 0x11, OUTER);
    set_registers(f, CODE + 16 + 11, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 16 + 11, OUTER);
    set_registers(f, CODE + 16 + 6, STACK + 8, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 16 + 6, OUTER);
}
END_TEST

/* A function jumps to an entry of a procedure linkage table. The rule of the table's start expects what the first entry
 * pushes: CFA = rsp + 16. The walk must not assume a skipped prologue there, nor believe the instructions: here a path
 * leads from the caller's own start to the same entry. */
START_TEST(jump_to_linkage_table) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "0e 10 46 0e 18 4a 0f 0b 77 08 80 00 3f 1a 3b 2a 33 24 22");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 10");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    /* push rbx; test edi, edi; je to the second push; call rax; pop rbx; ret; push rbx; jmp CODE + 16 */
    CODE8(&f->memory, CALLER - 9, 0x53, 0x85, 0xff, 0x74, 6, 0x90, 0x90, 0xff, 0xd0);
    CODE8(&f->memory, CALLER, 0x5b, 0xc3, 0x53, 0xe9, 0x08, 0xff, 0xff, 0xff);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0xf7, 0xfe, 0xff, 0xff);
    /* push [rip + 2]; jmp [rip + 4]; nop; then jmp [rip + 4096]; push 0; jmp CODE */
    CODE8(&f->memory, CODE, 0xff, 0x35, 2, 0, 0, 0, 0xff, 0x25, 4, 0, 0, 0, 0x0f, 0x1f, 0x40, 0);
    CODE8(&f->memory, CODE + 16, 0xff, 0x25, 0, 0x10, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff);
    WORDS(&f->memory, STACK, 8, 0, CALLER, 0xbbb, OUTER, 0);
    set_registers(f, CODE + 16, STACK + 8, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 16, CALLER, OUTER);
    set_registers(f, CODE + 16 + 6, STACK + 8, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 16 + 6, CALLER, OUTER);
    set_registers(f, CODE + 16 + 11, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 16 + 11, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
}
END_TEST

/* arm64: clang's table covers only the last of two epilogues. In the other one a load with write-back frees the frame
 * some instructions before the return. The table still counts that frame, and would give a return address of another
 * frame. */
START_TEST(forgotten_epilogue) {
    const size_t cie = begin_arm64();
    put_fde(&c, cie, CODE, 0x40, "41 0e 20 9e 04 47 0e 00 de");
    struct fixture *f = end_arm64(cie);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    /* str x30, [sp, #-32]!; nop; ldr x30, [sp]; ldr w11, [sp], #32; mov w0, w11; ret; nop; ldr x30, [sp], #32; ret */
    CODE32(&f->memory, CODE, 0xf81e0ffe, 0xd503201f, 0xf94003fe, 0xb84207eb, 0x2a0b03e0, 0xd65f03c0, 0xd503201f,
           0xf84207fe, 0xd65f03c0);
    WORDS(&f->memory, STACK - 32, 8, CALLER, 0, 0, 0, OUTER, OUTER, OUTER, OUTER);
    for (usp_addr pc = CODE; pc <= CODE + 32; pc += 4) {
        bool is_inside = (pc > CODE && pc < CODE + 16) || (pc > CODE + 20 && pc < CODE + 32);
        set_registers(f, pc, is_inside ? STACK - 32 : STACK, 0x5555);
        usp_registers_set_lr(&f->registers, CALLER);
        EXPECT(f, USP_STOP_ROOT, pc, CALLER, OUTER);
        ck_assert_uint_eq(f->frames[1].cfa, STACK + 16);
        bool is_forgotten = pc == CODE + 16 || pc == CODE + 20;
        ck_assert_uint_eq(f->frames[1].method == USP_FRAME_METHOD_CFI, !is_forgotten);
    }
}
END_TEST

/* arm64: glibc's table for _dl_runtime_resolve leaves out the 16 bytes in which the linkage table has saved lr. The
 * caller's sp must be the one from which its own rules count. */
START_TEST(saved_above_cfa) {
    const size_t cie = begin_arm64();
    put_fde(&c, cie, CODE, 0x40, "0e 10 11 1e 7f"); /* CFA = sp + 16, lr in [CFA + 8] */
    struct fixture *f = end_arm64(cie);
    WORDS(&f->memory, STACK, 8, 0, 0, 0, CALLER, 0, OUTER, 0);
    set_registers(f, CODE + 8, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE + 8, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 48);
}
END_TEST

/* A function begins with a landing pad, and only the row after it describes what holds at its start: that the caller's
 * lr lies on the stack, or that there is no caller. The later row must apply at the landing pad; any other first
 * instruction has its own row. */
START_TEST(told_after_a_landing_pad) {
    const size_t cie = begin_arm64();
    put_fde(&c, cie, CODE, 0x40, "41 11 1e 7f");     /* lr in [CFA + 8] */
    put_fde(&c, cie, CODE + 0x40, 0x40, "41 07 1e"); /* no caller */
    put_fde(&c, cie, CODE + 0x80, 0x40, "41 0e 10"); /* CFA = sp + 16 */
    struct fixture *f = end_arm64(cie);
    CODE32(&f->memory, CODE, /* bti c */ 0xd503245f);
    CODE32(&f->memory, CODE + 0x40, /* nop */ 0xd503201f);
    CODE32(&f->memory, CODE + 0x80, /* sub sp, sp, #16 */ 0xd10043ff);
    WORDS(&f->memory, STACK, 8, 0, CALLER, 0, OUTER, 0);
    usp_registers_set_lr(&f->registers, CALLER);
    set_registers(f, CODE, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 32);
    set_registers(f, CODE + 0x40, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE + 0x40);
    set_registers(f, CODE + 0x80, STACK + 16, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE + 0x80, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
}
END_TEST

/* The table entry of a program's first function covers a second function too, a jump. That one has a caller, to which
 * the target of the jump returns. The first function must have no caller, whatever the link register holds. */
START_TEST(jump_after_the_first_function) {
    const size_t cie = begin_arm64();
    put_fde(&c, cie, CODE, 0x40, "07 1e");
    struct fixture *f = end_arm64(cie);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    CODE32(&f->memory, CODE, /* nop */ 0xd503201f, /* bl */ 0x94000010, /* bl */ 0x94000010, /* nop */ 0xd503201f,
           /* b */ 0x1400000d);
    CODE32(&f->memory, CODE + 0x44, /* str x30, [sp, #-16]! */ 0xf81f0ffe, /* bl */ 0x94000010,
           /* ldr x30, [sp], #16 */ 0xf84107fe, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, 0, OUTER);
    usp_registers_set_lr(&f->registers, CALLER);
    set_registers(f, CODE + 12, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE + 12, CALLER, OUTER);
    set_registers(f, CODE + 4, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE + 4);
}
END_TEST

/* i386: clang writes a row too late or too early. After a call whose callee takes arguments off the stack, the callee's
 * return or the next instruction shows it; after a push, a spill comes before the row. The instructions alone find no
 * path to a return, nor from the function's start. */
START_TEST(rows_beside_their_instruction) {
    static const struct {
        uint8_t code[12]; /* from CODE + 3 on */
        unsigned at;      /* offset of the interrupted instruction */
        unsigned cfa;     /* distance of the CFA from sp there */
    } cases[] = {
        /* call OTHER; nop */
        {{0xe8, 0xf8, 0x02, 0x00, 0x00, 0x90, 0xf4}, 8, 12},
        /* call *%eax; sub $4, %esp */
        {{0xff, 0xd0, 0x83, 0xec, 0x04, 0xf4}, 5, 12},
        /* push %eax; mov %eax, %ebp; call: the row stands at the call */
        {{0x50, 0x89, 0xc5, 0xe8, 0xf5, 0x02, 0x00, 0x00, 0xf4}, 4, 20},
    };
    const usp_addr pc = CODE + cases[_i].at, cfa = STACK + cases[_i].cfa;
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "", "01 7c 08  0c 04 04 88 01");
    put_fde(&c, cie, CODE, 0x40, _i == 2 ? "43 0e 10 43 0e 14 44 0e 04" : "43 0e 10 4c 0e 04");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 08");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 08");
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    CODE8(&f->memory, CODE, /* hlt */ 0xf4);
    image_bytes(&f->memory, CODE + 3, cases[_i].code, sizeof cases[_i].code);
    CODE8(&f->memory, CODE + 0x300, /* ret $4 */ 0xc2, 4, 0);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, cfa - 4, 4, CALLER, 0x11, OUTER, 0);
    WORDS(&f->memory, STACK, 4, 0, 0);
    set_registers(f, pc, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, pc, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[0].cfa, cfa);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
}
END_TEST

/* i386: a return takes arguments off the stack. The caller's table counts from sp after the return address, and so must
 * the sp that the walk computes, by the table or by the instructions up to the return. */
START_TEST(return_takes_arguments) {
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "", "01 7c 08  0c 04 04 88 01");
    put_fde(&c, cie, CODE, 0x40, "43 0e 0c 44 0e 04");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 08"); /* after the call, without the arguments */
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 08");
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    /* sub esp, 8; nop; add esp, 8; ret 12 */
    CODE8(&f->memory, CODE, 0x83, 0xec, 0x08, 0x90, 0x83, 0xc4, 0x08, 0xc2, 0x0c, 0x00);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0xfb, 0xfe, 0xff, 0xff);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK - 8, 4, 0, 0, CALLER, 0, OUTER, 0, 0, CALLER, 0);
    const unsigned at[] = {0, 3, 4, 7};
    for (unsigned i = 0; i < ELEMENTS(at); i++) {
        const usp_addr pc = CODE + at[i];
        bool is_inside = i == 1 || i == 2;
        set_registers(f, pc, is_inside ? STACK - 8 : STACK, 0);
        EXPECT(f, USP_STOP_ROOT, pc, CALLER, OUTER);
        ck_assert_uint_eq(f->frames[0].cfa, STACK + 4);
        ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    }
}
END_TEST

/* gcc realigns the stack: the old rsp, first in r10, goes into a slot, from which the epilogue loads it. Before the
 * slot is written it holds another frame's leftover, and the epilogue's instructions would lead there. */
START_TEST(realigned_stack) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "45 0c 0a 00 49 10 06 02 76 00 45 0f 03 76 78 06 45 0c 0a 00 45 0c 07 08");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 10");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    calls_x86_64(f);
    /* lea r10, [rsp + 8]; and rsp, -64; push [r10 - 8]; push rbp; mov rbp, rsp; push r10; nop */
    CODE8(&f->memory, CODE, 0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xc0, 0x41, 0xff, 0x72, 0xf8, 0x55);
    CODE8(&f->memory, CODE + 14, 0x48, 0x89, 0xe5, 0x41, 0x52, 0x90);
    /* mov r10, [rbp - 8]; leave; lea rsp, [r10 - 8]; ret */
    CODE8(&f->memory, CODE + 20, 0x4c, 0x8b, 0x55, 0xf8, 0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3);
    for (unsigned i = 0; i < 2; i++) {
        const bool is_written = i == 1;
        const usp_addr fp = STACK + 0x100 * i, entry = fp + 32, stale = fp + 56;
        WORDS(&f->memory, fp - 8, 8, is_written ? entry + 8 : stale, 0, CALLER, 0, 0, CALLER, 0, OUTER, 0);
        const usp_addr pc = is_written ? CODE + 19 : CODE + 17;
        set_registers(f, pc, is_written ? fp - 8 : fp, fp);
        uspi_set(&f->registers, 10, entry + 8);
        EXPECT(f, USP_STOP_ROOT, pc, CALLER, OUTER);
        ck_assert_uint_eq(f->frames[0].cfa, entry + 8);
    }
}
END_TEST

/* A signal frame that no known trampoline made: every register must come from memory, and the caller must count as
 * interrupted. */
START_TEST(signal_frame) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    size_t signal = put_cie(&c, false, 1, "zRS", "01 78 10 01 00");
    put_fde(&c, cie, CODE, 0x40, "");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    /* CFA = [rsp]; rax at rsp + 8; rip at rsp + 16. The interrupted code has its CFA in rax. */
    size_t at = begin_fde(&c, false, signal);
    put(&c.bytes, 8, CALLER - 0x20);
    put(&c.bytes, 8, 0x40);
    put_hex(&c.bytes, "00  0f 03 77 00 06  10 00 02 77 08  10 10 02 77 10");
    end_entry(&c, at, false);
    at = begin_fde(&c, false, cie);
    put(&c.bytes, 8, CODE + 0x400);
    put(&c.bytes, 8, 0x40);
    put_hex(&c.bytes, "0c 00 10");
    end_entry(&c, at, false);
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    /* The interrupted code is on another stack: once above the handler's, once below it. */
    WORDS(&f->memory, STACK, 8, CALLER, STACK - 0x800, STACK - 0x7f0, CODE + 0x400);
    WORDS(&f->memory, STACK - 0x800, 8, 1, 2, 3, OUTER);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, CODE + 0x400, OUTER);
    ck_assert_uint_eq(f->frames[2].kind, USP_FRAME_KIND_SIGNAL);
    ck_assert_uint_eq(f->frames[3].kind, USP_FRAME_KIND_RETURN_ADDRESS);
}
END_TEST

/* Apple's _sigtramp for i386, whose esi points at the ucontext and which gives the interrupted pc plus one, but of a
 * breakpoint and an overflow (libplatform src/setjmp/i386/_sigtramp.s); __eh_frame numbers ebp 4 and esp 5 there.
 * CALLER is after its call of the handler, which has pushed esi. The context lies at an offset that no kernel frame
 * has. */
#define MCONTEXT (STACK + 0x200)

static struct fixture *begin_i386_tramp(uint32_t trap) {
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "", "01 7c 08  0c 05 04 88 01");
    size_t signal = put_cie(&c, false, 1, "zRS", "01 7c 08 01 00");
    put_fde(&c, cie, CODE, 0x40, "0e 08 86 02");
    put_fde(&c, cie, CODE + 0x400, 0x40, "");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 08");
    size_t at = begin_fde(&c, false, signal);
    put(&c.bytes, 4, CALLER - 0x20);
    put(&c.bytes, 4, 0x40);
    put_hex(&c.bytes, "00  10 04 05 76 1c 06 23 24  10 05 05 76 1c 06 23 28  0f 06 76 1c 06 23 28 06"
                      "16 08 13 76 1c 06 12 23 34 06 16 23 00 06 12 33 2e 16 34 2e 1a 22");
    end_entry(&c, at, false);
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->target.os = USP_OS_DARWIN;
    CODE8(&f->memory, CALLER - 2, 0xff, 0xd1, 0x90, 0x0f, 0x0b);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 4, STACK + 0x100, CALLER, 0x12, 0x13);
    WORDS(&f->memory, STACK + 0x100, 4, 0, 0, 0, 0, 0, 0, 0, MCONTEXT);
    WORDS(&f->memory, MCONTEXT, 4, trap, 0, 0, 0, 0, 0, 0, 0, 0, 0xbbb, STACK + 0x300, 0, 0, CODE + 0x400);
    WORDS(&f->memory, STACK + 0x300, 4, OUTER, 0x14);
    return f;
}

START_TEST(apple_i386_signal_frame) {
    static const uint32_t traps[] = {0, 3, 4, 14};
    struct fixture *f = begin_i386_tramp(traps[_i]);
    set_registers(f, CODE, STACK, 0x5555);
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, CODE + 0x400, OUTER);
    ck_assert_uint_eq(f->frames[2].kind, USP_FRAME_KIND_SIGNAL);
    ck_assert_uint_eq(f->frames[2].fp, 0xbbb);
    ck_assert_uint_eq(f->frames[3].kind, USP_FRAME_KIND_RETURN_ADDRESS);
}
END_TEST

/* The thread stops in _sigtramp itself. Its rule must apply there too, and its caller must count as interrupted. */
START_TEST(apple_i386_inside) {
    struct fixture *f = begin_i386_tramp(14);
    f->options.readers = USP_READER_CFI | USP_READER_INSTRUCTIONS;
    set_registers(f, CALLER, STACK + 8, 0x5555);
    f->registers.value[6] = STACK + 0x100;
    f->registers.known |= 1u << 6;
    EXPECT(f, USP_STOP_ROOT, CALLER, CODE + 0x400, OUTER);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_SIGNAL);
}
END_TEST

/* Apple's arm64: _sigtramp at CALLER has call frame information like any function, which leads to the link register's
 * value at the signal. No rule from it may be kept for other walks. That holds even if the kernel's frame is not
 * recognized, because a handler has written another fp into the context. */
START_TEST(apple_signal_frame_is_not_kept) {
    const usp_addr record = STACK + 0x100, frame = record + 16, stale = CODE + 0x520;
    cfi_begin(&c, USP_ARCH_ARM64, true);
    size_t cie = put_cie(&c, false, 1, "", "04 78 1e  0c 1f 10 9d 02 9e 01");
    put_fde(&c, cie, CODE, 0x40, "");
    put_fde(&c, cie, CODE + 0x400, 0x40, "");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0c 1d 10");
    put_fde(&c, cie, stale - 0x20, 0x40, "07 1e");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 1e");
    /* siginfo, the ucontext 13 words after it, the mcontext 20 words after it: fp, sp and pc are the mcontext's words
     * 31, 33 and 34. */
    uint64_t words[2 + 20 + 36] = {STACK + 0x800, stale, 11};
    words[2 + 13 + 5] = 816;
    words[2 + 13 + 6] = frame + 160;
    words[2 + 20 + 33] = STACK + 0x400;
    words[2 + 20 + 34] = CODE + 0x400;
    struct uspi_shortcuts shortcuts = {.rules = uspi_rule_cache_create(64, true, NULL)};
    ck_assert_ptr_nonnull(shortcuts.rules);
    for (unsigned i = 0; i < 2; i++) {
        bool is_altered = i == 0;
        struct fixture *f = begin_tables(USP_ARCH_ARM64);
        f->target.os = USP_OS_DARWIN;
        f->options.readers = USP_READER_SIGNAL | USP_READER_TABLES;
        words[2 + 20 + 31] = is_altered ? STACK + 0x900 : STACK + 0x800;
        CODE32(&f->memory, CALLER - 4, 0xd63f0100);
        CODE32(&f->memory, OUTER - 4, 0x94000000);
        CODE32(&f->memory, stale - 4, 0x94000000);
        WORDS(&f->memory, STACK, 8, record, CALLER);
        image_words(&f->memory, record, 8, words, sizeof words / sizeof words[0]);
        WORDS(&f->memory, STACK + 0x400, 8, 0x777, OUTER);
        set_registers(f, CODE, STACK, 0);
        ck_assert_int_eq(uspi_unwind(&f->target, &f->registers, false, &shortcuts, &f->options, &f->stack), USP_OK);
        ck_assert_uint_eq(f->stack.count, is_altered ? 3 : 4);
        ck_assert_uint_eq(f->frames[1].pc, CALLER);
        ck_assert_uint_eq(f->frames[2].pc, is_altered ? stale : CODE + 0x400);
        ck_assert_uint_eq(f->frames[2].kind == USP_FRAME_KIND_SIGNAL, !is_altered);
    }
    free(shortcuts.rules);
}
END_TEST

/* A rule is refuted: the next reader must take over, and the stack must say why if no reader finds a caller. */
START_TEST(refuted) {
    size_t cie = three_x86_64();
    put_fde(&c, cie, CODE + 0x300, 0x20, "0e 78");
    put_fde(&c, cie, CODE + 0x320, 0x20, "3f");
    put_fde(&c, cie, CODE + 0x340, 0x20, "0b");
    put_fde(&c, cie, CODE + 0x360, 0x20, "0d 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    f->target.stack_low = STACK;
    f->target.stack_high = STACK + 0x40;
    WORDS(&f->memory, STACK, 8, 0, CODE + 0x50, 3, 4, 5, 6, 7, 8);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_RA_ZERO, CODE);
    /* No call precedes the return address. */
    CODE8(&f->memory, CODE + 0x40, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
          0x90, 0x90);
    set_registers(f, CODE, STACK + 8, 0);
    EXPECT(f, USP_STOP_RA_NOT_CODE, CODE);
    /* The CFA lies beyond the stack. */
    WORDS(&f->memory, STACK + 0x40, 8, 1, 2, 3, 4, 5, 6, 7, OUTER);
    calls_x86_64(f);
    set_registers(f, CODE + 0x300, STACK + 0x8, 0);
    EXPECT(f, USP_STOP_CORRUPT_TABLE, CODE + 0x300);
    /* An unknown opcode is not an error; an opcode that contradicts the others makes the table corrupt. */
    set_registers(f, CODE + 0x320, STACK, 0);
    EXPECT(f, USP_STOP_NO_RECORD, CODE + 0x320);
    set_registers(f, CODE + 0x340, STACK, 0);
    EXPECT(f, USP_STOP_CORRUPT_TABLE, CODE + 0x340);
    /* Code that the table does not describe is not an error of the table. */
    set_registers(f, CODE + 0x800, STACK, 0);
    EXPECT(f, USP_STOP_NO_RECORD, CODE + 0x800);
    /* The slot cannot be read. */
    set_registers(f, CODE, STACK + 0x1000, 0);
    f->target.stack_high = 0;
    EXPECT(f, USP_STOP_UNREADABLE, CODE);
    /* The frame record takes over where the table is corrupt. */
    f->options.readers |= USP_READER_FRAME_RECORD;
    WORDS(&f->memory, STACK + 0x200, 8, 0, OUTER);
    set_registers(f, CODE + 0x340, STACK + 0x100, STACK + 0x200);
    EXPECT(f, USP_STOP_ROOT, CODE + 0x340, OUTER);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_FRAME_POINTER);
}
END_TEST

/* Only the beginning of a stack was copied, and the table says that CALLER's return address is past it. fp points to
 * something like a frame record in the copy, which is not CALLER's: fp is one of its callee-saved registers. In the
 * second case CALLER itself was interrupted. */
START_TEST(past_copy) {
    const bool is_interrupted = _i == 1;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "41 0e 20");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "41 0e 80 01 65 0e 08");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    f->options.readers = USP_READER_ALL;
    /* sub $24, %rsp; a call before each return address; add $120, %rsp; ret */
    CODE8(&f->memory, CODE, 0x48, 0x83, 0xec, 0x18, 0x90);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0, 0x90, 0x48, 0x83, 0xc4, 0x78, 0xc3);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 8, 1, 2, 3, CALLER, 5, 6, STACK + 0x50, OUTER, 9, 10, 0, OUTER);
    uint8_t copy[0x60];
    ck_assert_int_eq(image_read(&f->memory, STACK, copy, sizeof copy), USP_OK);
    const usp_addr sp = is_interrupted ? STACK + 0x20 : STACK;
    set_registers(f, is_interrupted ? CALLER : CODE + 4, sp, STACK + 0x30);
    struct uspi_shortcuts shortcuts = {.rules = uspi_rule_cache_create(64, true, NULL),
                                       .stack = {copy + (sp - STACK), sp, (size_t)(STACK + sizeof copy - sp)}};
    ck_assert_ptr_nonnull(shortcuts.rules);
    /* Where the stack ends with the copy, the table must be wrong, and the record is used. */
    for (unsigned i = 0; i < 3; i++) {
        shortcuts.stack_continues = i > 0;
        ck_assert_int_eq(uspi_unwind(&f->target, &f->registers, false, &shortcuts, &f->options, &f->stack), USP_OK);
        const uint32_t count = is_interrupted ? 1 : 2;
        ck_assert_uint_eq(f->stack.count, i > 0 ? count : count + 1);
        ck_assert_uint_eq(f->frames[count - 1].pc, CALLER);
        ck_assert_uint_eq(f->stack.stop, i > 0 ? USP_STOP_NOT_COPIED : USP_STOP_ROOT);
        ck_assert_uint_eq(f->stack.stop_address, i > 0 ? CALLER : OUTER);
    }
    free(shortcuts.rules);
}
END_TEST

/* The table leads to an address that cannot be read; the instructions lead to an address after a call. The instructions
 * must be believed, unless the target says that the table's address is code too, which is only missing. */
START_TEST(unconfirmed) {
    const usp_addr missing = CODE + 0x800, doubtful = CODE + 0x305;
    size_t cie = three_x86_64();
    put_fde(&c, cie, CODE + 0x300, 0x20, "0e 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    calls_x86_64(f);
    CODE8(&f->memory, CODE + 0x300, 0xe8, 0, 1, 0, 0, 0x48, 0x83, 0xc4, 0x10, 0xc3);
    WORDS(&f->memory, STACK, 8, doubtful, 1, missing, CALLER, 4, OUTER);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE, doubtful, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_INSTRUCTIONS);
    f->target.image_at = all_is_code;
    walk(f);
    ck_assert_uint_ge(f->stack.count, 3);
    ck_assert_uint_eq(f->frames[2].pc, missing);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_CFI);
    ck_assert_uint_eq(f->frames[2].flags, USP_FRAME_UNVERIFIED);
}
END_TEST

/* Assembly code keeps its CFA in rax over a call of a function that does not change rax, as OpenSSL's AES-GCM does. The
 * callers are found with rax as it is in the innermost frame, if the return address there follows a call. */
START_TEST(cfa_in_a_scratch_register) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0d 00 86 02");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    for (unsigned i = 0; i < 2; i++) {
        const bool is_kept = i == 0;
        struct fixture *f = begin_tables(USP_ARCH_X86_64);
        calls_x86_64(f);
        WORDS(&f->memory, STACK, 8, CALLER, 1, 2, 3, 0xbbb, is_kept ? OUTER : OUTER + 1, 4);
        set_registers(f, CODE, STACK, 0);
        uspi_set(&f->registers, 0, STACK + 40);
        if (is_kept) {
            EXPECT(f, USP_STOP_ROOT, CODE, CALLER, OUTER);
            ck_assert_uint_eq(f->frames[1].cfa, STACK + 48);
            ck_assert_uint_eq(f->frames[2].fp, 0xbbb);
        } else {
            EXPECT(f, USP_STOP_RA_NOT_CODE, CODE, CALLER);
        }
        /* A value below the frame is not a CFA. */
        uspi_set(&f->registers, 0, STACK - 40);
        EXPECT(f, USP_STOP_UNREADABLE, CODE, CALLER);
    }
}
END_TEST

/* i386: a dynamic linker enters the function that it has found by a return. That function's start follows a call at the
 * end of the function before it, and must not be taken for a return address. */
START_TEST(return_enters_a_function) {
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "", "01 7c 08  0c 04 04 88 01");
    put_fde(&c, cie, CODE, 0x40, "0e 14 41 0e 04"); /* undone at its end, as every instruction has a row */
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 08");
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    CODE8(&f->memory, CODE, /* ret $12 */ 0xc2, 12, 0);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 4, CALLER, 7, 7, 7, OUTER, 0);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE, OUTER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 20);
}
END_TEST

/* i386: padding after an instruction that ends in ff looks like a call (ff 90 90 90 90 90), whose callee might have
 * taken arguments off the stack. The instructions lead nowhere from there. */
START_TEST(padding_like_a_call) {
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "", "01 7c 08  0c 04 04 88 01");
    put_fde(&c, cie, CODE, 0x40, "43 0e 10 4f 0e 04"); /* undone at its end, as every instruction has a row */
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 08");
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    /* sub esp, 12; xor edi, edi; six times nop; add esp, 8; ret, which is another function's epilogue */
    CODE8(&f->memory, CODE, 0x83, 0xec, 0x0c, 0x31, 0xff, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x83, 0xc4, 0x08, 0xc3);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 4, 0, 0, CODE + 0x800, OUTER, 0);
    for (usp_addr pc = CODE + 5; pc <= CODE + 11; pc++) {
        set_registers(f, pc, STACK, 0);
        EXPECT(f, USP_STOP_ROOT, pc, OUTER);
        ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    }
    /* After a call the instructions must be asked, whatever the table leads to: the callee has taken 4 bytes off the
     * stack. */
    f = begin_tables(USP_ARCH_I386);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    CODE8(&f->memory, CODE, 0x83, 0xec, 0x0c, 0x90, 0xe8, 0, 1, 0, 0, 0x83, 0xc4, 0x08, 0xc3);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, STACK, 4, 0, 0, OUTER, CALLER);
    set_registers(f, CODE + 9, STACK, 0);
    EXPECT(f, USP_STOP_ROOT, CODE + 9, OUTER);
}
END_TEST

/* Code, stack and distances above 2 GB in a 32-bit process: a number taken as signed leads out of the address space.
 * The entry is found once by a search and once by the linker's table; the last caller by a frame record. */
#define HIGH_CODE  UINT64_C(0xf7001000)
#define HIGH_STACK UINT64_C(0xff800000)

static int high_tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < HIGH_CODE || pc >= HIGH_CODE + 0x300) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

/* Appends an FDE with signed 4-byte addresses relative to their own place. */
static size_t put_relative_fde(size_t cie, usp_addr start, uint32_t length, const char *instructions) {
    size_t at = begin_fde(&c, false, cie);
    put(&c.bytes, 4, start - (TABLE + c.bytes.size));
    put(&c.bytes, 4, length);
    put(&c.bytes, 1, 0);
    put_hex(&c.bytes, instructions);
    end_entry(&c, at, false);
    return at;
}

START_TEST(above_2_gb) {
    const usp_addr outer = HIGH_CODE + 0x400;
    cfi_begin(&c, USP_ARCH_I386, true);
    size_t cie = put_cie(&c, false, 1, "zR", "01 7c 08 01 1b 0c 04 04 88 01");
    size_t first = put_relative_fde(cie, HIGH_CODE, 0x40, "41 0e 08 85 02 44 0e 10");
    /* CFA = esp + 8; the caller's ebp is the value at "CFA - 2 GB - 64", an expression. */
    size_t second = put_relative_fde(cie, HIGH_CODE + 0x100, 0x40, "0e 08 10 05 07 0c 40 00 00 80 1c 96");
    put(&c.bytes, 4, 0);
    size_t hdr = c.bytes.size, size = hdr;
    if (_i == 1) {
        put_hex(&c.bytes, "01 1b 03 3b");
        put(&c.bytes, 4, 0 - (uint64_t)(hdr + 4));
        put(&c.bytes, 4, 2);
        put_sorted(&c.bytes, hdr, HIGH_CODE, first);
        put_sorted(&c.bytes, hdr, HIGH_CODE + 0x100, second);
    }
    struct fixture *f = begin_tables(USP_ARCH_I386);
    f->target.unwind_tables_at = high_tables_at;
    f->options.readers = USP_READER_CFI | USP_READER_FRAME_RECORD;
    given.eh_frame.size = size;
    given.eh_frame_hdr = (struct usp_memory_range){TABLE + hdr, c.bytes.size - hdr};
    CODE8(&f->memory, HIGH_CODE + 0x120 - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, outer - 5, 0xe8, 0, 1, 0, 0);
    WORDS(&f->memory, HIGH_STACK, 4, 1, 2, 0xebb, HIGH_CODE + 0x120, 3, outer, 4, 5, 0, outer + 0x10, 6);
    WORDS(&f->memory, HIGH_STACK + 24 - 0x80000040, 4, HIGH_STACK + 32);
    set_registers(f, HIGH_CODE + 0x10, HIGH_STACK, 0xebb0);
    EXPECT(f, USP_STOP_FP_ZERO, HIGH_CODE + 0x10, HIGH_CODE + 0x120, outer, outer + 0x10);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    ck_assert_uint_eq(f->frames[1].fp, 0xebb);
    ck_assert_uint_eq(f->frames[1].cfa, HIGH_STACK + 24);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_CFI);
    ck_assert_uint_eq(f->frames[2].fp, HIGH_STACK + 32);
    ck_assert_uint_eq(f->frames[3].method, USP_FRAME_METHOD_FRAME_POINTER);
}
END_TEST

/* Call frame information must be used only if the options name its reader. */
START_TEST(not_asked) {
    three_x86_64();
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    f->options.readers = USP_READER_FRAME_RECORD;
    WORDS(&f->memory, STACK, 8, CALLER, 0x13, OUTER);
    set_registers(f, CODE, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, CODE);
}
END_TEST

/* Frame records come first: they skip the caller that the table knows, and the table continues where they end. */
START_TEST(asked_later) {
    const usp_addr inner = CODE + 0x400;
    size_t cie = three_x86_64();
    put_fde(&c, cie, inner - 0x20, 0x40, "41 0e 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    CODE8(&f->memory, inner - 5, 0xe8, 0, 1, 0, 0);
    /* By the table, CODE's frame is the topmost word; the record at STACK + 16 leads to CALLER, whose fp points to no
     * record. */
    WORDS(&f->memory, STACK, 8, inner, 1, 0x11, CALLER, 2, OUTER, CALLER, 3, OUTER, 4);
    f->options.readers = USP_READER_CFI | USP_READER_FRAME_RECORD;
    set_registers(f, CODE, STACK, STACK + 16);
    walk(f);
    ck_assert_uint_eq(f->frames[1].pc, inner);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    f->options.readers_first = USP_READER_FRAME_RECORD;
    EXPECT(f, USP_STOP_ROOT, CODE, CALLER, OUTER);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_FRAME_POINTER);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_CFI);
    /* The first reader must be chosen only among those that the options allow. */
    f->options.readers = USP_READER_CFI;
    walk(f);
    ck_assert_uint_eq(f->frames[1].pc, inner);
    /* A corrupt table that is asked first must be passed over as well. */
    put_fde(&c, cie, CODE + 0x500, 0x20, "0b");
    given.eh_frame.size = c.bytes.size;
    f->options.readers = USP_READER_CFI | USP_READER_FRAME_RECORD;
    f->options.readers_first = USP_READER_CFI;
    set_registers(f, CODE + 0x500, STACK, STACK + 16);
    EXPECT(f, USP_STOP_ROOT, CODE + 0x500, CALLER, OUTER);
    ck_assert_uint_eq(f->stack.flags, USP_STACK_CORRUPT_TABLE);
    f->options.readers = USP_READER_CFI;
    EXPECT(f, USP_STOP_CORRUPT_TABLE, CODE + 0x500);
}
END_TEST

/* The table gives the same CFA again and again: the walk must end. */
START_TEST(looping_table) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 06 10 90 01");
    put_fde(&c, cie, CODE, 0x400, "");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    calls_x86_64(f);
    WORDS(&f->memory, STACK, 8, 0, 0, 0, CALLER, 0);
    set_registers(f, CODE, STACK, STACK + 0x10);
    EXPECT(f, USP_STOP_CORRUPT_TABLE, CODE, CALLER);
}
END_TEST

/* ---- expressions ---- */

struct expression_case {
    uint32_t arch;
    const char *bytes;
    bool fails;
    usp_addr value;
};

#define YIELDS(bytes, value)    {USP_ARCH_X86_64, bytes, false, value}
#define YIELDS_32(bytes, value) {USP_ARCH_I386, bytes, false, value}
#define FAILS(bytes)            {USP_ARCH_X86_64, bytes, true, 0}
#define MINUS(n)                (UINT64_MAX - (n) + 1)

/* The CFA 0x1000 is pushed first. Register 3 is 0x70: rbx, and ebx on i386. The memory at 0x7000 holds
 * 0x1122334455667788. */
static const struct expression_case expression_cases[] = {
    YIELDS("", 0x1000),
    YIELDS("96", 0x1000),
    YIELDS("30", 0),
    YIELDS("4f", 31),
    YIELDS("03 88 77 66 55 44 33 22 11", UINT64_C(0x1122334455667788)),
    YIELDS_32("03 44 33 22 11", 0x11223344),
    YIELDS("08 ff", 255),
    YIELDS("09 ff", MINUS(1)),
    YIELDS("0a fe ff", 0xfffe),
    YIELDS("0b fe ff", MINUS(2)),
    YIELDS("0c fe ff ff ff", 0xfffffffe),
    YIELDS("0d fe ff ff ff", MINUS(2)),
    YIELDS("0e fe ff ff ff ff ff ff ff", MINUS(2)),
    YIELDS("0f fe ff ff ff ff ff ff ff", MINUS(2)),
    YIELDS_32("09 ff", 0xffffffff),
    YIELDS("10 80 02", 256),
    YIELDS("11 7e", MINUS(2)),
    YIELDS("31 12 22", 2),
    YIELDS("31 32 13", 1),
    YIELDS("31 32 14", 1),
    YIELDS("31 32 33 15 02", 1),
    YIELDS("31 32 33 15 03", 0x1000),
    YIELDS("31 35 16 1c", 4),
    YIELDS("31 32 33 17", 2),
    YIELDS("31 32 33 17 13", 1),
    YIELDS("31 32 33 17 13 13", 3),
    YIELDS("09 fb 19", 5),
    YIELDS("35 19", 5),
    YIELDS("3c 3a 1a", 8),
    YIELDS("09 f9 32 1b", MINUS(3)),
    YIELDS("0f 00 00 00 00 00 00 00 80 09 ff 1b", UINT64_C(1) << 63),
    YIELDS_32("0d 00 00 00 80 09 ff 1b", 0x80000000),
    YIELDS("37 33 1d", 1),
    YIELDS("37 33 1e", 21),
    YIELDS("33 1f", MINUS(3)),
    YIELDS("33 20", MINUS(4)),
    YIELDS("3c 33 21", 15),
    YIELDS("3c 33 22", 15),
    YIELDS("3c 23 80 01", 140),
    YIELDS("33 34 24", 48),
    YIELDS("33 08 40 24", 0),
    YIELDS_32("33 08 20 24", 0),
    YIELDS("09 f0 34 25", UINT64_C(0x0fffffffffffffff)),
    YIELDS_32("09 f0 34 25", 0x0fffffff),
    YIELDS("09 f0 34 26", MINUS(1)),
    YIELDS("09 f0 08 ff 26", MINUS(1)),
    YIELDS("3f 33 27", 12),
    YIELDS("33 33 29", 1),
    YIELDS("33 34 29", 0),
    YIELDS("09 ff 30 2a", 0),
    YIELDS_32("09 ff 30 2a", 0), /* signed in 32 bits, too */
    YIELDS("33 33 2a", 1),
    YIELDS("34 33 2b", 1),
    YIELDS("33 33 2b", 0),
    YIELDS("33 33 2c", 1),
    YIELDS("09 ff 30 2d", 1),
    YIELDS("33 33 2d", 0),
    YIELDS("33 34 2e", 1),
    YIELDS("31 2f 01 00 32 12 22", 2),    /* skips the 2 */
    YIELDS("35 30 28 01 00 36", 6),       /* not taken */
    YIELDS("35 31 28 01 00 36", 5),       /* taken, to the end */
    YIELDS("33 31 1c 12 28 fa ff 38", 8), /* 3, 2, 1, 0 */
    YIELDS("73 10", 0x80),
    YIELDS("73 70", 0x60),
    YIELDS("53", 0x70),
    YIELDS("90 03", 0x70),
    YIELDS("92 03 10", 0x80),
    YIELDS("0a 00 70 06", UINT64_C(0x1122334455667788)),
    YIELDS("0a 00 70 94 02", 0x7788),
    YIELDS_32("0a 00 70 06", 0x55667788),
    FAILS("13"), /* the stack is empty */
    FAILS("13 13"),
    FAILS("13 12"),
    FAILS("13 22"),
    FAILS("22"),
    FAILS("16"),
    FAILS("31 17"),
    FAILS("15 01"),
    FAILS("31 30 1b"), /* division by zero */
    FAILS("31 30 1d"),
    FAILS("31 06"), /* memory that cannot be read */
    FAILS("0a 00 70 94 00"),
    FAILS("0a 00 70 94 09"),
    FAILS("50"), /* an unknown register */
    FAILS("70 00"),
    FAILS("90 30"),
    FAILS("90 ff 01"),
    FAILS("2f fd ff"),    /* endless loop */
    FAILS("2f fc ff"),    /* before the expression's start */
    FAILS("2f 01 00"),    /* after its end */
    FAILS("12 2f fc ff"), /* overflows the stack */
    FAILS("01"),
    FAILS("98"), /* call2 */
    FAILS("9c"), /* call_frame_cfa */
    FAILS("08"),
    FAILS("03 00 00"),
    FAILS("10 80"),
    FAILS("73 80"),
    FAILS("2f 01"),
    FAILS("10 ff ff ff ff ff ff ff ff ff 7f"),
};

START_TEST(expressions) {
    const struct expression_case *t = &expression_cases[_i];
    struct uspi_walk walk = {.backend = uspi_backend_find(t->arch)};
    struct uspi_frame_state frame = {.sp_known = true};
    struct fixture *f = begin(t->arch, USP_OS_LINUX);
    usp_addr cfa = 0x1000, value = 0;
    WORDS(&f->memory, 0x7000, 8, UINT64_C(0x1122334455667788));
    walk.target.memory = f->target.memory;
    frame.registers.value[3] = 0x70;
    frame.registers.known = 1u << 3;
    cfi_begin(&c, t->arch, true);
    put_hex(&c.bytes, t->bytes);
    struct uspi_bytes bytes = cfi_section(&c)->bytes;
    bool done = uspi_dwarf_evaluate(&walk, &frame, bytes, &cfa, &value);
    ck_assert_msg(done == !t->fails, "%s", t->bytes);
    if (done) ck_assert_msg(value == t->value, "%s: %#" PRIx64 ", not %#" PRIx64, t->bytes, value, t->value);
}
END_TEST

/* The CFA's own expression begins with an empty stack, and may use sp only if it is the frame's own. */
START_TEST(expression_of_cfa) {
    struct uspi_walk walk = {.backend = &uspi_x86_64};
    struct uspi_frame_state frame = {.sp_known = true};
    usp_addr value;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    put_hex(&c.bytes, "77 08");
    struct uspi_bytes bytes = cfi_section(&c)->bytes, nothing = {&c.source, TABLE, 0};
    uspi_set(&frame.registers, 7, 0x7000);
    ck_assert(uspi_dwarf_evaluate(&walk, &frame, bytes, NULL, &value));
    ck_assert_uint_eq(value, 0x7008);
    ck_assert(!uspi_dwarf_evaluate(&walk, &frame, nothing, NULL, &value));
    frame.sp_known = false;
    ck_assert(!uspi_dwarf_evaluate(&walk, &frame, bytes, NULL, &value));
}
END_TEST

/* vfork pops its return address into a register before the system call: the CFA is then the stack pointer itself. */
START_TEST(return_address_in_a_register) {
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, CODE, 0x40, "41 0e 00 09 10 05");
    put_fde(&c, cie, CALLER - 0x20, 0x40, "0e 10");
    put_fde(&c, cie, OUTER - 0x20, 0x40, "07 10");
    struct fixture *f = begin_tables(USP_ARCH_X86_64);
    CODE8(&f->memory, CALLER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, OUTER - 5, 0xe8, 0, 1, 0, 0);
    CODE8(&f->memory, CODE, /* pop rdi; mov eax, 58; syscall; push rdi */ 0x5f, 0xb8, 58, 0, 0, 0, 0x0f, 5, 0x57);
    WORDS(&f->memory, STACK, 8, 0x13, OUTER, 0x14);
    set_registers(f, CODE + 8, STACK, 0);
    uspi_set(&f->registers, 5, CALLER);
    EXPECT(f, USP_STOP_ROOT, CODE + 8, CALLER, OUTER);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_CORRUPT_TABLE, 0);
    ck_assert_uint_eq(f->frames[0].cfa, STACK);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("bytes");
    tcase_add_checked_fixture(tests, NULL, free_table);
    add_tests(tests, frameless, prologue, noreturn_call, link_register, linkage_table, signal_frame);
    add_tests(tests, jump_to_linkage_table, forgotten_epilogue, saved_above_cfa, told_after_a_landing_pad,
              jump_after_the_first_function, return_takes_arguments, realigned_stack);
    tcase_add_loop_test(tests, rows_beside_their_instruction, 0, 3);
    tcase_add_loop_test(tests, apple_i386_signal_frame, 0, 4);
    add_tests(tests, apple_i386_inside, apple_signal_frame_is_not_kept, refuted, unconfirmed, padding_like_a_call,
              return_enters_a_function, cfa_in_a_scratch_register);
    tcase_add_loop_test(tests, above_2_gb, 0, 2);
    tcase_add_loop_test(tests, past_copy, 0, 2);
    add_tests(tests, not_asked, asked_later, looping_table, return_address_in_a_register);
    tcase_add_loop_test(tests, expressions, 0, ELEMENTS(expression_cases));
    tcase_add_test(tests, expression_of_cfa);
    return run_suite("cfi_reader", tests);
}
