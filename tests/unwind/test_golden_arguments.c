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

/* The callee removes the first of four arguments that were pushed. The next call's arguments follow, and there the
 * stack pointer is a multiple of 16 again (clang's main, in which each way to the return leads through such calls). */
START_TEST(one_of_the_pushed_arguments) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call *%eax */ 0xff, 0xd0,
          /* add $4, %esp; push %ecx; push %ecx */ 0x83, 0xc4, 4, 0x51, 0x51, /* call *%edx */ 0xff, 0xd2,
          /* add $16, %esp; add $28, %esp; ret */ 0x83, 0xc4, 16, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, 7, 0);
}
END_TEST

/* The caller reserves the space of the argument again. After another call it only aligns the stack for a push. */
START_TEST(space_reserved_again_and_alignment) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* call *%eax; sub $4, %esp */ 0xff, 0xd0, 0x83, 0xec, 4, /* call *%edx */ 0xff, 0xd2,
          /* sub $12, %esp; push %ecx; call *%edx */ 0x83, 0xec, 12, 0x51, 0xff, 0xd2,
          /* add $16, %esp; add $28, %esp; ret */ 0x83, 0xc4, 16, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, 7, 0);
}
END_TEST

/* The dynamic linker is still looking for the callee, so the argument is on the stack. The next callee removes one, too,
 * and has been found. Where the caller's return address would be without the argument is an old one, which an earlier
 * call has left (clang's main). */
START_TEST(argument_of_a_call_that_is_not_bound) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, TAKES, /* nop; ret $4 */ 0x90, 0xc2, 4, 0);
    CODE8(&f->memory, FUNCTION - 7, /* call OTHER; call *%eax */ 0xe8, 2, 1, 0, 0, 0xff, 0xd0,
          /* sub $4, %esp; call TAKES; sub $4, %esp */ 0x83, 0xec, 4, 0xe8, 0xf8, 1, 0, 0, 0x83, 0xec, 4,
          /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, FUNCTION, /* the argument: */ 7, 7, 7, 7, 7, 7, FUNCTION - 2, CALLER, 0);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 36);
}
END_TEST

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

/* No other call follows the one whose callee removes an argument. But at the function's return, too, the distance to the
 * last call shows it (libstdc++'s time_get::get). */
START_TEST(last_call_before_the_return) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call *%eax */ 0xff, 0xd0,
          /* add $12, %esp; add $28, %esp; ret */ 0x83, 0xc4, 12, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, 7, 0);
}
END_TEST

/* The callee's only return is before the code that its start leads to, which ends without one (Rust's rg). The caller's
 * stack is not aligned, so only the callee shows what it removes. */
START_TEST(callee_with_its_return_in_the_middle) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, TAKES, /* jmp +3; ret $4; je -5; ud2 */ 0xeb, 3, 0xc2, 4, 0, 0x74, 0xfb, 0x0f, 0x0b);
    CODE8(&f->memory, FUNCTION, /* push %ecx, three times */ 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xf8, 1, 0, 0,
          /* add $8, %esp; add $28, %esp; ret */ 0x83, 0xc4, 8, 0x83, 0xc4, 28, 0xc3);
    expect_caller(f, FUNCTION, 7, 0);
}
END_TEST

/* The first return after the callee's start is the next function's, after a call that never returns. So the callee seems
 * to remove an argument, and does not. */
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

/* The interrupted function removes an argument, and is too long for its return to be found from its start. Its caller
 * shows it (Rust's rg). */
START_TEST(argument_removed_by_a_long_function) {
    static uint8_t code[2000];
    const usp_addr caller = FUNCTION + 5;
    struct fixture *f = begin_i386();
    memset(code, /* nop */ 0x90, sizeof code);
    memcpy(code, /* call *%eax */ "\xff\xd0", 2);
    memcpy(code + sizeof code - 3, /* ret $4 */ "\xc2\4", 3);
    image_bytes(&f->memory, LONG, code, sizeof code);
    CODE8(&f->memory, FUNCTION, /* call LONG */ 0xe8, 0xfb, 3, 0, 0, /* add $8, %esp; ret */ 0x83, 0xc4, 8, 0xc3);
    WORDS(&f->memory, STACK, 4, caller, /* the argument: */ 7, 7, 7, CALLER, 0);
    set_registers(f, LONG, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, LONG, caller, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 8);
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

/* After the last call comes a tail call, to a function that obtains its own address: from a short function (0), or by
 * a call of the next instruction (1). The stack pointer is not aligned there, so nothing follows about the last call. A
 * wrong path ends at an old return address (libcrypto, sqlite3). */
START_TEST(call_that_reads_the_pc) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, OLD - 2, /* call *%eax; hlt */ 0xff, 0xd0, 0xf4);
    CODE8(&f->memory, OTHER + 32, /* mov (%esp), %ebx; ret */ 0x8b, 0x1c, 0x24, 0xc3);
    CODE8(&f->memory, FUNCTION, /* call *%eax; add $28, %esp */ 0xff, 0xd0, 0x83, 0xc4, 28, /* jmp LONG */ 0xe9, 0xf6,
          3, 0, 0);
    if (_i == 0) {
        CODE8(&f->memory, LONG, /* call OTHER + 32 */ 0xe8, 0x1b, 0xfd, 0xff, 0xff, /* sub $12, %esp */ 0x83, 0xec, 12,
              /* call *%edx; add $12, %esp; ret */ 0xff, 0xd2, 0x83, 0xc4, 12, 0xc3);
    } else {
        CODE8(&f->memory, LONG, /* call +0; pop %ecx */ 0xe8, 0, 0, 0, 0, 0x59, /* sub $12, %esp */ 0x83, 0xec, 12,
              /* call *%edx; add $12, %esp; ret */ 0xff, 0xd2, 0x83, 0xc4, 12, 0xc3);
    }
    expect_caller(f, FUNCTION, 7, OLD);
}
END_TEST

/* An old return address at sp follows a call of a bound entry of the linkage table. The entry's jump leads to one place
 * only, and is no switch with the code after it as a case. Otherwise the address would seem to be the caller, whose
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
    TCase *ways = tcase_create("ways");
    add_tests(ways, one_of_the_pushed_arguments, space_reserved_again_and_alignment,
              argument_of_a_call_that_is_not_bound, old_return_address_below_an_argument, last_call_before_the_return,
              callee_with_its_return_in_the_middle, return_of_the_function_after_the_callee,
              old_return_address_of_another_function, argument_removed_by_a_long_function, arguments_of_many_calls,
              old_call_of_a_bound_function);
    tcase_add_loop_test(ways, call_that_reads_the_pc, 0, 2);
    return run_suite("arguments", ways);
}
