/* SPDX-License-Identifier: MIT */
/* Golden stacks of i386 functions whose callees remove an argument from the stack, mostly the address of a struct that
 * they return. The callees are not known: called through a register, or not bound yet. */
#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/golden.h"
#include "tests/support/suite.h"

#define STACK    UINT64_C(0x7fff0000)
#define CALLER   UINT64_C(0x100200)
#define FUNCTION UINT64_C(0x100400)
#define OTHER    UINT64_C(0x100500)
#define TAKES    UINT64_C(0x100600)

static struct fixture *begin_i386(void) {
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    CODE8(&f->memory, OTHER, /* nop; ret */ 0x90, 0xc3);
    CODE8(&f->memory, TAKES, /* nop; ret $4 */ 0x90, 0xc2, 4, 0);
    return f;
}

/* The callee removes the first of four arguments that were pushed. The next call's arguments follow, and there the
 * stack pointer is a multiple of 16 again (clang's main, in which each way to the return leads through such calls). */
START_TEST(one_of_the_pushed_arguments) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call *%eax */ 0xff, 0xd0,
          /* add $4, %esp; push %ecx; push %ecx */ 0x83, 0xc4, 4, 0x51, 0x51, /* call *%edx */ 0xff, 0xd2,
          /* add $16, %esp; add $28, %esp; ret */ 0x83, 0xc4, 16, 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

/* The caller reserves the space of the argument again. After another call it only aligns the stack for a push. */
START_TEST(space_reserved_again_and_alignment) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* call *%eax; sub $4, %esp */ 0xff, 0xd0, 0x83, 0xec, 4, /* call *%edx */ 0xff, 0xd2,
          /* sub $12, %esp; push %ecx; call *%edx */ 0x83, 0xec, 12, 0x51, 0xff, 0xd2,
          /* add $16, %esp; add $28, %esp; ret */ 0x83, 0xc4, 16, 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

/* The dynamic linker is still looking for the callee, so the argument is on the stack. */
START_TEST(argument_of_a_call_that_is_not_bound) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION - 2, /* call *%eax */ 0xff, 0xd0, /* sub $4, %esp; call *%edx */ 0x83, 0xec, 4, 0xff,
          0xd2, /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, FUNCTION, /* the argument: */ 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 36);
}
END_TEST

/* The argument that a callee removes is not counted at first, so a path past a call that never returns enters the next
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

int main(void) {
    TCase *ways = tcase_create("ways");
    add_tests(ways, one_of_the_pushed_arguments, space_reserved_again_and_alignment,
              argument_of_a_call_that_is_not_bound, old_return_address_below_an_argument);
    return run_suite("arguments", ways);
}
