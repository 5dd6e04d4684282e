/* SPDX-License-Identifier: MIT */
/* Tests the backend arm64_32: its differences from arm64. The same code decodes the instructions; test_arm64 tests the
 * rest. */
#include "tests/arch/arm64_expect.h"
#include "tests/support/suite.h"

static const struct uspi_backend *const arm64_32 = &uspi_arm64_32;

START_TEST(constants) {
    ck_assert_uint_eq(arm64_32->arch, USP_ARCH_ARM64_32);
    ck_assert_uint_eq(arm64_32->register_count, 33);
    ck_assert_uint_eq(arm64_32->fp, 29);
    ck_assert_uint_eq(arm64_32->lr, 30);
    ck_assert_uint_eq(arm64_32->sp, 31);
    ck_assert_uint_eq(arm64_32->pc, 32);
    ck_assert_uint_eq(arm64_32->word, 4);
    ck_assert_uint_eq(arm64_32->slot, 8);
    ck_assert_uint_eq(arm64_32->red_zone, 128);
    ck_assert(!arm64_32->has_signatures && arm64_32->has_async && !arm64_32->has_thumb);
    ck_assert(arm64_32->word_mask == UINT32_MAX);
    ck_assert(arm64_32->callee_saved == uspi_arm64.callee_saved);
    ck_assert_uint_eq(arm64_32->stub_count, 0);
}
END_TEST

START_TEST(thread_states) {
    ck_assert_uint_eq(arm64_32->state_count, 3);
    expect_file_at(arm64_32, USP_THREAD_STATE_MACH + 6, 0, 272);
    expect_file_at(arm64_32, USP_THREAD_STATE_DARWIN_MCONTEXT, 16, 16 + 272);
    const struct uspi_state_layout *unified = find_state(arm64_32, USP_THREAD_STATE_MACH + 1);
    ck_assert(unified != NULL && unified->unified && unified->run_count == 0);
}
END_TEST

/* Frames are made with x registers, as on arm64. */
START_TEST(frames) {
    static const struct expectation table[] = {
        {0xa9bf7bfd, "stp x29, x30, [sp, #-16]!", .effects = {STORE(29, SP, -16), STORE(30, SP, -8), SET(SP, SP, -16)}},
        {0x910003fd, "mov x29, sp", .effects = {SET(29, SP, 0)}},
        {0xd140c3ff, "sub sp, sp, #48, lsl #12", .effects = {SET(SP, SP, -48 * 4096)}},
        {0xa8c17bfd, "ldp x29, x30, [sp], #16", .effects = {LOAD(29, SP, 0), LOAD(30, SP, 8), SET(SP, SP, 16)}},
        {0xd65f03c0, "ret", .flow = USPI_RETURN, .reg = 30},
        {0xb24403bd, "orr x29, x29, #0x1000000000000000", .effects = {SET(29, 29, 0)}},
        {0xb0000009, "adrp x9, #4096", .effects = {CONSTANT(9, PC + 4096)}},
        {0x94040000, "bl #1048576", .flow = USPI_CALL, .target = PC + 1048576, .clobbers = X(30)},
    };
    EXPECT_ALL(arm64_32, table);
}
END_TEST

/* Pointers are the low halves of registers, so that 32-bit forms must keep them whole. */
START_TEST(pointers_in_w_registers) {
    static const struct expectation table[] = {
        {0x2a0803e9, "mov w9, w8", .effects = {SET(9, 8, 0)}},
        {0x11001109, "add w9, w8, #4", .effects = {SET(9, 8, 4)}},
        {0xcb2c63ff, "sub sp, sp, x12", .effects = {SUBTRACT(SP, SP, 12)}},
        {0xcb2943ff, "sub sp, sp, w9, uxtw", .effects = {SUBTRACT(SP, SP, 9)}},
        {0x12800029, "mov w9, #-2", .effects = {CONSTANT(9, 0xfffffffe)}},
        {0x72a0006c, "movk w12, #3, lsl #16", .effects = {INSERT(12, 16, 3), INSERT(12, 32, 0), INSERT(12, 48, 0)}},
        {0xb94007e9, "ldr w9, [sp, #4]", .effects = {LOAD(9, SP, 4)}},
        {0xb98007e9, "ldrsw x9, [sp, #4]", .effects = {LOAD(9, SP, 4)}},
        {0x294127e8, "ldp w8, w9, [sp, #8]", .effects = {LOAD(8, SP, 8), LOAD(9, SP, 12)}},
        {0x694127e8, "ldpsw x8, x9, [sp, #8]", .effects = {LOAD(8, SP, 8), LOAD(9, SP, 12)}},
        {0x18000089, "ldr w9, #16", .effects = {LITERAL(9, PC + 16)}},
        {0xb9000fe0, "str w0, [sp, #12]", .effects = {STORE(0, SP, 12)}},
        {0x290127e8, "stp w8, w9, [sp, #8]", .effects = {STORE(8, SP, 8), STORE(9, SP, 12)}},
        {0xb9000fff, "str wzr, [sp, #12]", .effects = {UNKNOWN(SP, 12)}},
        {0x39007fff, "strb wzr, [sp, #31]", .effects = {UNKNOWN(SP, 28)}},
        {0x3d8007e0, "str q0, [sp, #16]",
         .effects = {UNKNOWN(SP, 16), UNKNOWN(SP, 20), UNKNOWN(SP, 24), UNKNOWN(SP, 28)}},
        {0x394013e9, "ldrb w9, [sp, #4]", .clobbers = X(9)},
    };
    EXPECT_ALL(arm64_32, table);
}
END_TEST

/* The instruction with the most effects: it stores four vectors and changes the base. */
START_TEST(longest) {
    static const uint8_t st1[4] = {0xe8, 0x2f, 0x9f, 0x4c}; /* st1 { v8.2d - v11.2d }, [sp], #64 */
    struct uspi_instruction i;
    ck_assert(arm64_32->decode(st1, sizeof st1, PC, 0, &i));
    ck_assert_uint_eq(i.effect_count, 17);
    for (unsigned n = 0; n < 16; n++) {
        ck_assert_uint_eq(i.effects[n].op, USPI_STORE);
        ck_assert_int_eq(i.effects[n].value, 4 * (int)n);
    }
    ck_assert_uint_eq(i.effects[16].op, USPI_SET);
    ck_assert_int_eq(i.effects[16].value, 64);
}
END_TEST

/* Addresses must wrap at 32 bits. */
START_TEST(end_of_the_address_space) {
    static const uint8_t forward[4] = {0x04, 0x00, 0x00, 0x14};  /* b #16 */
    static const uint8_t backward[4] = {0xfe, 0xff, 0xff, 0x17}; /* b #-8 */
    struct uspi_instruction i;
    ck_assert(arm64_32->decode(forward, sizeof forward, UINT64_C(0xfffffff8), 0, &i));
    ck_assert_uint_eq(i.target, 8);
    ck_assert(arm64_32->decode(backward, sizeof backward, 4, 0, &i));
    ck_assert_uint_eq(i.target, UINT64_C(0xfffffffc));
}
END_TEST

START_TEST(calls_before_return_addresses) {
    static const uint8_t bl[4] = {0xff, 0xff, 0xff, 0x97}; /* bl #-4 */
    static const uint8_t b[4] = {0xff, 0xff, 0xff, 0x17};  /* b #-4 */
    usp_addr target = 1;
    ck_assert(arm64_32->follows_call(bl, sizeof bl, PC, false, &target));
    ck_assert_uint_eq(target, PC - 8);
    ck_assert(!arm64_32->follows_call(b, sizeof b, PC, false, &target));
    ck_assert_uint_eq(target, 0);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("arm64_32");
    add_tests(all, constants, thread_states, frames, longest, pointers_in_w_registers, end_of_the_address_space,
              calls_before_return_addresses);
    return run_suite("arm64_32", all);
}
