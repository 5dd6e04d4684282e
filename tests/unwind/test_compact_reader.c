/* SPDX-License-Identifier: MIT */
/* Walks by compact unwind over a target that the test builds: arm64, laid out as Apple's linker does. test_compact.c
 * tests what each encoding means, tests/emulated/ tests whole programs. */
#include "tests/support/golden.h"
#include "tests/support/range.h"
#include "tests/support/suite.h"
#include "tests/support/unwind_info.h"
#include "tests/unwind/cfi_builder.h"

#define IMAGE UINT64_C(0x400000)
#define INFO  UINT64_C(0x600000)
#define STACK UINT64_C(0x7000)
#define ROOT  UINT64_C(0x409000)

/* The functions of build_unwind_info: one with a frame record, one without, one described by CFI. */
#define FRAMED    (IMAGE + 0x1000)
#define FRAMELESS (IMAGE + 0x1010)
#define BY_CFI    (IMAGE + 0x1200)

/* fp and lr are saved on top, x19 and x20 below; and a frame of 32 bytes without saved registers. */
#define FRAME_ENCODING     0x04000001u
#define FRAMELESS_ENCODING 0x02002000u
#define CFI_ENCODING       0x03000000u

static struct cfi c;
static struct builder info;
static struct usp_unwind_tables given;
static const usp_addr roots[] = {ROOT};

static int read_table(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    return from < INFO ? cfi_read(&c.bytes, from, to, n) : read_range(INFO, info.bytes, info.size, from, to, n);
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < IMAGE || pc >= IMAGE + 0x4000) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static void free_tables(void) {
    builder_free(&c.bytes);
    builder_free(&info);
}

/* FRAMED       … bl; (returns to FRAMED + 8)
 * FRAMELESS    sub sp, sp, #32; nop; add sp, sp, #32; ret
 * BY_CFI       stp x29, x30, [sp, #-32]!; bl; ldp x29, x30, [sp], #32; ret */
static struct fixture *begin_image(uint32_t first_encoding) {
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    cfi_begin(&c, USP_ARCH_ARM64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 1e  0c 1f 00");
    /* A search would find this FDE first. */
    put_fde(&c, cie, BY_CFI, 0x40, "0e 80 04");
    size_t fde = put_fde(&c, cie, BY_CFI, 0x40, "44 0e 20 9d 04 9e 03");
    info = build_unwind_info((const uint32_t[]){first_encoding, FRAMELESS_ENCODING, CFI_ENCODING | (uint32_t)fde});
    memset(&given, 0, sizeof given);
    given.image = IMAGE;
    given.unwind_info = (struct usp_memory_range){INFO, info.size};
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory.read = read_table;
    CODE32(&f->memory, FRAMED, 0xd503201f, 0x94000000, 0xd503201f, 0xd65f03c0, 0xd10083ff, 0xd503201f, 0x910083ff,
           0xd65f03c0);
    CODE32(&f->memory, BY_CFI, 0xa9be7bfd, 0x94000000, 0xa8c27bfd, 0xd65f03c0);
    f->target.unwind_tables_at = tables_at;
    f->target.roots = roots;
    f->target.root_count = 1;
    f->options.readers = USP_READER_COMPACT | USP_READER_CFI | USP_READER_INSTRUCTIONS;
    return f;
}

static uint64_t register_of_frame(const struct fixture *f, unsigned frame, unsigned reg) {
    struct usp_cursor cursor;
    struct usp_registers registers;
    ck_assert_int_eq(usp_cursor_init(&cursor, &f->target, &f->registers, &f->options), USP_OK);
    for (unsigned i = 0; i <= frame; i++) ck_assert_int_eq(usp_cursor_step(&cursor, NULL), 1);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &registers), USP_OK);
    ck_assert((registers.known >> reg & 1) != 0);
    return registers.value[reg];
}

/* The encoding is right in the body of a function without a frame record, and wrong at its first and last
 * instruction. */
START_TEST(frameless) {
    const bool in_body = _i == 1 || _i == 2;
    const usp_addr pc = FRAMELESS + 4 * (usp_addr)_i;
    struct fixture *f = begin_image(FRAME_ENCODING);
    WORDS(&f->memory, STACK, 8, 1, 2, 3, 4, 0, 0, 0xa20, 0xa19, 0, ROOT, 0);
    set_registers(f, pc, in_body ? STACK : STACK + 32, STACK + 0x40);
    usp_registers_set_lr(&f->registers, FRAMED + 8);
    EXPECT(f, USP_STOP_ROOT, pc, FRAMED + 8, ROOT);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
    ck_assert_uint_eq(f->frames[1].method, in_body ? USP_FRAME_METHOD_COMPACT : USP_FRAME_METHOD_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 0x50);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_COMPACT);
    ck_assert_uint_eq(register_of_frame(f, 2, 19), 0xa19);
    ck_assert_uint_eq(register_of_frame(f, 2, 20), 0xa20);
    ck_assert_uint_eq(f->stack.flags, 0);
}
END_TEST

/* The reader must use the FDE that the encoding names. That FDE does not describe the epilogue. */
START_TEST(by_cfi) {
    struct fixture *f = begin_image(FRAME_ENCODING);
    WORDS(&f->memory, STACK, 8, 0x29, ROOT, 0, 0, 0);
    set_registers(f, BY_CFI + 4, STACK, 0x5555);
    usp_registers_set_lr(&f->registers, BY_CFI + 8);
    EXPECT(f, USP_STOP_ROOT, BY_CFI + 4, ROOT);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    ck_assert_uint_eq(f->frames[1].fp, 0x29);
    set_registers(f, BY_CFI + 12, STACK + 32, 0x29);
    usp_registers_set_lr(&f->registers, ROOT);
    EXPECT(f, USP_STOP_ROOT, BY_CFI + 12, ROOT);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_LINK_REGISTER);
    /* The function as a caller. */
    WORDS(&f->memory, STACK - 32, 8, 1, 2, 3, 4);
    set_registers(f, FRAMELESS + 4, STACK - 32, 0x5555);
    usp_registers_set_lr(&f->registers, BY_CFI + 8);
    EXPECT(f, USP_STOP_ROOT, FRAMELESS + 4, BY_CFI + 8, ROOT);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_CFI);
    /* CFI may be used only if the options name its reader. */
    f->options.readers = USP_READER_COMPACT;
    EXPECT(f, USP_STOP_NO_RECORD, FRAMELESS + 4, BY_CFI + 8);
}
END_TEST

/* A mode that does not exist: the next reader must take over, and the stack must report the corrupt table. */
START_TEST(corrupt) {
    struct fixture *f = begin_image(0x0f000000);
    WORDS(&f->memory, STACK, 8, 1, 2, 3, 4, 0, ROOT, 0);
    set_registers(f, FRAMED + 4, STACK, STACK + 32);
    f->options.readers = USP_READER_COMPACT | USP_READER_FRAME_RECORD;
    EXPECT(f, USP_STOP_ROOT, FRAMED + 4, ROOT);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_FRAME_POINTER);
    ck_assert_uint_eq(f->stack.flags, USP_STACK_CORRUPT_TABLE);
    f->options.readers = USP_READER_COMPACT;
    EXPECT(f, USP_STOP_CORRUPT_TABLE, FRAMED + 4);
    /* A record below the known stack must not be believed either. */
    f->options.readers |= USP_READER_FRAME_RECORD;
    set_registers(f, FRAMED + 4, STACK + 48, STACK + 32);
    EXPECT(f, USP_STOP_CORRUPT_TABLE, FRAMED + 4);
}
END_TEST

/* With tables alone the body's rule must apply at every instruction of the function. */
START_TEST(without_instructions) {
    struct fixture *f = begin_image(FRAME_ENCODING);
    WORDS(&f->memory, STACK, 8, 1, 2, 3, 4, 0, 0, 0xa20, 0xa19, 0, ROOT, 0);
    f->options.readers = USP_READER_TABLES;
    set_registers(f, FRAMELESS + 4, STACK, STACK + 0x40);
    usp_registers_set_lr(&f->registers, FRAMED + 8);
    EXPECT(f, USP_STOP_ROOT, FRAMELESS + 4, FRAMED + 8, ROOT);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_COMPACT);
    f->options.readers = USP_READER_FRAME_RECORD;
    EXPECT(f, USP_STOP_ROOT, FRAMELESS + 4, ROOT);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("walks");
    tcase_add_checked_fixture(tests, NULL, free_tables);
    tcase_add_loop_test(tests, frameless, 0, 4);
    add_tests(tests, by_cfi, corrupt, without_instructions);
    return run_suite("compact_reader", tests);
}
