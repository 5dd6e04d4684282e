/* SPDX-License-Identifier: MIT */
/* Tests stacks that call frame information leaves for another one: a function keeps its caller's stack pointer in fp,
 * changes sp to another stack and calls. Or the function saves the stack pointer on the new stack. */
#include "tests/support/golden.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define INNER  (CODE + 0x20)  /* in the function that runs on the innermost stack */
#define SWITCH (CODE + 0x120) /* in the function that changes the stack */
#define ROOT   (CODE + 0x220) /* in the outermost function */
#define MIDDLE UINT64_C(0x60000000)
#define STEP   UINT64_C(0x100000) /* distance of stacks */

/* The rules of each processor: CFA = sp + 2 slots, CFA = fp + 2 slots with fp below the return address; the outermost
 * function. */
static const struct processor {
    uint32_t arch;
    const char *cie, *by_fp, *outermost;
    uint8_t call[5]; /* a call */
    unsigned call_size;
    /* The caller's sp, the value of an expression: what the word two slots below the CFA holds, plus the size of a
     * return address that the call pushed. */
    const char *saved_sp;
} processors[] = {
    {USP_ARCH_X86_64,
     "01 78 10  0c 07 10 90 01",
     "0c 06 10 86 02",
     "07 10",
     {0xe8, 0, 1, 0, 0},
     5,
     "16 07 05 40 1c 06 23 08"},
    {USP_ARCH_I386,
     "01 7c 08  0c 04 08 88 01",
     "0c 05 08 85 02",
     "07 08",
     {0xe8, 0, 1, 0, 0},
     5,
     "16 04 05 38 1c 06 23 04"},
    {USP_ARCH_ARM64,
     "04 78 1e  0c 1f 10 9e 01",
     "0c 1d 10 9d 02",
     "07 1e",
     {0x40, 0, 0, 0x94},
     4,
     "16 1f 05 40 1c 06 23 00"},
    {USP_ARCH_ARMV7,
     "04 7c 0e  0c 0d 08 8e 01",
     "0c 0b 08 8b 02",
     "07 0e",
     {0x40, 0, 0, 0xeb},
     4,
     "16 0d 05 38 1c 06 23 00"},
};

static struct cfi c;
static struct usp_unwind_tables given;
static const struct processor *p;
static unsigned slot;

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < CODE || pc >= CODE + 0x1000) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static struct fixture *begin_tables_with(int i, bool saves_sp) {
    static const usp_addr calls[] = {INNER, SWITCH, ROOT};
    p = &processors[i];
    slot = uspi_backend_find(p->arch)->slot;
    struct fixture *f = begin(p->arch, USP_OS_LINUX);
    cfi_begin(&c, p->arch, true);
    const size_t cie = put_cie(&c, false, 1, "", p->cie);
    put_fde(&c, cie, INNER - 0x20, 0x40, "");
    put_fde(&c, cie, SWITCH - 0x20, 0x40, saves_sp ? p->saved_sp : p->by_fp);
    put_fde(&c, cie, ROOT - 0x20, 0x40, p->outermost);
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    f->target.unwind_tables_at = tables_at;
    for (unsigned k = 0; k < 3; k++) image_bytes(&f->memory, calls[k] - p->call_size, p->call, p->call_size);
    return f;
}

static struct fixture *begin_tables(int i) { return begin_tables_with(i, false); }

/* The frame of INNER on the innermost stack, called by SWITCH. */
static void begin_on(struct fixture *f, usp_addr stack, usp_addr fp) {
    WORDS(&f->memory, stack, slot, 0x11, SWITCH);
    set_registers(f, INNER, stack, p->arch == USP_ARCH_ARMV7 ? 0 : fp);
    if (p->arch == USP_ARCH_ARMV7) {
        f->registers.value[11] = fp;
        f->registers.known |= 1u << 11;
    }
}

/* What SWITCH saved on the stack that it left. */
static void put_left(struct fixture *f, usp_addr at, usp_addr fp, usp_addr caller) {
    WORDS(&f->memory, at, slot, fp, caller, 0, 0);
}

/* The older stack is above or below, and is within bounds that are known, outside them, or there are none. */
START_TEST(up_and_down) {
    for (unsigned k = 0; k < 6; k++) {
        const usp_addr older = k % 2 == 0 ? MIDDLE + STEP : MIDDLE - STEP;
        struct fixture *f = begin_tables(_i);
        begin_on(f, MIDDLE, older);
        put_left(f, older, 0, ROOT);
        if (k / 2 == 1) f->target.stack_low = MIDDLE - 0x1000, f->target.stack_high = MIDDLE + 0x1000;
        if (k / 2 == 2) f->target.stack_low = MIDDLE - 2 * STEP, f->target.stack_high = MIDDLE + 2 * STEP;
        EXPECT(f, USP_STOP_ROOT, INNER, SWITCH, ROOT);
        ck_assert_uint_eq(f->stack.flags & USP_STACK_CORRUPT_TABLE, 0);
        ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_CFI);
        ck_assert_uint_eq(f->frames[1].cfa, older + 2 * slot);
        builder_free(&c.bytes);
    }
}
END_TEST

/* The CFA is on the new stack, computed from sp, and the caller's sp is saved there. */
START_TEST(saved_stack_pointer) {
    for (unsigned k = 0; k < 4; k++) {
        const usp_addr older = k % 2 == 0 ? MIDDLE + STEP : MIDDLE - STEP;
        const usp_addr pushed = uspi_backend_find(processors[_i].arch)->call_push;
        struct fixture *f = begin_tables_with(_i, true);
        WORDS(&f->memory, MIDDLE, slot, 0x11, SWITCH, older, ROOT);
        WORDS(&f->memory, older - slot, slot, 0, 0, 0, 0);
        set_registers(f, INNER, MIDDLE, 0);
        if (k / 2 == 1) f->target.stack_low = MIDDLE - 0x1000, f->target.stack_high = MIDDLE + 0x1000;
        EXPECT(f, USP_STOP_ROOT, INNER, SWITCH, ROOT);
        ck_assert_uint_eq(f->stack.flags & USP_STACK_CORRUPT_TABLE, 0);
        ck_assert_uint_eq(f->frames[1].cfa, older + pushed);
        builder_free(&c.bytes);
    }
}
END_TEST

/* Each stack is below the previous one. Eight changes are followed, the ninth is not; no table is blamed. */
START_TEST(many_stacks) {
    for (unsigned changes = 8; changes <= 9; changes++) {
        struct fixture *f = begin_tables(_i);
        uint64_t words[IMAGE_BYTES / 4] = {0};
        const unsigned apart = IMAGE_BYTES / 16;
        for (unsigned k = 1; k <= changes; k++) {
            const unsigned at = (IMAGE_BYTES - k * apart) / slot;
            words[at] = MIDDLE - (k + 1) * apart;
            words[at + 1] = k == changes ? ROOT : SWITCH;
        }
        begin_on(f, MIDDLE, MIDDLE - apart);
        image_words(&f->memory, MIDDLE - IMAGE_BYTES, slot, words, IMAGE_BYTES / slot);
        walk(f);
        ck_assert_uint_eq(f->stack.flags & USP_STACK_CORRUPT_TABLE, 0);
        ck_assert_uint_eq(f->stack.count, 10);
        ck_assert_uint_eq(f->frames[9].pc, changes == 8 ? ROOT : SWITCH);
        ck_assert_int_eq(f->stack.stop == USP_STOP_ROOT, changes == 8);
        builder_free(&c.bytes);
    }
}
END_TEST

/* Two stacks that lead to each other: the walk does not come to the same frames again. */
START_TEST(two_stacks_in_a_circle) {
    struct fixture *f = begin_tables(_i);
    begin_on(f, MIDDLE, MIDDLE - STEP);
    put_left(f, MIDDLE - STEP, MIDDLE + 4u * slot, SWITCH);
    put_left(f, MIDDLE + 4u * slot, MIDDLE - STEP, SWITCH);
    walk(f);
    ck_assert_uint_eq(f->stack.count, 4);
    ck_assert_uint_ne(f->stack.stop, USP_STOP_ROOT);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_CORRUPT_TABLE, 0);
    builder_free(&c.bytes);
}
END_TEST

/* The other stack cannot be read, or has no return address: the walk ends. */
START_TEST(no_stack_there) {
    for (unsigned k = 0; k < 2; k++) {
        struct fixture *f = begin_tables(_i);
        begin_on(f, MIDDLE, MIDDLE - STEP);
        if (k == 1) put_left(f, MIDDLE - STEP, 0, ROOT + 8);
        walk(f);
        ck_assert_uint_eq(f->stack.count, 2);
        ck_assert_uint_ne(f->stack.stop, USP_STOP_ROOT);
        builder_free(&c.bytes);
    }
}
END_TEST

int main(void) {
    TCase *stacks = tcase_create("stacks");
    add_loop_tests(stacks, 0, ELEMENTS(processors), up_and_down, saved_stack_pointer, many_stacks,
                   two_stacks_in_a_circle, no_stack_there);
    return run_suite("changes of the stack", stacks);
}
