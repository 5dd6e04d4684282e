/* SPDX-License-Identifier: MIT */
/* Tests the backend arm64: thread states, the signal trampoline, the effects of instructions, calls before return
 * addresses. arm64-decode-diff.py compares whole disassemblies, emulated/effects_arm64.c executed instructions. */
#include "tests/arch/arm64_expect.h"
#include "tests/support/suite.h"

static const struct uspi_backend *const arm64 = &uspi_arm64;

START_TEST(constants) {
    ck_assert_uint_eq(arm64->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(arm64->register_count, 33);
    ck_assert_uint_eq(arm64->fp, 29);
    ck_assert_uint_eq(arm64->lr, 30);
    ck_assert_uint_eq(arm64->sp, 31);
    ck_assert_uint_eq(arm64->pc, 32);
    ck_assert_uint_eq(arm64->word, 8);
    ck_assert_uint_eq(arm64->slot, 8);
    ck_assert_uint_eq(arm64->call_push, 0);
    ck_assert_uint_eq(arm64->red_zone, 128);
    ck_assert(arm64->has_signatures && arm64->has_async && !arm64->has_thumb);
    ck_assert(arm64->word_mask == UINT64_MAX);
    for (unsigned n = 0; n < 64; n++) ck_assert_msg((arm64->callee_saved >> n & 1) == (n >= 19 && n <= 29), "x%u", n);
    for (unsigned n = 0; n < arm64->register_count; n++) ck_assert_ptr_nonnull(arm64->register_names[n]);
    ck_assert_str_eq(arm64->register_names[0], "x0");
    ck_assert_str_eq(arm64->register_names[30], "x30");
    ck_assert_str_eq(arm64->register_names[arm64->sp], "sp");
    ck_assert_str_eq(arm64->register_names[arm64->pc], "pc");
}
END_TEST

START_TEST(thread_states) {
    expect_file_at(arm64, USP_THREAD_STATE_MACH + 6, 0, 272);
    expect_file_at(arm64, USP_THREAD_STATE_DARWIN_MCONTEXT, 16, 16 + 272);
    expect_file_at(arm64, USP_THREAD_STATE_LINUX_PRSTATUS, 0, 272);
    expect_file_at(arm64, USP_THREAD_STATE_LINUX_UCONTEXT, 0x1a0 - 232, 0x1c0 + 8);
    const struct uspi_state_layout *unified = find_state(arm64, USP_THREAD_STATE_MACH + 1);
    ck_assert(unified != NULL && unified->unified && unified->run_count == 0);
    ck_assert_uint_eq(unified->size, 8);
    ck_assert_uint_eq(unified->base, 8);
}
END_TEST

START_TEST(signal_stub) {
    ck_assert_uint_eq(arm64->stub_count, 1);
    const struct uspi_signal_stub *stub = &arm64->stubs[0];
    ck_assert_uint_eq(stub->os, USP_OS_LINUX);
    ck_assert_uint_eq(stub->state, USP_THREAD_STATE_LINUX_UCONTEXT);
    ck_assert_uint_eq(stub->context, 128);
    ck_assert_uint_eq(stub->entry, 0);
    ck_assert_uint_eq(stub->length, 8);
    ck_assert_uint_eq(uspi_le32(stub->code), 0xd2801168);     /* mov x8, #139 */
    ck_assert_uint_eq(uspi_le32(stub->code + 4), 0xd4000001); /* svc #0 */
}
END_TEST

START_TEST(prologues) {
    static const struct expectation table[] = {
        {0xa9bf7bfd, "stp x29, x30, [sp, #-16]!", .effects = {STORE(29, SP, -16), STORE(30, SP, -8), SET(SP, SP, -16)}},
        {0xa9017bfd, "stp x29, x30, [sp, #16]", .effects = {STORE(29, SP, 16), STORE(30, SP, 24)}},
        {0xa9be6ffc, "stp x28, x27, [sp, #-32]!",
         .effects = {STORE(28, SP, -32), STORE(27, SP, -24), SET(SP, SP, -32)}},
        {0xf81f0ffe, "str x30, [sp, #-16]!", .effects = {STORE(30, SP, -16), SET(SP, SP, -16)}},
        {0xf90007f3, "str x19, [sp, #8]", .effects = {STORE(19, SP, 8)}},
        {0xf81e83a8, "stur x8, [x29, #-24]", .effects = {STORE(8, 29, -24)}},
        {0x910003fd, "mov x29, sp", .effects = {SET(29, SP, 0)}},
        {0x910043fd, "add x29, sp, #16", .effects = {SET(29, SP, 16)}},
        {0xd10083ff, "sub sp, sp, #32", .effects = {SET(SP, SP, -32)}},
        {0xd140c3ff, "sub sp, sp, #48, lsl #12", .effects = {SET(SP, SP, -48 * 4096)}},
        {0x6dbe23e9, "stp d9, d8, [sp, #-32]!", .effects = {UNKNOWN(SP, -32), UNKNOWN(SP, -24), SET(SP, SP, -32)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(epilogues) {
    static const struct expectation table[] = {
        {0xa8c17bfd, "ldp x29, x30, [sp], #16", .effects = {LOAD(29, SP, 0), LOAD(30, SP, 8), SET(SP, SP, 16)}},
        {0xa9417bfd, "ldp x29, x30, [sp, #16]", .effects = {LOAD(29, SP, 16), LOAD(30, SP, 24)}},
        {0xf84107fe, "ldr x30, [sp], #16", .effects = {LOAD(30, SP, 0), SET(SP, SP, 16)}},
        {0xf94007fe, "ldr x30, [sp, #8]", .effects = {LOAD(30, SP, 8)}},
        {0xf85f83fe, "ldur x30, [sp, #-8]", .effects = {LOAD(30, SP, -8)}},
        {0x6cc223e9, "ldp d9, d8, [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0x910003bf, "mov sp, x29", .effects = {SET(SP, 29, 0)}},
        {0xd10103bf, "sub sp, x29, #64", .effects = {SET(SP, 29, -64)}},
        {0x910083ff, "add sp, sp, #32", .effects = {SET(SP, SP, 32)}},
        {0xd65f03c0, "ret", .flow = USPI_RETURN, .reg = 30},
        {0xd65f0220, "ret x17", .flow = USPI_RETURN, .reg = 17},
        {0xd65f0bff, "retaa", .flow = USPI_RETURN, .reg = 30},
        {0xd65f0fff, "retab", .flow = USPI_RETURN, .reg = 30},
        {0x5500003f, "retaasppc #-4", .flow = USPI_RETURN, .reg = 30},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* Effects are applied one after the other, but an instruction loads all values at once: the base must be overwritten
 * last. */
START_TEST(loads_of_their_own_base) {
    static const struct expectation table[] = {
        {0xa9407bbd, "ldp x29, x30, [x29]", .effects = {LOAD(30, 29, 8), LOAD(29, 29, 0)}},
        {0xa9400400, "ldp x0, x1, [x0]", .effects = {LOAD(1, 0, 8), LOAD(0, 0, 0)}},
        {0xa9400001, "ldp x1, x0, [x0]", .effects = {LOAD(1, 0, 0), LOAD(0, 0, 8)}},
        {0xf8408529, "ldr x9, [x9], #8", .clobbers = X(9)}, /* CONSTRAINED UNPREDICTABLE */
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(large_frames) {
    static const struct expectation table[] = {
        {0xd281a80c, "mov x12, #3392", .effects = {CONSTANT(12, 3392)}},
        {0xf2a0006c, "movk x12, #3, lsl #16", .effects = {INSERT(12, 16, 3)}},
        {0x72a0006c, "movk w12, #3, lsl #16", .effects = {INSERT(12, 16, 3), INSERT(12, 32, 0), INSERT(12, 48, 0)}},
        {0x92800009, "mov x9, #-1", .effects = {CONSTANT(9, -1)}},
        {0x12800029, "mov w9, #-2", .effects = {CONSTANT(9, 0xfffffffe)}},
        {0xb2089fe9, "mov x9, #-71777214294589696", .effects = {CONSTANT(9, 0xff00ff00ff00ff00)}},
        {0xcb2c63ff, "sub sp, sp, x12", .effects = {SUBTRACT(SP, SP, 12)}},
        {0x8b2c63ff, "add sp, sp, x12", .effects = {ADD(SP, SP, 12)}},
        {0xcb2c73ff, "sub sp, sp, x12, lsl #4", .clobbers = X(SP)},
        {0xcb2c43ff, "sub sp, sp, w12, uxtw", .clobbers = X(SP)},
        {0x927ced3f, "and sp, x9, #0xfffffffffffffff0", .clobbers = X(SP)},
        {0x043f57ff, "addvl sp, sp, #-1", .clobbers = X(SP)},
        {0x9adf13ff, "irg sp, sp", .clobbers = X(SP)},
        {0x58000089, "ldr x9, #16", .effects = {LITERAL(9, PC + 16)}},
        {0x18000089, "ldr w9, #16", .clobbers = X(9)},
        {0x10000029, "adr x9, #4", .effects = {CONSTANT(9, PC + 4)}},
        {0xb0000009, "adrp x9, #4096", .effects = {CONSTANT(9, PC + 4096)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* Register 31 is the zero register or sp, depending on the instruction. */
START_TEST(register_31) {
    static const struct expectation table[] = {
        {0xaa0803e9, "mov x9, x8", .effects = {SET(9, 8, 0)}},
        {0xaa1f03e9, "mov x9, xzr", .effects = {CONSTANT(9, 0)}},
        {0x2a0803e9, "mov w9, w8", .clobbers = X(9)},
        {0x8b070109, "add x9, x8, x7", .effects = {ADD(9, 8, 7)}},
        {0x8b070d09, "add x9, x8, x7, lsl #3", .clobbers = X(9)},
        {0xcb0803e9, "neg x9, x8", .clobbers = X(9)},
        {0x11001109, "add w9, w8, #4", .clobbers = X(9)},
        {0xeb08013f, "cmp x9, x8", .clobbers = 0},
        {0xeb2863ff, "cmp sp, x8", .clobbers = 0},
        {0xa9017fff, "stp xzr, xzr, [sp, #16]", .effects = {UNKNOWN(SP, 16), UNKNOWN(SP, 24)}},
        {0xf827011f, "stadd x7, [x8]", .effects = {UNKNOWN(8, 0)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(other_stores) {
    static const struct expectation table[] = {
        {0xb9000fe0, "str w0, [sp, #12]", .effects = {UNKNOWN(SP, 8)}},
        {0x39007fff, "strb wzr, [sp, #31]", .effects = {UNKNOWN(SP, 24)}},
        {0x3d8007e0, "str q0, [sp, #16]", .effects = {UNKNOWN(SP, 16), UNKNOWN(SP, 24)}},
        {0x290127e8, "stp w8, w9, [sp, #8]", .effects = {UNKNOWN(SP, 8), UNKNOWN(SP, 8)}},
        {0x4c9fafe8, "st1 { v8.2d, v9.2d }, [sp], #32",
         .effects = {UNKNOWN(SP, 0), UNKNOWN(SP, 8), UNKNOWN(SP, 16), UNKNOWN(SP, 24), SET(SP, SP, 32)}},
        {0x0d889120, "st1 { v0.s }[1], [x9], x8", .effects = {UNKNOWN(9, 0), ADD(9, 9, 8)}},
        {0x69bf2be9, "stgp x9, x10, [sp, #-32]!", .effects = {STORE(9, SP, -32), STORE(10, SP, -24), SET(SP, SP, -32)}},
        {0xd92027ff, "stg sp, [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0xd9601be9, "stzg x9, [sp, #16]", .effects = {UNKNOWN(SP, 16), UNKNOWN(SP, 24)}},
        {0xd96017e9, "stzg x9, [sp], #16", .effects = {UNKNOWN(SP, 0), UNKNOWN(SP, 8), SET(SP, SP, 16)}},
        {0xd9e027e9, "stz2g x9, [sp], #32",
         .effects = {UNKNOWN(SP, 0), UNKNOWN(SP, 8), UNKNOWN(SP, 16), UNKNOWN(SP, 24), SET(SP, SP, 32)}},
        {0xd90a0909, "stilp x9, x10, [x8, #-16]!", .effects = {STORE(9, 8, -16), STORE(10, 8, -8), SET(8, 8, -16)}},
        {0xd90a1909, "stilp x9, x10, [x8]", .effects = {STORE(9, 8, 0), STORE(10, 8, 8)}},
        {0x1d810be0, "stlur q0, [sp, #16]", .effects = {UNKNOWN(SP, 16), UNKNOWN(SP, 24)}},
        {0xd91f0d09, "gcsstr x9, [x8]", .effects = {STORE(9, 8, 0)}},
        {0xd9800909, "stlr x9, [x8, #-8]!", .effects = {STORE(9, 8, -8), SET(8, 8, -8)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(other_loads) {
    static const struct expectation table[] = {
        {0xb94007e9, "ldr w9, [sp, #4]", .clobbers = X(9)},
        {0xb98007e9, "ldrsw x9, [sp, #4]", .clobbers = X(9)},
        {0x394013e9, "ldrb w9, [sp, #4]", .clobbers = X(9)},
        {0xf8676909, "ldr x9, [x8, x7]", .clobbers = X(9)},
        {0x294127e8, "ldp w8, w9, [sp, #8]", .clobbers = X(8) | X(9)},
        {0xf8201d09, "ldraa x9, [x8, #8]!", .clobbers = X(8) | X(9)},
        {0xf9800520, "prfm pldl1keep, [x9, #8]", .clobbers = 0},
        {0xd9601109, "ldg x9, [x8, #16]", .clobbers = X(9)},
        {0xc85f7d09, "ldxr x9, [x8]", .effects = {LOAD(9, 8, 0)}},
        {0xc87f2909, "ldxp x9, x10, [x8]", .clobbers = X(9) | X(10)},
        {0xf8bfc109, "ldapr x9, [x8]", .clobbers = X(9)},
        {0xd95f8109, "ldapur x9, [x8, #-8]", .effects = {LOAD(9, 8, -8)}},
        {0xd94a0909, "ldiapp x9, x10, [x8], #16", .clobbers = X(9) | X(10), .effects = {SET(8, 8, 16)}},
        {0xf83fd122, "ld64b x2, [x9]", .clobbers = 0xff << 2},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(atomics) {
    static const struct expectation table[] = {
        {0xc8097d07, "stxr w9, x7, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0xc8291d06, "stxp w9, x6, x7, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0), UNKNOWN(8, 8)}},
        {0xc89ffd09, "stlr x9, [x8]", .effects = {STORE(9, 8, 0)}},
        {0xc8a97d07, "cas x9, x7, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0x082a7d06, "casp w10, w11, w6, w7, [x8]", .clobbers = X(10) | X(11), .effects = {UNKNOWN(8, 0)}},
        {0x88291d06, "stxp w9, w6, w7, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0x482a7d06, "casp x10, x11, x6, x7, [x8]", .clobbers = X(10) | X(11),
         .effects = {UNKNOWN(8, 0), UNKNOWN(8, 8)}},
        {0xf8278109, "swp x7, x9, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0xf8270109, "ldadd x7, x9, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0x192a8109, "swpp x9, x10, [x8]", .clobbers = X(9) | X(10), .effects = {UNKNOWN(8, 0), UNKNOWN(8, 8)}},
        {0x192a0d06, "rcwcasp x10, x11, x6, x7, [x8]", .clobbers = X(10) | X(11),
         .effects = {UNKNOWN(8, 0), UNKNOWN(8, 8)}},
        {0xf821b122, "st64bv x1, x2, [x9]", .clobbers = X(1),
         .effects = {UNKNOWN(9, 0), UNKNOWN(9, 8), UNKNOWN(9, 16), UNKNOWN(9, 24), UNKNOWN(9, 32), UNKNOWN(9, 40),
                     UNKNOWN(9, 48), UNKNOWN(9, 56)}},
        {0x190a0569, "cpyfp [x9]!, [x10]!, x11!", .clobbers = X(9) | X(10) | X(11)},
        {0x19cb0549, "setp [x9]!, x10!, x11", .clobbers = X(9) | X(10)},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* Write-back moves the base by the size of all transferred registers. */
START_TEST(vector_structures) {
    static const struct expectation table[] = {
        {0x4cdf03e0, "ld4 { v0.16b, v1.16b, v2.16b, v3.16b }, [sp], #64", .effects = {SET(SP, SP, 64)}},
        {0x0cdf23e0, "ld1 { v0.8b, v1.8b, v2.8b, v3.8b }, [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0x4cdf4be0, "ld3 { v0.4s, v1.4s, v2.4s }, [sp], #48", .effects = {SET(SP, SP, 48)}},
        {0x4cdf6fe0, "ld1 { v0.2d, v1.2d, v2.2d }, [sp], #48", .effects = {SET(SP, SP, 48)}},
        {0x4cdf7fe0, "ld1 { v0.2d }, [sp], #16", .effects = {SET(SP, SP, 16)}},
        {0x4cdf87e0, "ld2 { v0.8h, v1.8h }, [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0x4cdfa7e0, "ld1 { v0.8h, v1.8h }, [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0x0ddf0fe0, "ld1 { v0.b }[3], [sp], #1", .effects = {SET(SP, SP, 1)}},
        {0x0ddf7be0, "ld3 { v0.h, v1.h, v2.h }[3], [sp], #6", .effects = {SET(SP, SP, 6)}},
        {0x0dff93e0, "ld2 { v0.s, v1.s }[1], [sp], #8", .effects = {SET(SP, SP, 8)}},
        {0x4dffa7e0, "ld4 { v0.d, v1.d, v2.d, v3.d }[1], [sp], #32", .effects = {SET(SP, SP, 32)}},
        {0x4ddfc7e0, "ld1r { v0.8h }, [sp], #2", .effects = {SET(SP, SP, 2)}},
        {0x4dffebe0, "ld4r { v0.4s, v1.4s, v2.4s, v3.4s }, [sp], #16", .effects = {SET(SP, SP, 16)}},
        {0x4d00a7e0, "st3 { v0.d, v1.d, v2.d }[1], [sp]", .effects = {UNKNOWN(SP, 0), UNKNOWN(SP, 8), UNKNOWN(SP, 16)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* FEAT_LSUI, which neither LLVM 19 nor Unicorn knows (text of LLVM's own test armv9.6a-lsui.s). */
START_TEST(unprivileged) {
    static const struct expectation table[] = {
        {0xc95f7fe9, "ldtxr x9, [sp]", .effects = {LOAD(9, SP, 0)}},
        {0xc9057ce6, "sttxr w5, x6, [x7]", .clobbers = X(5), .effects = {UNKNOWN(7, 0)}},
        {0xc9807c41, "cast x0, x1, [x2]", .clobbers = X(0), .effects = {UNKNOWN(2, 0)}},
        {0x49807c82, "caspt x0, x1, x2, x3, [x4]", .clobbers = X(0) | X(1), .effects = {UNKNOWN(4, 0), UNKNOWN(4, 8)}},
        {0x592a8509, "swpt x10, x9, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0x592a0509, "ldtadd x10, x9, [x8]", .clobbers = X(9), .effects = {UNKNOWN(8, 0)}},
        {0xe8dff455, "ldtp x21, x29, [x2], #504", .effects = {LOAD(21, 2, 0), LOAD(29, 2, 8), SET(2, 2, 504)}},
        {0xe98097e3, "sttp x3, x5, [sp, #8]!", .effects = {STORE(3, SP, 8), STORE(5, SP, 16), SET(SP, SP, 8)}},
        {0xed8017e3, "sttp q3, q5, [sp, #0]!",
         .effects = {UNKNOWN(SP, 0), UNKNOWN(SP, 8), UNKNOWN(SP, 16), UNKNOWN(SP, 24), SET(SP, SP, 0)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(branches) {
    static const struct expectation table[] = {
        {0x17fffffe, "b #-8", .flow = USPI_JUMP, .target = PC - 8},
        {0x94040000, "bl #1048576", .flow = USPI_CALL, .target = PC + 1048576, .clobbers = X(30)},
        {0xd63f0100, "blr x8", .flow = USPI_CALL, .clobbers = X(30)},
        {0xd73f0911, "blraa x8, x17", .flow = USPI_CALL, .clobbers = X(30)},
        {0xd63f0d1f, "blrabz x8", .flow = USPI_CALL, .clobbers = X(30)},
        {0xd61f0200, "br x16", .flow = USPI_JUMP_UNKNOWN, .reg = 16},
        {0xd71f0a11, "braa x16, x17", .flow = USPI_JUMP_UNKNOWN, .reg = 16},
        {0xd61f0c3f, "brabz x1", .flow = USPI_JUMP_UNKNOWN, .reg = 1},
        {0x54000040, "b.eq #8", .flow = USPI_BRANCH, .target = PC + 8},
        {0x54000051, "bc.ne #8", .flow = USPI_BRANCH, .target = PC + 8},
        {0x5400004e, "b.al #8", .flow = USPI_JUMP, .target = PC + 8},
        {0xb4000080, "cbz x0, #16", .flow = USPI_BRANCH, .target = PC + 16},
        {0x35ffff80, "cbnz w0, #-16", .flow = USPI_BRANCH, .target = PC - 16},
        {0xb6f80080, "tbz x0, #63, #16", .flow = USPI_BRANCH, .target = PC + 16},
        {0x3707ff80, "tbnz w0, #0, #-16", .flow = USPI_BRANCH, .target = PC - 16},
        {0x74052005, "cbgt w5, w5, #-1024", .flow = USPI_BRANCH, .target = PC - 1024},
        {0xf51f9fe5, "cbgt x5, #63, #1020", .flow = USPI_BRANCH, .target = PC + 1020},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(exceptions_and_system) {
    static const struct expectation table[] = {
        {0xd4200020, "brk #0x1", .flow = USPI_END},
        {0xd4400000, "hlt #0", .flow = USPI_END},
        {0x00000000, "udf #0", .flow = USPI_END},
        {0xd4000002, "hvc #0", .flow = USPI_END},
        {0xd4000001, "svc #0", .clobbers = X(0) | X(1)},
        {0xd4001001, "svc #0x80", .clobbers = X(0) | X(1)},
        {0xd53bd049, "mrs x9, TPIDR_EL0", .clobbers = X(9)},
        {0xd51bd049, "msr TPIDR_EL0, x9", .clobbers = 0},
        {0xd503201f, "nop", .clobbers = 0},
        {0xd503205f, "wfe", .clobbers = 0},
        {0xd5033bbf, "dmb ish", .clobbers = 0},
        {0xd503241f, "bti", .clobbers = 0},
        {0xd503249f, "bti j", .clobbers = 0},
        {0xd503245f, "bti c", .start_hint = 1},
        {0xd50324df, "bti jc", .start_hint = 1},
        {0xd503251f, "chkfeat x16", .clobbers = X(16)},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* Signing must not count as a change of a register; only the forms used in prologues mark a function's start. */
START_TEST(signatures) {
    static const struct expectation table[] = {
        {0xd503233f, "paciasp", .start_hint = 1, .effects = {SET(30, 30, 0)}},
        {0xd503237f, "pacibsp", .start_hint = 1, .effects = {SET(30, 30, 0)}},
        {0xd50323bf, "autiasp", .effects = {SET(30, 30, 0)}},
        {0xd50323ff, "autibsp", .effects = {SET(30, 30, 0)}},
        {0xd503235f, "pacibz", .effects = {SET(30, 30, 0)}},
        {0xd50320ff, "xpaclri", .effects = {SET(30, 30, 0)}},
        {0xd503211f, "pacia1716", .effects = {SET(17, 17, 0)}},
        {0xd503215f, "pacib1716", .effects = {SET(17, 17, 0)}},
        {0xd503219f, "autia1716", .effects = {SET(17, 17, 0)}},
        {0xd50321df, "autib1716", .effects = {SET(17, 17, 0)}},
        {0xdac18bfe, "pacia171615", .effects = {SET(17, 17, 0)}},
        {0xdac1bffe, "autib171615", .effects = {SET(17, 17, 0)}},
        {0xdac1079e, "pacib x30, x28", .effects = {SET(30, 30, 0)}},
        {0xdac1179e, "autib x30, x28", .effects = {SET(30, 30, 0)}},
        {0xdac143fe, "xpaci x30", .effects = {SET(30, 30, 0)}},
        {0x9ac73109, "pacga x9, x8, x7", .clobbers = X(9)},
        {0xdac1a3fe, "paciasppc", .start_hint = 1, .effects = {SET(30, 30, 0)}},
        {0xdac1a7fe, "pacibsppc", .start_hint = 1, .effects = {SET(30, 30, 0)}},
        {0xf3a0003f, "autibsppc #-4", .effects = {SET(30, 30, 0)}},
        {0xdac1961e, "autibsppcr x16", .effects = {SET(30, 30, 0)}},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

/* Setting or clearing the mark of a Swift async frame must not count as a change of x29; similar operations must. */
START_TEST(async_mark) {
    static const struct expectation table[] = {
        {0xb24403bd, "orr x29, x29, #0x1000000000000000", .effects = {SET(29, 29, 0)}},
        {0x9243fbbd, "and x29, x29, #0xefffffffffffffff", .effects = {SET(29, 29, 0)}},
        {0xaa1003bd, "orr x29, x29, x16", .effects = {SET(29, 29, 0)}},
        {0xb244039c, "orr x28, x28, #0x1000000000000000", .clobbers = X(28)},
        {0xaa1103bd, "orr x29, x29, x17", .clobbers = X(29)},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(plain_results) {
    static const struct expectation table[] = {
        {0x9b071909, "madd x9, x8, x7, x6", .clobbers = X(9)},
        {0x9a870109, "csel x9, x8, x7, eq", .clobbers = X(9)},
        {0xfa480120, "ccmp x9, x8, #0, eq", .clobbers = 0},
        {0xd3410909, "ubfx x9, x8, #1, #2", .clobbers = X(9)},
        {0x93c70d09, "extr x9, x8, x7, #3", .clobbers = X(9)},
        {0x918107e9, "addg x9, sp, #16, #1", .clobbers = X(9)},
        {0x9a072109, "addpt x9, x8, x7", .effects = {ADD(9, 8, 7)}},
        {0x4e183c09, "mov x9, v0.d[1]", .clobbers = X(9)},
        {0x9e660009, "fmov x9, d0", .clobbers = X(9)},
        {0x9e670120, "fmov d0, x9", .clobbers = 0},
        {0x9e780009, "fcvtzs x9, d0", .clobbers = X(9)},
        {0x1e622820, "fadd d0, d1, d2", .clobbers = 0},
        {0x04bf5029, "rdvl x9, #1", .clobbers = X(9)},
        {0x04e0e3e9, "cntd x9", .clobbers = X(9)},
        {0x0430e3e9, "incb x9", .clobbers = X(9)},
        {0xc04c03e9, "movt x9, zt0[0]", .clobbers = X(9)},
    };
    EXPECT_ALL(arm64, table);
}
END_TEST

START_TEST(not_instructions) {
    static const uint32_t words[] = {
        0x02000000, /* bits 28:25 = 1: reserved */
        0x06000000, /* bits 28:25 = 3: reserved */
        0x00010000, /* reserved, not udf */
        0xd4000000, /* exception generation without a level */
        0xd6000000, /* branch to register whose second opcode is not ones */
        0x9240fc00, /* logical immediate of 64 ones */
        0x12007c00, /* logical immediate of 32 ones */
        0x1200fc00, /* logical immediate that names no size */
        0x32800000, /* move wide, opcode 1 */
        0x12c00000, /* movn of a w register, shifted by 32 */
    };
    struct uspi_instruction i;
    for (size_t n = 0; n < sizeof words / sizeof *words; n++) {
        uint8_t bytes[4] = {(uint8_t)words[n], (uint8_t)(words[n] >> 8), (uint8_t)(words[n] >> 16),
                            (uint8_t)(words[n] >> 24)};
        ck_assert_msg(!arm64->decode(bytes, sizeof bytes, PC, 0, &i), "%08x", words[n]);
    }
    static const uint8_t ret[4] = {0xc0, 0x03, 0x5f, 0xd6};
    for (size_t n = 0; n < 4; n++) ck_assert_msg(!arm64->decode(ret, n, PC, 0, &i), "%zu bytes", n);
    ck_assert(arm64->decode(ret, 4, PC, 0, &i));
}
END_TEST

static bool follows_call(uint32_t word, size_t n, usp_addr *target) {
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    return arm64->follows_call(bytes + 4 - n, n, PC, false, target);
}

START_TEST(calls_before_return_addresses) {
    usp_addr target = 1;
    ck_assert(follows_call(0x97ffffff, 4, &target)); /* bl #-4 */
    ck_assert_uint_eq(target, PC - 8);
    ck_assert(follows_call(0x94000004, 4, &target)); /* bl #16 */
    ck_assert_uint_eq(target, PC + 12);
    static const uint32_t indirect[] = {
        0xd63f0100, /* blr x8 */
        0xd73f0911, /* blraa x8, x17 */
        0xd63f0d1f, /* blrabz x8 */
    };
    for (size_t n = 0; n < sizeof indirect / sizeof *indirect; n++) {
        target = 1;
        ck_assert_msg(follows_call(indirect[n], 4, &target), "%08x", indirect[n]);
        ck_assert_uint_eq(target, 0);
    }
    static const uint32_t others[] = {
        0x17ffffff, /* b #-4 */
        0xd61f0200, /* br x16 */
        0xd65f03c0, /* ret */
        0xd503201f, /* nop */
        0xd4000001, /* svc #0 */
        0x02000000, /* reserved */
    };
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        target = 1;
        ck_assert_msg(!follows_call(others[n], 4, &target), "%08x", others[n]);
        ck_assert_uint_eq(target, 0);
    }
    for (size_t n = 0; n < 4; n++) ck_assert(!follows_call(0x97ffffff, n, &target));
}
END_TEST

int main(void) {
    TCase *all = tcase_create("arm64");
    add_tests(all, constants, thread_states, signal_stub, prologues, epilogues, loads_of_their_own_base, large_frames,
              register_31, other_stores, other_loads, atomics, vector_structures, unprivileged, branches,
              exceptions_and_system, signatures, async_mark, plain_results, not_instructions,
              calls_before_return_addresses);
    return run_suite("arm64", all);
}
