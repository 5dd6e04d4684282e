/* SPDX-License-Identifier: MIT */
/* Walks by ARM's exception tables over a target that the test builds. test_ehabi.c tests what a table's program means,
 * tests/emulated/ tests whole programs. */
#include "tests/support/ehabi_table.h"
#include "tests/support/golden.h"
#include "tests/support/range.h"
#include "tests/support/suite.h"

#define STACK 0x7000u
#define ROOT  0x00300000u

/* Functions of build_ehabi_table: PUSHES pushes {r4, lr}; UNTOLD has no rule; PADS has one word more below {r7, lr}. */
#define PUSHES (CODE + 0x10 * INLINE)
#define UNTOLD (CODE + 0x10 * CANNOT)
#define PADS   (CODE + 0x10 * MODEL_0)

static struct builder table;
static struct usp_unwind_tables given;
static const usp_addr roots[] = {ROOT};

static int read_table(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    return read_range(BASE, table.bytes, table.size, from, to, n);
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < CODE || pc >= CODE + 0x1000) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static void free_table(void) { builder_free(&table); }

/* PUSHES   push {r4, lr}; bl; pop {r4, pc}
 * UNTOLD   nop; bl; nop
 * PADS     push {r7, lr}; sub sp, sp, #4; bl; … (called from it: PADS + 12) */
static struct fixture *begin_image(void) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_LINUX);
    table = build_ehabi_table();
    memset(&given, 0, sizeof given);
    given.image = BASE;
    given.exidx = (struct usp_memory_range){BASE, FUNCTIONS * 8};
    given.memory.read = read_table;
    CODE32(&f->memory, CODE, 0xe92d4010, 0xeb000000, 0xe8bd8010, 0xe320f000, 0xe320f000, 0xeb000000, 0xe320f000,
           0xe320f000, 0xe92d4080, 0xe24dd004, 0xeb000000, 0xe28dd004, 0xe8bd8080);
    f->target.unwind_tables_at = tables_at;
    f->target.roots = roots;
    f->target.root_count = 1;
    f->options.readers = USP_READER_EHABI | USP_READER_INSTRUCTIONS;
    return f;
}

/* The walk must be right at every instruction of the innermost function. */
START_TEST(bodies) {
    const bool in_prologue = _i == 0;
    const usp_addr pc = PUSHES + 4 * (usp_addr)_i;
    struct usp_cursor cursor;
    struct usp_registers registers;
    struct fixture *f = begin_image();
    WORDS(&f->memory, STACK, 4, 0x44, PADS + 12, 0, 0x77, ROOT, 0);
    set_registers(f, pc, in_prologue ? STACK + 8 : STACK, 0x5555);
    usp_registers_set_lr(&f->registers, in_prologue ? PADS + 12 : PUSHES + 8);
    EXPECT(f, USP_STOP_ROOT, pc, PADS + 12, ROOT);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 8);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 20);
    ck_assert_uint_eq(f->frames[1].method, in_prologue ? USP_FRAME_METHOD_LINK_REGISTER : USP_FRAME_METHOD_EHABI);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_EHABI);
    ck_assert_uint_eq(f->frames[2].fp, 0x77);
    ck_assert_int_eq(usp_cursor_init(&cursor, &f->target, &f->registers, &f->options), USP_OK);
    for (unsigned k = 0; k < 2; k++) ck_assert_int_eq(usp_cursor_step(&cursor, NULL), 1);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &registers), USP_OK);
    if (!in_prologue) ck_assert_uint_eq(registers.value[4], 0x44);
}
END_TEST

/* An entry that says "cannot be unwound" is not a rule, and the table must not count as corrupt. */
START_TEST(not_told) {
    struct fixture *f = begin_image();
    WORDS(&f->memory, STACK, 4, 0, 0, 0, PADS + 12, 0, 0x77, ROOT, 0);
    set_registers(f, UNTOLD + 4, STACK, STACK + 8);
    f->options.readers = USP_READER_EHABI;
    EXPECT(f, USP_STOP_NO_RECORD, UNTOLD + 4);
    ck_assert_uint_eq(f->stack.flags, 0);
    f->options.readers |= USP_READER_FRAME_RECORD;
    EXPECT(f, USP_STOP_ROOT, UNTOLD + 4, PADS + 12, ROOT);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_FRAME_POINTER);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_EHABI);
}
END_TEST

/* A program with a reserved instruction must count as corrupt. */
START_TEST(corrupt) {
    struct fixture *f = begin_image();
    patch(&table, 4, 4, 0x80b1b0b0);
    WORDS(&f->memory, STACK, 4, 0x44, PADS + 12, 0, 0x77, ROOT, 0);
    set_registers(f, PUSHES + 4, STACK, 0x5555);
    f->options.readers = USP_READER_EHABI;
    EXPECT(f, USP_STOP_CORRUPT_TABLE, PUSHES + 4);
    f->options.readers |= USP_READER_INSTRUCTIONS;
    EXPECT(f, USP_STOP_ROOT, PUSHES + 4, PADS + 12, ROOT);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_INSTRUCTIONS);
    ck_assert_uint_eq(f->stack.flags, USP_STACK_CORRUPT_TABLE);
    /* An index that ends within an entry. */
    given.exidx.size--;
    f->options.readers = USP_READER_EHABI;
    EXPECT(f, USP_STOP_CORRUPT_TABLE, PUSHES + 4);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("walks");
    tcase_add_checked_fixture(tests, NULL, free_table);
    tcase_add_loop_test(tests, bodies, 0, 3);
    add_tests(tests, not_told, corrupt);
    return run_suite("ehabi_reader", tests);
}
