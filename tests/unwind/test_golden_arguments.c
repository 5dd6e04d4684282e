/* SPDX-License-Identifier: MIT */
/* Golden stacks of i386 functions whose callees remove an argument from the stack, mostly the address of a struct that
 * they return. Many callees are not known: called through a register, or not bound yet. */
#include <check.h>
#include <string.h>
#include <unspool/unspool.h>

#include "tests/support/golden.h"
#include "tests/support/suite.h"

#define STACK    UINT64_C(0x7fff0000)
#define CALLER   UINT64_C(0x100200)
#define OLD      UINT64_C(0x100300)
#define FUNCTION UINT64_C(0x100400)
#define OTHER    UINT64_C(0x100500)
#define TAKES    UINT64_C(0x100600)
#define LONG     UINT64_C(0x100800)
#define POINTER  UINT64_C(0x300000)

static struct fixture *begin_i386(void) {
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    CODE8(&f->memory, OTHER, /* nop; ret */ 0x90, 0xc3);
    CODE8(&f->memory, TAKES, /* nop; ret $4 */ 0x90, 0xc2, 4, 0);
    return f;
}

/* Expects a function at `pc` to have a caller whose address is 28 bytes above sp. The words below and above that are
 * `below` and `above`. */
static void expect_caller(struct fixture *f, usp_addr pc, usp_addr below, usp_addr above) {
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, below, CALLER, above, 0);
    set_registers(f, pc, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, pc, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}

/* If the argument that a callee removes were not counted, a path past a call that never returns would enter the next
 * function where an earlier call's return address is (LLVM's PassRegistry::registerPass). */
START_TEST(old_return_address_below_an_argument) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* call OTHER */ 0xe8, 0xfb, 0, 0, 0, /* sub $12, %esp; push %edi */ 0x83, 0xec, 12,
          0x57, /* call *%eax; add $16, %esp */ 0xff, 0xd0, 0x83, 0xc4, 16,
          /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xe9, 1, 0, 0,
          /* add $12, %esp; jne +4 */ 0x83, 0xc4, 12, 0x75, 4, /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3,
          /* call *%eax */ 0xff, 0xd0, /* the next function: ret */ 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, /* of the first call: */ FUNCTION + 5, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION + 8, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 8, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 44);
}
END_TEST

/* The first return after the callee's start is the next function's, after a call that never returns. So the callee
 * seems to remove an argument, and does not. */
START_TEST(return_of_the_function_after_the_callee) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, TAKES, /* je +5; call *%eax */ 0x74, 5, 0xff, 0xd0, /* ret $4 */ 0xc2, 4, 0, /* ret */ 0xc3);
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xf7, 1, 0,
          0, /* add $16, %esp; add $28, %esp; ret */ 0x83, 0xc4, 16, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, 7, 0);
}
END_TEST

/* A path that does not count what the callee removes ends at an old return address, which belongs to nothing here
 * (python3's _PyConfig_Copy). */
START_TEST(old_return_address_of_another_function) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, OLD - 2, /* call *%eax; hlt */ 0xff, 0xd0, 0xf4);
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xf7, 1, 0,
          0, /* add $12, %esp; add $28, %esp; ret */ 0x83, 0xc4, 12, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, OLD, 0);
}
END_TEST

/* Many calls with branches between them, whose targets wait to be followed. The arguments of calls that have returned
 * take no room in the exploration's log (clang's main). */
START_TEST(arguments_of_many_calls) {
    struct fixture *f = begin_i386();
    static const uint8_t round[] = {/* mov 0(%esp), %esi; push %esi, twice */ 0x8b,
                                    0x74,
                                    0x24,
                                    0,
                                    0x56,
                                    0x56,
                                    /* call *%eax; add $8, %esp */ 0xff,
                                    0xd0,
                                    0x83,
                                    0xc4,
                                    8,
                                    /* je +2; jmp +2; ud2 */ 0x74,
                                    2,
                                    0xeb,
                                    2,
                                    0x0f,
                                    0x0b};
    uint8_t code[40 * sizeof round];
    for (unsigned i = 0; i < 40; i++) {
        memcpy(code + i * sizeof round, round, sizeof round);
        /* In each round another variable. */
        code[i * sizeof round + 3] = (uint8_t)(4 * (i % 8));
    }
    image_bytes(&f->memory, LONG, code, sizeof code);
    CODE8(&f->memory, LONG + sizeof code, /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, LONG, 7, 0);
}
END_TEST

/* An old return address at sp follows a call of a bound entry of the linkage table. The entry's jump leads to one place
 * only, and is not a switch with the code after it as a case. Otherwise the address would seem to be the caller, whose
 * callee leads here. */
START_TEST(old_call_of_a_bound_function) {
    const usp_addr entry = FUNCTION - 6, old = OLD + 5;
    struct fixture *f = begin_i386();
    CODE8(&f->memory, OLD, /* call entry; hlt */ 0xe8, 0xf5, 0, 0, 0, 0xf4);
    CODE8(&f->memory, entry, /* jmp *POINTER */ 0xff, 0x25, 0, 0, 0x30, 0, /* call *%eax */ 0xff, 0xd0,
          /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, POINTER, 4, OTHER);
    WORDS(&f->memory, STACK, 4, old, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
}
END_TEST

int main(void) {
    TCase *paths = tcase_create("ways");
    add_tests(paths, old_return_address_below_an_argument, return_of_the_function_after_the_callee,
              old_return_address_of_another_function, arguments_of_many_calls, old_call_of_a_bound_function);
    return run_suite("arguments", paths);
}
