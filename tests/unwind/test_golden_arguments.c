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
#define FUNCTION UINT64_C(0x100400)
#define OTHER    UINT64_C(0x100500)
#define TAKES    UINT64_C(0x100600)
#define LONG     UINT64_C(0x100800)

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

/* No other call follows the one whose callee removes an argument. But at the function's return, too, the distance to the
 * last call shows it (libstdc++'s time_get::get). */
START_TEST(last_call_before_the_return) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call *%eax */ 0xff, 0xd0,
          /* add $12, %esp; add $28, %esp; ret */ 0x83, 0xc4, 12, 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

/* The callee's only return is before the code that its start leads to, which ends without one (Rust's rg). The caller's
 * stack is not aligned, so only the callee shows what it removes. */
START_TEST(callee_with_its_return_in_the_middle) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, TAKES, /* jmp +3; ret $4; je -5; ud2 */ 0xeb, 3, 0xc2, 4, 0, 0x74, 0xfb, 0x0f, 0x0b);
    CODE8(&f->memory, FUNCTION, /* push %ecx, three times */ 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xf8, 1, 0, 0,
          /* add $8, %esp; add $28, %esp; ret */ 0x83, 0xc4, 8, 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

/* A path that does not count what the callee removes ends at an old return address, which belongs to nothing here
 * (python3's _PyConfig_Copy). */
START_TEST(old_return_address_of_another_function) {
    const usp_addr old = OTHER - 64;
    struct fixture *f = begin_i386();
    CODE8(&f->memory, old - 2, /* call *%eax; hlt */ 0xff, 0xd0, 0xf4);
    CODE8(&f->memory, FUNCTION, /* push %ecx, four times */ 0x51, 0x51, 0x51, 0x51, /* call TAKES */ 0xe8, 0xf7, 1, 0,
          0, /* add $12, %esp; add $28, %esp; ret */ 0x83, 0xc4, 12, 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, old, CALLER, 0);
    set_registers(f, FUNCTION, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
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
    uint8_t code[1024];
    size_t size = 0;
    for (uint8_t i = 0; i < 40; i++) {
        const uint8_t round[] = {/* mov 4 i(%esp), %esi */ 0x8b,
                                 0x74,
                                 0x24,
                                 (uint8_t)(4 * (i % 8)),
                                 /* push %esi, twice; call *%eax */ 0x56,
                                 0x56,
                                 0xff,
                                 0xd0,
                                 /* add $8, %esp; je +2; jmp +2; ud2 */ 0x83,
                                 0xc4,
                                 8,
                                 0x74,
                                 2,
                                 0xeb,
                                 2,
                                 0x0f,
                                 0x0b};
        memcpy(code + size, round, sizeof round);
        size += sizeof round;
    }
    image_bytes(&f->memory, LONG, code, size);
    CODE8(&f->memory, LONG + size, /* add $28, %esp; ret */ 0x83, 0xc4, 28, 0xc3);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, 7, 7, 7, 7, CALLER, 0);
    set_registers(f, LONG, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, LONG, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

int main(void) {
    TCase *ways = tcase_create("ways");
    add_tests(ways, one_of_the_pushed_arguments, space_reserved_again_and_alignment,
              argument_of_a_call_that_is_not_bound, old_return_address_below_an_argument, last_call_before_the_return,
              callee_with_its_return_in_the_middle, old_return_address_of_another_function,
              argument_removed_by_a_long_function, arguments_of_many_calls);
    return run_suite("arguments", ways);
}
