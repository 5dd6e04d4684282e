/* SPDX-License-Identifier: MIT */
/* Tests calls of the next instruction: of a function that does not return and is placed directly after its caller, and
 * of code that reads its own address. And a function without a table that ends with the call of such a function. */
#include "tests/support/golden.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define STACK UINT64_C(0x700000)
#define NEXT  (CODE + 0x20) /* the instruction after the call, which the call calls */
#define ROOT  (CODE + 0x800)
#define INNER (CODE + 0x400) /* code whose frame's return address is NEXT */

/* The calls of a processor, and the code after them. */
static const struct next_call {
    uint32_t arch;
    bool is_frame; /* the code after the call is a function */
    bool is_thumb;
    const char *call; /* of the next instruction */
    const char *code; /* from NEXT on */
} calls[] = {
    {USP_ARCH_X86_64, true, false, "e8 00 00 00 00", "50 e8 00 01 00 00 eb f9"},    /* push rax; call; jmp */
    {USP_ARCH_X86_64, true, false, "e8 00 00 00 00", "48 83 ec 18 e8 00 01 00 00"}, /* sub rsp, 24; call */
    {USP_ARCH_X86_64, true, false, "e8 00 00 00 00", "55 48 89 e5 e8 00 01 00 00"}, /* push rbp; mov rbp, rsp */
    {USP_ARCH_X86_64, true, false, "e8 00 00 00 00", "48 8b 3c 24 e8 00 01 00 00"}, /* mov rdi, [rsp]; call */
    {USP_ARCH_X86_64, true, false, "e8 00 00 00 00", "eb fe"},                      /* jmp . */
    {USP_ARCH_X86_64, false, false, "e8 00 00 00 00", "58 48 83 c0 10 c3"},         /* pop rax; add; ret */
    {USP_ARCH_X86_64, false, false, "e8 00 00 00 00", "48 83 c4 08 c3"},            /* add rsp, 8 */
    {USP_ARCH_X86_64, false, false, "e8 00 00 00 00", "48 8d 64 24 08 c3"},         /* lea rsp, [rsp + 8] */
    {USP_ARCH_X86_64, false, false, "e8 00 00 00 00", "48 8b 04 24 c3"},            /* mov rax, [rsp]; ret */
    {USP_ARCH_I386, true, false, "e8 00 00 00 00", "83 ec 18 e8 00 01 00 00"},      /* sub esp, 24; call */
    {USP_ARCH_I386, true, false, "e8 00 00 00 00", "53 e8 00 01 00 00"},            /* push ebx; call */
    {USP_ARCH_I386, true, false, "e8 00 00 00 00", "8b 04 24 50 e8 00 01 00 00"},   /* mov eax, [esp]; push eax */
    {USP_ARCH_I386, false, false, "e8 00 00 00 00", "5b 81 c3 00 10 00 00 5b c3"},  /* pop ebx; add ebx */
    {USP_ARCH_I386, false, false, "e8 00 00 00 00", "8b 04 24 c3"},                 /* mov eax, [esp]; ret */
    {USP_ARCH_I386, false, false, "e8 00 00 00 00", "8b 1c 24 83 c4 04 c3"},        /* mov ebx, [esp]; add esp, 4 */
    {USP_ARCH_I386, false, false, "e8 00 00 00 00", "83 c4 04 c3"},                 /* add esp, 4 */
    {USP_ARCH_ARM64, true, false, "01 00 00 94", "fd 7b bf a9 fd 03 00 91"},        /* stp x29, x30; mov x29, sp */
    {USP_ARCH_ARM64, true, false, "01 00 00 94", "3f 23 03 d5 fd 7b bf a9 fd 03 00 91"}, /* paciasp; stp */
    {USP_ARCH_ARM64, true, false, "01 00 00 94", "00 00 00 14"},                         /* b . */
    {USP_ARCH_ARM64, false, false, "01 00 00 94", "e0 03 1e aa c0 03 5f d6"},            /* mov x0, x30; ret */
    {USP_ARCH_ARM64, false, false, "01 00 00 94", "c0 23 00 91 00 00 40 f9"},            /* add x0, x30, 8; ldr */
    {USP_ARCH_ARMV7, true, false, "ff ff ff eb", "00 48 2d e9 0d b0 a0 e1"},             /* push {r11, lr} */
    {USP_ARCH_ARMV7, false, false, "ff ff ff eb", "0e 00 a0 e1 1e ff 2f e1"},            /* mov r0, lr; bx lr */
    {USP_ARCH_ARMV7, true, true, "00 f0 00 f8", "80 b5 6f 46 fe e7"},                    /* push {r7, lr}; mov r7, sp */
    {USP_ARCH_ARMV7, false, true, "00 f0 00 f8", "70 46 70 47"},                         /* mov r0, lr; bx lr */
};

static struct cfi c;
static struct usp_unwind_tables given;

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < CODE || pc >= CODE + 0x1000) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static void code_at(struct fixture *f, usp_addr at, const char *text) {
    struct builder b = {0};
    put_hex(&b, text);
    image_bytes(&f->memory, at, b.bytes, b.size);
    builder_free(&b);
}

/* A frame in INNER, whose record has NEXT as return address. */
static struct fixture *begin_call(const struct next_call *call) {
    const struct uspi_backend *b = uspi_backend_find(call->arch);
    struct fixture *f = begin(call->arch, USP_OS_LINUX);
    char text[128];
    (void)snprintf(text, sizeof text, "%s %s", call->call, call->code);
    code_at(f, NEXT - (strlen(call->call) + 1) / 3, text);
    WORDS(&f->memory, STACK, b->slot, STACK + 8u * b->slot, NEXT + call->is_thumb, 0, 0, 0, 0, 0, 0, 0,
          ROOT + call->is_thumb);
    set_registers(f, INNER, STACK, STACK);
    return f;
}

/* Without a table, the call counts unless its return address is read. */
START_TEST(by_code) {
    const struct next_call *call = &calls[_i];
    struct fixture *f = begin_call(call);
    f->options.readers = USP_READER_FRAME_RECORD;
    if (call->is_frame) {
        walk(f);
        ck_assert_uint_ge(f->stack.count, 2);
        ck_assert_uint_eq(f->frames[1].pc, NEXT);
        ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_UNVERIFIED, 0);
    } else {
        EXPECT(f, USP_STOP_RA_NOT_CODE, INNER);
    }
}
END_TEST

/* Writes a table in which the return address of INNER is the word above the one at sp. */
static void describe_inner(const struct next_call *call, usp_addr start, unsigned slot) {
    static const char *const rules[][2] = {
        /* CFA = sp + 2 slots; the return address is the slot below it. */
        {"04 7c 08  0c 04 08 88 01", "04 7c 0e  0c 0d 08 8e 01"},
        {"08 78 10  0c 07 10 90 01", "08 78 1e  0c 1f 10 9e 01"},
    };
    const bool has_link = call->arch == USP_ARCH_ARM64 || call->arch == USP_ARCH_ARMV7;
    cfi_begin(&c, call->arch, true);
    const size_t cie = put_cie(&c, false, 1, "", rules[slot == 8][has_link]);
    put_fde(&c, cie, start, 0x40, "");
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
}

/* A table states that the word is a return address. */
START_TEST(by_table) {
    const struct next_call *call = &calls[_i];
    struct fixture *f = begin_call(call);
    describe_inner(call, INNER - 0x20, uspi_backend_find(call->arch)->slot);
    f->target.unwind_tables_at = tables_at;
    f->options.readers = USP_READER_CFI;
    walk(f);
    ck_assert_uint_ge(f->stack.count, 2);
    ck_assert_uint_eq(f->frames[1].pc, NEXT);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_CFI);
    builder_free(&c.bytes);
}
END_TEST

/* A table that does not describe that the call has pushed the word: directly before it is popped, it is not a return
 * address. */
START_TEST(before_the_pop) {
    static const struct next_call pop = {USP_ARCH_I386, false, false, "e8 00 00 00 00", "5b 81 c3 00 10 00 00 5b c3"};
    struct fixture *f = begin_call(&pop);
    f->memory.count--;
    WORDS(&f->memory, STACK, 4, 0, NEXT, 0xb, ROOT);
    CODE8(&f->memory, ROOT - 5, 0xe8, 0x10, 0, 0, 0);
    set_registers(f, NEXT, STACK + 4, 0);
    cfi_begin(&c, USP_ARCH_I386, true);
    const size_t cie = put_cie(&c, false, 1, "", "04 7c 08  0c 04 04 88 01");
    put_fde(&c, cie, NEXT - 0x10, 0x40, "");
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    f->target.unwind_tables_at = tables_at;
    walk(f);
    ck_assert_uint_ge(f->stack.count, 2);
    ck_assert_uint_eq(f->frames[1].pc, ROOT);
    f->options.readers = USP_READER_CFI;
    EXPECT(f, USP_STOP_RA_NOT_CODE, NEXT);
    builder_free(&c.bytes);
}
END_TEST

/* No path leads from the pc to the function's return: it ends with a call that does not return, and the function after
 * it has another frame. The function's caller has called it, so its frame is known from its start. */
START_TEST(before_a_call_that_does_not_return) {
    static const struct ends {
        uint32_t arch;
        const char *code; /* sub sp, 8 or 12; call INNER; call; push; sub sp, 32; add sp, 32; pop; ret */
        unsigned start, words;
    } ends[] = {
        {USP_ARCH_X86_64, "48 83 ec 08 e8 d7 03 00 00 e8 00 05 00 00 53 48 83 ec 20 48 83 c4 20 5b c3", 4, 1},
        {USP_ARCH_I386, "83 ec 0c e8 d8 03 00 00 e8 00 05 00 00 53 83 ec 20 83 c4 20 5b c3", 3, 3},
    };
    const struct ends *e = &ends[_i];
    const unsigned slot = uspi_backend_find(e->arch)->slot;
    const usp_addr start = CODE + 0x20, pc = start + e->start + 5, caller = CODE + 0x700;
    struct fixture *f = begin(e->arch, USP_OS_LINUX);
    const uint64_t words[] = {pc, 1, e->words == 1 ? caller : 2, e->words == 1 ? ROOT : 3, caller, ROOT};
    const usp_addr root = ROOT;
    code_at(f, start, e->code);
    code_at(f, INNER, "c3");
    code_at(f, caller - 5, "e8 20 f9 ff ff c3");
    image_words(&f->memory, STACK, slot, words, ELEMENTS(words));
    f->target.roots = &root;
    f->target.root_count = 1;
    set_registers(f, INNER, STACK, 1);
    EXPECT(f, USP_STOP_ROOT, INNER, pc, caller, ROOT);
}
END_TEST

int main(void) {
    TCase *judged = tcase_create("calls of the next instruction");
    add_loop_tests(judged, 0, ELEMENTS(calls), by_code, by_table);
    add_tests(judged, before_the_pop);
    add_loop_tests(judged, 0, 2, before_a_call_that_does_not_return);
    return run_suite("calls of the next instruction", judged);
}
