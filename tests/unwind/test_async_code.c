/* SPDX-License-Identifier: MIT */
/* Tests Swift async frames that no mark in the frame pointer identifies, only their code: x86_64 functions as Swift's
 * compiler writes them for Linux, in a target that the test builds. */
#include <check.h>

#include "lib/unwind/async.h"
#include "lib/unwind/async_code.h"
#include "lib/unwind/code/explore.h"
#include "tests/support/golden.h"
#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

#define STACK    UINT64_C(0x7000)
#define CONTEXTS UINT64_C(0x9000)

#define RESUMED  CODE           /* resumes after an await, with an extended record */
#define STARTED  (CODE + 0x40)  /* starts, with an extended record */
#define SIMPLE   (CODE + 0x80)  /* starts, and makes no record */
#define SYNC     (CODE + 0xc0)  /* an ordinary function */
#define EXECUTOR (CODE + 0x100) /* loads a context, calls the function stored beside it */
#define OTHER    (CODE + 0x140) /* calls a function from memory, with an older context */
#define OUTER    (CODE + 0x180)
#define SWITCH   (CODE + 0x1c0) /* the Swift runtime's: has an extended record, and returns */
#define NEXT     (CODE + 0x200) /* the functions of the async chain */
#define LAST     (CODE + 0x210)
#define UNTOLD   (CODE + 0x400) /* same code as RESUMED, but no table describes it */
#define MERGED   (CODE + 0x440) /* was merged with RESUMED, because their code was the same; jumps there */
#define PASSED   (CODE + 0x460) /* calls a function, then jumps to RESUMED */

#define CALLED_BY_EXECUTOR (EXECUTOR + 9)
#define CALLED_BY_OTHER    (OTHER + 12)

/* push rbp; push r14; lea 8(rsp), rbp; sub 24, rsp; mov rbp, rax; mov (r14), rcx; sub 8, rax; mov rcx, (rax); nop;
 * call *rbx; add 32, rsp; pop rbp; btr 60, rbp; jmp *rax */
static const char resumed_code[] = "55 4156 488d6c2408 4883ec18 4889e8 498b0e 4883e808 488908 0f1f00ffd3 "
                                   "4883c410 4883c410 5d 480fbaf53c ffe0";
#define RESUMED_STORES 0x16 /* here its own context is not stored yet */
#define RESUMED_CALL   0x1e /* after the call */
#define RESUMED_UNDONE 0x27 /* after the pop of rbp */
#define RESUMED_SIZE   0x2e
static const char started_code[] = "55 4156 488d6c2408 4883ec18 0f1f00ffd3 4883c410 4883c410 5d 480fbaf53c ffe0";
#define STARTED_CALL 0x11
#define STARTED_SIZE 0x21
static const char switch_code[] = "55 4156 488d6c2408 4883ec18 0f1f00ffd3 4883c410 4883c410 5d 480fbaf53c c20800";
/* push rax; nop; call *rbx; mov 8(r14), rax; pop rcx; jmp *rax */
static const char simple_code[] = "50 0f1f00ffd3 498b4608 59 ffe0";
#define SIMPLE_CALL 6

static struct cfi c;
static struct builder code;
static struct usp_unwind_tables given;

static void free_bytes(void) {
    builder_free(&c.bytes);
    builder_free(&code);
}

static int code_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    return read_range(CODE, code.bytes, code.size, from, to, n);
}

static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    if (pc < CODE || pc >= CODE + code.size) return USP_ERROR_NOT_FOUND;
    *tables = given;
    return USP_OK;
}

static void put_code(usp_addr at, const char *hex) {
    while (code.size < at - CODE) put(&code, 1, 0xcc);
    put_hex(&code, hex);
}

static struct fixture *begin_code(void) {
    put_code(RESUMED, resumed_code);
    put_code(STARTED, started_code);
    put_code(SIMPLE, simple_code);
    put_code(SYNC, "53 90 0f1f00ffd3 5b c3");
    put_code(EXECUTOR, "53 4d8b7740 41ff5738 5b c3");     /* mov 64(r15), r14; call *56(r15) */
    put_code(OTHER, "53 4d8b7740 4c89f7 41ff5738 5b c3"); /* the same with mov r14, rdi between the two */
    put_code(OUTER, "55 0f1f00ffd3 90");
    put_code(SWITCH, switch_code);
    put_code(NEXT, "c3");
    put_code(LAST, "c3");
    put_code(UNTOLD, resumed_code);
    /* push rbp; push r14; lea 8(rsp), rbp; push rax; add 16, rsp; pop rbp; btr 60, rbp; jmp RESUMED */
    put_code(MERGED, "55 4156 488d6c2408 50 4883c410 5d 480fbaf53c e9a8fbffff");
    put_code(PASSED, "55 4156 488d6c2408 50 0f1f00ffd3 4883c410 5d 480fbaf53c e983fbffff");
    put_code(CODE + 0x500, "cc");
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", "01 78 10  0c 07 08 90 01");
    put_fde(&c, cie, RESUMED, RESUMED_SIZE, "41 0e 10 86 02 47 0c 06 10 5f 0c 07 08");
    put_fde(&c, cie, STARTED, STARTED_SIZE, "41 0e 10 86 02 47 0c 06 10 52 0c 07 08");
    put_fde(&c, cie, SWITCH, STARTED_SIZE + 1, "41 0e 10 86 02 47 0c 06 10 52 0c 07 08");
    put_fde(&c, cie, SIMPLE, 13, "41 0e 10");
    put_fde(&c, cie, SYNC, 9, "41 0e 10 83 02");
    put_fde(&c, cie, EXECUTOR, 11, "41 0e 10 83 02");
    put_fde(&c, cie, OTHER, 14, "41 0e 10 83 02");
    put_fde(&c, cie, OUTER, 7, "07 10");
    put_fde(&c, cie, MERGED, 24, "41 0e 10 86 02 47 0c 06 10");
    put_fde(&c, cie, PASSED, 29, "41 0e 10 86 02 47 0c 06 10");
    put_fde(&c, cie, NEXT, 1, "");
    put_fde(&c, cie, LAST, 1, "");
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    memset(&given, 0, sizeof given);
    given.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    given.memory = cfi_memory(&c);
    f->target.code = (struct usp_memory){code_read, NULL};
    f->target.unwind_tables_at = tables_at;
    f->options.async = 1;
    /* the callee's context → the function's own → the next → no context */
    WORDS(&f->memory, CONTEXTS, 8, CONTEXTS + 0x20, RESUMED, 0, 0);
    WORDS(&f->memory, CONTEXTS + 0x20, 8, CONTEXTS + 0x40, NEXT, 0, 0);
    WORDS(&f->memory, CONTEXTS + 0x40, 8, 0, LAST);
    return f;
}

#define OWN (CONTEXTS + 0x20)

/* Changes a word of memory that the fixture has already. */
static void set_word(struct fixture *f, usp_addr at, uint64_t value) {
    for (unsigned i = 0; i < f->memory.count; i++) {
        const usp_addr from = f->memory.regions[i].from;
        if (at < from || at - from >= f->memory.regions[i].size) continue;
        for (unsigned k = 0; k < 8; k++) f->memory.regions[i].bytes[at - from + k] = (uint8_t)(value >> 8 * k);
        return;
    }
    ck_abort_msg("no such memory");
}

static void set_r14(struct fixture *f, usp_addr context) {
    f->registers.value[14] = context;
    f->registers.known |= UINT64_C(1) << 14;
}

static void expect_join(const struct fixture *f, uint32_t join) {
    ck_assert_uint_eq(f->stack.async_join, join);
    ck_assert_uint_eq(f->stack.async_stop, join == USP_NO_INDEX ? USP_STOP_NONE : USP_STOP_ROOT);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_EXTENDED, 0);
}

/* SYNC ← a function with an extended record, whose slot holds `context` ← EXECUTOR ← OUTER. */
static struct fixture *below_extended(usp_addr return_address, usp_addr context) {
    struct fixture *f = begin_code();
    WORDS(&f->memory, STACK, 8, 0xbbb, return_address, 0, 0, context, /* STACK + 40: */ STACK + 0x60,
          CALLED_BY_EXECUTOR, 0xbbb, OUTER + 6, 0);
    set_registers(f, SYNC + 1, STACK, STACK + 40);
    return f;
}

START_TEST(started) {
    struct fixture *f = below_extended(STARTED + STARTED_CALL, OWN);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, STARTED + STARTED_CALL, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    expect_join(f, 1);
    ck_assert_uint_eq(f->frames[4].kind, USP_FRAME_KIND_ASYNC_RESUME);
}
END_TEST

START_TEST(resumed) {
    struct fixture *f = below_extended(RESUMED + RESUMED_CALL, OWN);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, RESUMED + RESUMED_CALL, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    expect_join(f, 1);
}
END_TEST

/* The compiler has merged the function with another one, which the callee's context resumes; a jump leads from that one
 * here. The thread stops before its own context is stored. The async chain must still begin with its own context. */
START_TEST(merged) {
    static const usp_addr resumes[] = {MERGED, PASSED};
    struct fixture *f = begin_code();
    WORDS(&f->memory, STACK, 8, 0, 0, 0, CONTEXTS, STACK + 0x60, CALLED_BY_EXECUTOR, 0xbbb, OUTER + 6, 0);
    set_word(f, CONTEXTS + 8, resumes[_i]);
    set_registers(f, RESUMED + RESUMED_STORES, STACK, STACK + 32);
    f->registers.value[0] = STACK + 24;
    f->registers.known |= 1;
    set_r14(f, CONTEXTS);
    if (_i == 0) {
        EXPECT(f, USP_STOP_ROOT, RESUMED + RESUMED_STORES, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    } else {
        EXPECT(f, USP_STOP_ROOT, RESUMED + RESUMED_STORES, CALLED_BY_EXECUTOR, OUTER + 6, PASSED, NEXT, LAST);
    }
}
END_TEST

/* A function that awaits itself: its own context resumes the same function. */
START_TEST(recursive) {
    struct fixture *f = below_extended(RESUMED + RESUMED_CALL, CONTEXTS);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, RESUMED + RESUMED_CALL, CALLED_BY_EXECUTOR, OUTER + 6, RESUMED, NEXT, LAST);
    expect_join(f, 1);
}
END_TEST

/* The Swift runtime's functions return after they have handed the task over, and another thread may run it. Such a
 * frame must not be taken for an async frame. */
START_TEST(given_away) {
    struct fixture *f = below_extended(SWITCH + STARTED_CALL, OWN);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, SWITCH + STARTED_CALL, CALLED_BY_EXECUTOR, OUTER + 6);
    expect_join(f, USP_NO_INDEX);
}
END_TEST

START_TEST(not_wanted) {
    struct fixture *f = below_extended(STARTED + STARTED_CALL, OWN);
    f->options.async = 0;
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, STARTED + STARTED_CALL, CALLED_BY_EXECUTOR, OUTER + 6);
    expect_join(f, USP_NO_INDEX);
}
END_TEST

/* Darwin marks async frames: without the mark a frame must not be async. */
START_TEST(darwin) {
    struct fixture *f = below_extended(STARTED + STARTED_CALL, OWN);
    f->target.os = USP_OS_DARWIN;
    walk(f);
    ck_assert_uint_eq(f->stack.async_join, USP_NO_INDEX);
    ck_assert_uint_eq(f->stack.count, f->stack.physical);
}
END_TEST

/* The slot holds no context: a misaligned or unreadable one, one without a resume address, one that resumes inside a
 * function, one that resumes outside every image. No async chain may begin there. */
START_TEST(no_context) {
    static const uint64_t resumes[] = {0, NEXT + 0x20, STARTED + 8, CODE + 0x10000};
    struct fixture *f = below_extended(STARTED + STARTED_CALL, _i == 0 ? OWN + 4 : _i == 1 ? 0x123450 : OWN);
    if (_i >= 2) set_word(f, OWN + 8, resumes[_i - 2]);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, STARTED + STARTED_CALL, CALLED_BY_EXECUTOR, OUTER + 6);
    expect_join(f, USP_NO_INDEX);
}
END_TEST

START_TEST(broken_further_on) {
    struct fixture *f = below_extended(STARTED + STARTED_CALL, OWN);
    set_word(f, CONTEXTS + 0x48, LAST + 4);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, STARTED + STARTED_CALL, CALLED_BY_EXECUTOR, OUTER + 6, NEXT);
    ck_assert_uint_eq(f->stack.async_stop, USP_STOP_RA_NOT_CODE);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_ASYNC_BROKEN, USP_STACK_ASYNC_BROKEN);
}
END_TEST

START_TEST(circle) {
    struct fixture *f = below_extended(STARTED + STARTED_CALL, OWN);
    set_word(f, CONTEXTS + 0x40, OWN);
    walk(f);
    ck_assert_uint_eq(f->stack.async_stop, USP_STOP_CYCLE);
}
END_TEST

/* A resumed function is interrupted at each of its instructions. It was called with its callee's context, which must
 * not be taken for its own. */
START_TEST(interrupted_anywhere) {
    static const uint8_t starts[] = {0, 1, 3, 8, 0xc, 0xf, 0x12, 0x16, 0x19, 0x1e, 0x22, 0x26, 0x27, 0x2c};
    struct fixture *f = begin_code();
    const unsigned at = starts[_i / 2];
    const usp_addr entry = STACK + 0x80, base = _i & 1 ? UNTOLD : RESUMED;
    usp_addr sp = at == 0 || at >= 0x27 ? entry : at == 1 ? entry - 8 : at <= 8 ? entry - 16 : entry - 40;
    if (at == 0x22) sp = entry - 24;
    if (at == 0x26) sp = entry - 8;
    WORDS(&f->memory, entry - 0x40, 8, 0, 0, 0, 0, 0, 0, /* entry − 16: */ 0, 0, CALLED_BY_EXECUTOR, 0xbbb, OUTER + 6,
          0);
    if (at >= 1) set_word(f, entry - 8, STACK + 0x200);
    if (at >= 3) set_word(f, entry - 16, at > RESUMED_STORES ? OWN : CONTEXTS);
    set_registers(f, base + at, sp, at >= 8 && at < RESUMED_UNDONE ? entry - 8 : STACK + 0x200);
    set_word(f, CONTEXTS + 8, base);
    set_r14(f, CONTEXTS);
    if (at >= 0xf) f->registers.value[0] = entry - 8 - (at >= 0x16 ? 8 : 0);
    if (at >= 0xf) f->registers.known |= 1;
    EXPECT(f, USP_STOP_ROOT, base + at, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    expect_join(f, 0);
}
END_TEST

/* The function is in no unwind table: the compiler leaves out functions that cannot throw. Its async frame must be
 * found all the same. */
START_TEST(untold) {
    struct fixture *f = below_extended(UNTOLD + RESUMED_CALL, OWN);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, UNTOLD + RESUMED_CALL, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    expect_join(f, 1);
}
END_TEST

/* Builds SYNC ← SIMPLE ← a caller ← OUTER. The context is in the register, which SYNC leaves unchanged. */
static struct fixture *below_simple(usp_addr caller) {
    struct fixture *f = begin_code();
    WORDS(&f->memory, STACK, 8, 0xbbb, SIMPLE + SIMPLE_CALL, 0, caller, 0xbbb, OUTER + 6, 0);
    set_registers(f, SYNC + 1, STACK, 0);
    set_r14(f, OWN);
    return f;
}

START_TEST(called_by_the_executor) {
    struct fixture *f = below_simple(CALLED_BY_EXECUTOR);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, SIMPLE + SIMPLE_CALL, CALLED_BY_EXECUTOR, OUTER + 6, NEXT, LAST);
    expect_join(f, 1);
}
END_TEST

/* The caller is not an executor. A function may be called from anywhere while the register holds a context, so no async
 * chain may begin. */
START_TEST(called_by_another) {
    struct fixture *f = below_simple(CALLED_BY_OTHER);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, SIMPLE + SIMPLE_CALL, CALLED_BY_OTHER, OUTER + 6);
    expect_join(f, USP_NO_INDEX);
}
END_TEST

START_TEST(register_not_known) {
    struct fixture *f = below_simple(CALLED_BY_EXECUTOR);
    f->registers.known &= ~(UINT64_C(1) << 14);
    EXPECT(f, USP_STOP_ROOT, SYNC + 1, SIMPLE + SIMPLE_CALL, CALLED_BY_EXECUTOR, OUTER + 6);
    expect_join(f, USP_NO_INDEX);
}
END_TEST

/* The search for the context follows no jump table. If the pc can only be reached by an indirect jump, the search must
 * give up; it retried the same case without end. */
START_TEST(after_an_indirect_jump) {
    struct uspi_code window;
    struct uspi_explorer explorer;
    struct uspi_rule rule;
    unsigned doubts;
    const struct usp_memory memory = {code_read, NULL};
    put_code(CODE, "50 ffe1 0f1f00ffd3 59 c3"); /* push rax; jmp *rcx; nop; call *rbx; pop rcx; ret */
    uspi_code_init(&window, uspi_backend_find(USP_ARCH_X86_64), &memory);
    const struct uspi_question question = {.purpose = USPI_TO_GOAL,
                                           .from = CODE,
                                           .goal = CODE + 8,
                                           .low = CODE,
                                           .high = CODE + code.size,
                                           .budget = 100,
                                           .allowed = USPI_DOUBT_CALL};
    uspi_explore_begin(&explorer, &window, &question);
    ck_assert(!uspi_explore_next(&explorer, &rule, &doubts));
}
END_TEST

/* ---- a thread that has continued since its stack was copied ---- */

static int read_bytes(void *context, usp_addr from, void *to, size_t n) {
    return read_range(STACK, context, 64, from, to, n);
}

/* Sets up a stack of one frame of 48 bytes with an async chain of two frames, whose contexts lie at OWN and at CONTEXTS.
 * Above the frame, the copies of the tests contain 16 bytes of its caller. */
static struct usp_stack with_chain(struct usp_frame frames[3]) {
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 3);
    memset(frames, 0, 3 * sizeof *frames);
    frames[0].cfa = STACK + 48;
    frames[1].cfa = OWN;
    frames[2].cfa = CONTEXTS;
    stack.count = 3;
    stack.physical = 1;
    stack.async_join = 0;
    stack.async_stop = USP_STOP_ROOT;
    return stack;
}

static void expect_dropped(const struct usp_stack *stack) {
    ck_assert_uint_eq(stack->count, 1);
    ck_assert_uint_eq(stack->async_stop, USP_STOP_NOT_COPIED);
    ck_assert_uint_eq(stack->flags & USP_STACK_ASYNC_BROKEN, USP_STACK_ASYNC_BROKEN);
}

START_TEST(run_on) {
    uint8_t copy[64] = {1}, now[64] = {1};
    struct usp_frame frames[3];
    const struct uspi_copied copied = {copy, STACK, sizeof copy};
    const struct usp_memory live = {read_bytes, now};
    struct usp_stack stack = with_chain(frames);
    uspi_async_confirm(&copied, NULL, &live, &stack);
    ck_assert_uint_eq(stack.count, 3);
    ck_assert_uint_eq(stack.async_stop, USP_STOP_ROOT);
    /* Thread-local variables can lie at the end of a stack, and a signal handler changes them. */
    now[48]++;
    uspi_async_confirm(&copied, NULL, &live, &stack);
    ck_assert_uint_eq(stack.count, 3);
    now[47]++;
    uspi_async_confirm(&copied, NULL, &live, &stack);
    expect_dropped(&stack);
}
END_TEST

/* The thread has continued, and its contexts were copied: all of them, all but the last one, all of a chain that was
 * cut off, and all of a chain that did not fit. Only in the first case may the chain be reported. */
START_TEST(contexts_copied) {
    uint8_t copy[64] = {1}, now[64] = {2};
    struct usp_frame frames[3];
    struct uspi_context_table contexts = {0};
    const struct uspi_copied copied = {copy, STACK, sizeof copy};
    const struct usp_memory live = {read_bytes, now};
    struct usp_stack stack = with_chain(frames);
    ck_assert(uspi_context_table_reserve(&contexts, 2));
    ck_assert(uspi_context_table_add(&contexts, OWN));
    if (_i != 1) ck_assert(uspi_context_table_add(&contexts, CONTEXTS));
    if (_i == 2) stack.async_stop = USP_STOP_CYCLE;
    if (_i == 3) stack.async_omitted = 1;
    uspi_async_confirm(&copied, &contexts, &live, &stack);
    if (_i == 0) {
        ck_assert_uint_eq(stack.count, 3);
        ck_assert_uint_eq(stack.async_stop, USP_STOP_ROOT);
    } else {
        expect_dropped(&stack);
    }
    uspi_context_table_free(&contexts);
}
END_TEST

/* Each context must be kept once until the table is full, and only its own bytes may be read from it. */
START_TEST(table_of_contexts) {
    struct uspi_context_table contexts = {0};
    uint8_t bytes[USPI_CONTEXT_SIZE];
    ck_assert_ptr_null(uspi_context_table_find(&contexts, OWN));
    ck_assert(!uspi_context_table_add(&contexts, OWN));
    ck_assert(!uspi_context_table_reserve(&contexts, 0));
    ck_assert(uspi_context_table_reserve(&contexts, 100));
    /* Addresses far apart alternate with addresses close together. */
    for (usp_addr i = 0; i < 100; i++) {
        const usp_addr address = i % 2 == 0 ? (i + 1) << 32 : CONTEXTS + i * USPI_CONTEXT_SIZE;
        ck_assert(uspi_context_table_add(&contexts, address));
        ck_assert(!uspi_context_table_add(&contexts, address));
        contexts.contexts[i].bytes[8] = (uint8_t)i;
        ck_assert_ptr_eq(uspi_context_table_find(&contexts, address), &contexts.contexts[i]);
        ck_assert(uspi_context_table_read(&contexts, address + 8, bytes, 8));
        ck_assert_uint_eq(bytes[0], i);
        ck_assert(!uspi_context_table_read(&contexts, address + 9, bytes, 8));
    }
    ck_assert(!uspi_context_table_add(&contexts, OWN << 20));
    ck_assert(!uspi_context_table_read(&contexts, OWN << 20, bytes, 8));
    ck_assert_ptr_null(uspi_context_table_find(&contexts, 0));
    uspi_context_table_free(&contexts);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("bytes");
    tcase_add_checked_fixture(tests, NULL, free_bytes);
    add_tests(tests, started, resumed, recursive, given_away, not_wanted, darwin, broken_further_on, circle, untold);
    tcase_add_loop_test(tests, no_context, 0, 6);
    tcase_add_loop_test(tests, interrupted_anywhere, 0, 28);
    tcase_add_loop_test(tests, merged, 0, 2);
    add_tests(tests, called_by_the_executor, called_by_another, register_not_known, after_an_indirect_jump, run_on,
              table_of_contexts);
    tcase_add_loop_test(tests, contexts_copied, 0, 4);
    return run_suite("async_code", tests);
}
