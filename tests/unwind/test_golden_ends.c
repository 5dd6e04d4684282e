/* SPDX-License-Identifier: MIT */
/* Tests the ends of stacks whose outermost function no table calls outermost: those that a program made by hand, and the
 * first one of a process whose C library has no tables for its start (musl). And stacks that would end in generated code,
 * whose frames no reader understands. */
#include "lib/unwind/unwind.h"
#include "tests/support/golden.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define INNER (CODE + 0x20)  /* in the function that was interrupted */
#define FIRST (CODE + 0x120) /* in the first function of the stack */
#define ENDS  (CODE + 0x200) /* the function to which it is to return */
#define LAST  (CODE + 0x280) /* in code that no function calls */
#define BARE  (CODE + 0x320) /* in a function that no table describes */
#define ENTRY (CODE + 0x400) /* the program's entry point */
#define STACK UINT64_C(0x60000000)

/* The rules of each processor: CFA = sp + 2 slots, with the return address below it. */
static const struct processor {
    uint32_t arch;
    const char *cie;
    uint8_t call[5]; /* a call */
    unsigned call_size;
    usp_addr callee; /* what the call before FIRST calls: near ENDS + 0x20 */
    uint8_t jump[4]; /* a jump through a register */
} processors[] = {
    {USP_ARCH_X86_64, "01 78 10  0c 07 10 90 01", {0xe8, 0, 1, 0, 0}, 5, FIRST + 0x100, {0xff, 0xe0}},
    {USP_ARCH_I386, "01 7c 08  0c 04 08 88 01", {0xe8, 0, 1, 0, 0}, 5, FIRST + 0x100, {0xff, 0xe0}},
    {USP_ARCH_ARM64, "04 78 1e  0c 1f 10 9e 01", {0x40, 0, 0, 0x94}, 4, FIRST + 0xfc, {0x60, 0, 0x1f, 0xd6}},
    {USP_ARCH_ARMV7, "04 7c 0e  0c 0d 08 8e 01", {0x40, 0, 0, 0xeb}, 4, FIRST + 0x104, {0x13, 0xff, 0x2f, 0xe1}},
};

/* The instruction that states that there is no return address. */
static const char *const undefined[] = {"07 10", "07 08", "07 1e", "07 0e"};

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

/* Makes a frame of INNER, called by a function at `caller`, and a frame pointer that is only a number. */
static struct fixture *begin_stack(int i, usp_addr caller) {
    static const usp_addr calls[] = {INNER, FIRST, BARE, ENTRY + 0x20};
    p = &processors[i];
    slot = uspi_backend_find(p->arch)->slot;
    struct fixture *f = begin(p->arch, USP_OS_LINUX);
    cfi_begin(&c, p->arch, true);
    const size_t cie = put_cie(&c, false, 1, "", p->cie);
    put_fde(&c, cie, INNER - 0x20, 0x40, "");
    put_fde(&c, cie, FIRST - 0x20, 0x40, "");
    put_fde(&c, cie, ENDS, 0x40, "");
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    f->target.unwind_tables_at = tables_at;
    for (unsigned k = 0; k < ELEMENTS(calls); k++)
        image_bytes(&f->memory, calls[k] - p->call_size, p->call, p->call_size);
    set_registers(f, INNER, STACK, 1);
    WORDS(&f->memory, STACK, slot, 0x11, caller);
    return f;
}

/* The return address of the first function is 0, or the start of a function that a table describes. */
START_TEST(made_by_hand) {
    static const usp_addr addresses[] = {0, ENDS};
    for (unsigned k = 0; k < ELEMENTS(addresses); k++) {
        struct fixture *f = begin_stack(_i, FIRST);
        WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, addresses[k], 0, 0);
        CODE32(&f->memory, ENDS - 4, 0, 0, 0);
        EXPECT(f, USP_STOP_ROOT, INNER, FIRST);
        builder_free(&c.bytes);
    }
}
END_TEST

/* So is code that no table describes and that follows a return or an indirect jump: i386's makecontext. It is damage
 * after another instruction. */
START_TEST(made_by_hand_without_a_table) {
    static const char *const code[][4] = {{"c3", "c3", "c0 03 5f d6", "1e ff 2f e1"},
                                          {"ff e0", "ff e0", "60 00 1f d6", "13 ff 2f e1"},
                                          {"90", "90", "1f 20 03 d5", "00 00 a0 e1"}};
    for (unsigned k = 0; k < ELEMENTS(code); k++) {
        struct fixture *f = begin_stack(_i, FIRST);
        WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, LAST + 0x20, 0, 0);
        uint8_t bytes[0x28] = {0};
        struct builder b = {0};
        put_hex(&b, code[k][_i]);
        memcpy(bytes + 0x20 - b.size, b.bytes, b.size);
        image_bytes(&f->memory, LAST, bytes, sizeof bytes);
        builder_free(&b);
        EXPECT(f, k < 2 ? USP_STOP_ROOT : USP_STOP_RA_NOT_CODE, INNER, FIRST);
        builder_free(&c.bytes);
    }
}
END_TEST

/* The same frame, with a frame pointer to a frame record on another stack, is the outermost one, too. */
START_TEST(frame_pointer_of_another_stack) {
    struct fixture *f = begin_stack(_i, FIRST);
    WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, ENDS, 0, 0);
    WORDS(&f->memory, STACK + 0x10000, slot, 0, BARE, 0, 0);
    CODE32(&f->memory, ENDS - 4, 0, 0, 0);
    set_registers(f, INNER, STACK, STACK + 0x10000);
    EXPECT(f, USP_STOP_ROOT, INNER, FIRST);
    builder_free(&c.bytes);
}
END_TEST

/* Any other address that follows no call shows that the stack is damaged. That counts more than the frame pointer. */
START_TEST(damaged) {
    static const usp_addr addresses[] = {ENDS + 8, STACK + 0x100};
    for (unsigned k = 0; k < ELEMENTS(addresses); k++) {
        struct fixture *f = begin_stack(_i, FIRST);
        f->target.stack_low = STACK, f->target.stack_high = STACK + 0x1000;
        WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, addresses[k], 0, 0);
        CODE32(&f->memory, ENDS - 4, 0, 0, 0, 0, 0, 0);
        EXPECT(f, USP_STOP_RA_NOT_CODE, INNER, FIRST);
        ck_assert_uint_eq(f->stack.stop_address, addresses[k]);
        builder_free(&c.bytes);
    }
}
END_TEST

/* So it does if the frame pointer points to a frame record on another stack: i386's makecontext returns into its own
 * middle. */
START_TEST(damaged_with_another_stack) {
    struct fixture *f = begin_stack(_i, FIRST);
    WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, ENDS + 8, 0, 0);
    WORDS(&f->memory, STACK + 0x200000, slot, 0, BARE, 0, 0);
    CODE32(&f->memory, ENDS - 4, 0, 0, 0, 0, 0, 0);
    set_registers(f, INNER, STACK, STACK + 0x200000);
    EXPECT(f, USP_STOP_RA_NOT_CODE, INNER, FIRST);
    ck_assert_uint_eq(f->stack.stop_address, ENDS + 8);
    builder_free(&c.bytes);
}
END_TEST

/* A small number is not the 0 of a first function, although neither can be an address: the stack is damaged. */
START_TEST(damaged_by_a_small_number) {
    struct fixture *f = begin_stack(_i, FIRST);
    WORDS(&f->memory, STACK + 2 * slot, slot, 0x12, 0x40, 0, 0);
    EXPECT(f, USP_STOP_RA_ZERO, INNER, FIRST);
    builder_free(&c.bytes);
}
END_TEST

/* What the kernel puts on the first stack, with three words of the first frames before it. */
struct first_stack {
    usp_addr outer, between; /* return addresses on the stack */
    usp_addr entry;
    usp_addr argument; /* where the first argument is */
    uint32_t stop;
};

static void put_first_stack(struct fixture *f, const struct first_stack *s) {
    const usp_addr text = STACK + 0x800;
    WORDS(&f->memory, STACK + 2 * slot, slot, 0, s->between, 0, s->outer, 2, s->argument, text, 0, text, text, 0, 3,
          CODE, 6, 4096, 9, s->entry, 0, 0);
}

/* A return address in the code at the entry point is the only one between the frame and the arguments, or there is none:
 * the frame is the outermost one. */
START_TEST(first_stack) {
    static const struct first_stack stacks[] = {
        {ENTRY + 0x20, 0, ENTRY, STACK + 0x800, USP_STOP_ROOT},
        {0, 0, ENTRY, STACK + 0x800, USP_STOP_ROOT},
        {ENTRY + 0x20, ENTRY + 0x20, ENTRY, STACK + 0x800, USP_STOP_ROOT},
        /* a caller in between; an entry point that is not the caller's; no arguments */
        {ENTRY + 0x20, FIRST, ENTRY, STACK + 0x800, USP_STOP_FP_MISALIGNED},
        {FIRST, 0, ENTRY, STACK + 0x800, USP_STOP_FP_MISALIGNED},
        {ENTRY + 0x20, 0, ENTRY + 0x100, STACK + 0x800, USP_STOP_FP_MISALIGNED},
        {ENTRY + 0x20, 0, ENTRY, 0x1234, USP_STOP_FP_MISALIGNED},
    };
    for (unsigned k = 0; k < ELEMENTS(stacks); k++) {
        struct fixture *f = begin_stack(_i, BARE);
        put_first_stack(f, &stacks[k]);
        EXPECT(f, stacks[k].stop, INNER, BARE);
        builder_free(&c.bytes);
    }
}
END_TEST

/* Puts there what the kernel puts on the first stack, and a frame record to which the frame pointer points: the first code
 * of a process has no caller, whatever its registers are. */
static void put_first_code(struct fixture *f, usp_addr pc, usp_addr sp, usp_addr at) {
    const usp_addr text = STACK + 0x800, record = STACK + 0x1000;
    WORDS(&f->memory, at, slot, 2, text, text, 0, text, text, 0, 3, CODE, 6, 4096, 9, ENTRY, 0, 0);
    WORDS(&f->memory, record, slot, record + 0x100, FIRST, 0, 0);
    set_registers(f, pc, sp, record);
}

/* The first code has called a function, or (x86) was interrupted. If the stack pointer points elsewhere, it is other
 * code, which has the frame record. */
START_TEST(first_code) {
    struct fixture *f = begin_stack(_i, BARE);
    put_first_code(f, INNER, STACK, STACK + 2 * slot);
    EXPECT(f, USP_STOP_ROOT, INNER, BARE);
    builder_free(&c.bytes);
    f = begin_stack(_i, BARE);
    put_first_code(f, INNER, STACK, STACK + 4 * slot);
    walk(f);
    ck_assert_uint_eq(f->frames[2].pc, FIRST);
    builder_free(&c.bytes);
}
END_TEST

START_TEST(interrupted_first_code) {
    struct fixture *f = begin_stack(_i, BARE);
    put_first_code(f, BARE, STACK + 2 * slot, STACK + 2 * slot);
    EXPECT(f, USP_STOP_ROOT, BARE);
    builder_free(&c.bytes);
}
END_TEST

/* Only Linux puts its vector there. */
START_TEST(first_stack_elsewhere) {
    struct fixture *f = begin_stack(_i, BARE);
    f->target.os = USP_OS_UNKNOWN;
    put_first_stack(f, &(struct first_stack){ENTRY + 0x20, 0, ENTRY, STACK + 0x800, 0});
    EXPECT(f, USP_STOP_FP_MISALIGNED, INNER, BARE);
    builder_free(&c.bytes);
}
END_TEST

/* ---- a new thread ---- */

/* A thread that has just been created is directly behind clone's system call, which no table describes, and has the
 * result 0. What its stack and its link register have is not its own. The parent has another result, and a caller;
 * so has code whose branch leads to other code. */
START_TEST(new_thread) {
    /* The result is compared with 0, and the thread branches over a return to LAST. */
    static const struct branch {
        uint8_t before; /* bytes from the code to LAST */
        uint8_t code[12];
    } branches[] = {
        {8, {0x48, 0x85, 0xc0, 0x7c, 0x10, 0x74, 0x01, 0xc3}},
        {7, {0x85, 0xc0, 0x7c, 0x10, 0x74, 0x01, 0xc3}},
        {12, {0x1f, 0, 0, 0xf1, 0x40, 0, 0, 0x54, 0xc0, 0x03, 0x5f, 0xd6}},
        {12, {0, 0, 0x50, 0xe3, 0, 0, 0, 0x0a, 0x1e, 0xff, 0x2f, 0xe1}},
    };
    for (unsigned way = 0; way < 3; way++) {
        struct fixture *f = begin_stack(_i, FIRST);
        const struct branch *b = &branches[_i];
        put_fde(&c, put_cie(&c, false, 1, "", p->cie), LAST, 0x40, way < 2 ? undefined[_i] : "");
        given.eh_frame.size = c.bytes.size;
        image_bytes(&f->memory, LAST - b->before, b->code, b->before);
        WORDS(&f->memory, STACK + 0x1000, slot, FIRST, ENDS, 0, 0);
        set_registers(f, LAST - b->before, STACK + 0x1000, 1);
        f->registers.value[0] = way == 1;
        f->registers.known |= 1;
        usp_registers_set_lr(&f->registers, FIRST);
        if (way == 0) {
            EXPECT(f, USP_STOP_ROOT, LAST - b->before);
        } else {
            walk(f);
            ck_assert_uint_eq(f->frames[1].pc, FIRST);
        }
        builder_free(&c.bytes);
    }
}
END_TEST

/* ---- generated code ---- */

#define OUTSIDE (CODE + 0x2020) /* in generated code: no image has it */
#define CALLER  (CODE + 0x520)  /* in the function that has called it */
#define START   (CODE + 0x620)  /* in the outermost function */

enum generated {
    RESUMED,
    BY_DIRECT_CALL, /* the word on the stack follows a call of a known function */
    WITHOUT_ROOT,   /* the walk from there does not reach the root */
    IN_IMAGE        /* the code is in an image, whose tables do not describe it */
};

static int tables_of_images(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    if (*(const bool *)context && pc >= OUTSIDE - 0x20 && pc < OUTSIDE + 0x20) return USP_OK;
    return tables_at(context, pc, tables);
}

/* Makes a stack of INNER, OUTSIDE, CALLER and START. OUTSIDE has words of its own, and a frame pointer that is only a
 * number. */
static struct fixture *begin_generated(int i, enum generated how, bool *in_image) {
    static const uint8_t indirect[] = {0xff, 0xd0};
    struct fixture *f = begin_stack(i, OUTSIDE);
    const size_t cie = put_cie(&c, false, 1, "", p->cie);
    put_fde(&c, cie, CALLER - 0x20, 0x40, "");
    put_fde(&c, cie, START - 0x20, 0x40, slot == 8 ? "07 10" : "07 08");
    given.eh_frame.size = c.bytes.size;
    *in_image = how == IN_IMAGE;
    f->target.unwind_tables_at = tables_of_images;
    f->target.context = in_image;
    image_bytes(&f->memory, OUTSIDE - sizeof indirect, indirect, sizeof indirect);
    if (how == BY_DIRECT_CALL) {
        image_bytes(&f->memory, CALLER - p->call_size, p->call, p->call_size);
    } else {
        image_bytes(&f->memory, CALLER - sizeof indirect, indirect, sizeof indirect);
    }
    image_bytes(&f->memory, START - p->call_size, p->call, p->call_size);
    const bool has_root = how != WITHOUT_ROOT;
    WORDS(&f->memory, STACK + 2 * slot, slot, 7, OUTSIDE + 4, 0x1234, CALLER, 0x13, has_root ? START : FIRST, 0x14, 0,
          0);
    return f;
}

/* Walks as a snapshot does, and checks the frames. */
static void expect_snapshot(struct fixture *f, uint32_t stop, uint32_t n, const usp_addr *expected) {
    const struct uspi_copied parts[USPI_PARTS] = {{0}};
    const struct uspi_shortcuts shortcuts = {.parts = parts};
    ck_assert_int_eq(uspi_unwind(&f->target, &f->registers, false, &shortcuts, &f->options, &f->stack), USP_OK);
    ck_assert_uint_eq(f->stack.count, n);
    for (uint32_t i = 0; i < n; i++) ck_assert_uint_eq(f->frames[i].pc, expected[i]);
    ck_assert_uint_eq(f->stack.stop, stop);
}

/* A walk that ends in generated code goes on at the frame that has called it, and says that frames are missing. */
START_TEST(past_generated_code) {
    bool in_image;
    struct fixture *f = begin_generated(_i, RESUMED, &in_image);
    expect_snapshot(f, USP_STOP_ROOT, 4, (const usp_addr[]){INNER, OUTSIDE, CALLER, START});
    ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_UNVERIFIED, 0);
    ck_assert_uint_eq(f->frames[2].flags & USP_FRAME_UNVERIFIED, USP_FRAME_UNVERIFIED);
    ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_SEARCH);
    ck_assert_uint_eq(f->frames[3].method, USP_FRAME_METHOD_CFI);
    ck_assert_uint_eq(f->stack.omitted, 1);
    ck_assert_uint_eq(f->stack.omitted_at, 2);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_OMITTED_MORE, USP_STACK_OMITTED_MORE);
    builder_free(&c.bytes);
}
END_TEST

/* Where there is no room for frames past generated code, the stack says so. */
START_TEST(past_generated_code_without_room) {
    bool in_image;
    struct fixture *f = begin_generated(_i, RESUMED, &in_image);
    f->stack.capacity = 2;
    expect_snapshot(f, USP_STOP_CAPACITY, 2, (const usp_addr[]){INNER, OUTSIDE});
    ck_assert_uint_eq(f->stack.stop_address, CALLER);
    ck_assert_uint_eq(f->stack.omitted, 1);
    ck_assert_uint_eq(f->stack.omitted_at, 2);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_OMITTED_MORE, USP_STACK_OMITTED_MORE);
    builder_free(&c.bytes);
}
END_TEST

START_TEST(not_past_generated_code) {
    static const enum generated ways[] = {BY_DIRECT_CALL, WITHOUT_ROOT, IN_IMAGE};
    for (unsigned k = 0; k < ELEMENTS(ways); k++) {
        bool in_image;
        struct fixture *f = begin_generated(_i, ways[k], &in_image);
        expect_snapshot(f, USP_STOP_FP_MISALIGNED, 2, (const usp_addr[]){INNER, OUTSIDE});
        ck_assert_uint_eq(f->stack.omitted, 0);
        builder_free(&c.bytes);
    }
}
END_TEST

/* A function has entered code of a language that has another stack, by a jump, and that code has called C: the walk goes
 * on at the function's caller. The code may have pushed a few words for the call, not many. A stub of a linkage table,
 * which loads the pointer, is not such a function; nor is one from whose caller no table leads to the stack's end. */
static const struct entered {
    unsigned pushed;
    bool by_stub, has_root, is_found;
} entered[] = {
    {0, false, true, true}, {1, false, true, true},   {20, false, true, false},
    {0, true, true, false}, {0, false, false, false},
};

START_TEST(past_code_of_a_language) {
    static const uint8_t stubs[][8] = {{0xff, 0x25, 0, 0, 0, 0},
                                       {0xff, 0x25, 0, 0, 0, 0},
                                       {0x11, 0x02, 0x40, 0xf9, 0x20, 0x02, 0x1f, 0xd6},
                                       {0, 0xc0, 0x9c, 0xe5, 0x1c, 0xff, 0x2f, 0xe1}};
    for (unsigned k = 0; k < ELEMENTS(entered); k++) {
        const struct entered *way = &entered[k];
        struct fixture *f = begin_stack(_i, BARE);
        uint64_t words[32] = {0};
        words[way->pushed] = 0x12;
        words[way->pushed + 1] = FIRST;
        words[way->pushed + 3] = way->has_root ? LAST + 0x10 : FIRST;
        put_fde(&c, put_cie(&c, false, 1, "", p->cie), LAST, 0x40, undefined[_i]);
        given.eh_frame.size = c.bytes.size;
        image_bytes(&f->memory, LAST + 0x10 - p->call_size, p->call, p->call_size);
        image_bytes(&f->memory, p->callee, way->by_stub ? stubs[_i] : p->jump, way->by_stub ? 8 : sizeof p->jump);
        image_words(&f->memory, STACK + 2 * slot, slot, words, ELEMENTS(words));
        if (way->is_found) {
            expect_snapshot(f, USP_STOP_ROOT, 4, (const usp_addr[]){INNER, BARE, FIRST, LAST + 0x10});
            ck_assert_uint_eq(f->frames[2].method, USP_FRAME_METHOD_SEARCH);
            ck_assert_uint_eq(f->frames[2].flags & USP_FRAME_UNVERIFIED, 0);
            ck_assert_uint_eq(f->stack.omitted_at, 2);
            ck_assert_uint_eq(f->stack.flags & USP_STACK_OMITTED_MORE, USP_STACK_OMITTED_MORE);
        } else {
            expect_snapshot(f, USP_STOP_FP_MISALIGNED, 2, (const usp_addr[]){INNER, BARE});
        }
        builder_free(&c.bytes);
    }
}
END_TEST

int main(void) {
    TCase *ends = tcase_create("ends"), *generated = tcase_create("generated");
    /* x86: only a call that pushes its return address shows where the caller's frame is. */
    add_loop_tests(generated, 0, 2, past_generated_code, past_generated_code_without_room, not_past_generated_code);
    add_loop_tests(generated, 0, ELEMENTS(processors), past_code_of_a_language);
    add_loop_tests(ends, 0, ELEMENTS(processors), made_by_hand, made_by_hand_without_a_table,
                   frame_pointer_of_another_stack, damaged, damaged_with_another_stack, damaged_by_a_small_number,
                   first_stack, first_code, first_stack_elsewhere, new_thread);
    add_loop_tests(ends, 0, 2, interrupted_first_code);
    return run_suite("ends of stacks", ends, generated);
}
