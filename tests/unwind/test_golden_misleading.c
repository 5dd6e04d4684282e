/* SPDX-License-Identifier: MIT */
/* Golden stacks of frames whose instructions mislead: into dead frames, neighbouring functions, other functions' jump
 * tables. Most stacks also hold the caller's frame record: a walk that takes it too early misses the caller. */
#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/golden.h"
#include "tests/support/suite.h"

#define STACK    UINT64_C(0x7fff0000)
#define RA2      UINT64_C(0x12220)
#define CALLER   UINT64_C(0x100200) /* the instruction after a call of FUNCTION */
#define STALE    UINT64_C(0x100304) /* the instruction after another call */
#define FUNCTION UINT64_C(0x100400)
#define OTHER    UINT64_C(0x100500)
#define LONG     UINT64_C(0x100800)
#define FAR      UINT64_C(0x8000000)

static usp_addr function_end;

static int function_start(void *context, usp_addr pc, usp_addr *start, usp_addr *end) {
    (void)context;
    if (pc < FUNCTION || pc >= function_end) return USP_ERROR_NOT_FOUND;
    *start = FUNCTION;
    *end = function_end;
    return 0;
}

static void offer_function(struct fixture *f, usp_addr size) {
    function_end = FUNCTION + size;
    f->target.function_start = function_start;
}

static void set_register(struct fixture *f, unsigned reg, usp_addr value) {
    f->registers.value[reg] = value;
    f->registers.known |= UINT64_C(1) << reg;
}

static struct fixture *begin_arm64(void) {
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_LINUX);
    CODE32(&f->memory, CALLER - 4, /* bl FUNCTION */ 0x94000081, /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd,
           /* ret */ 0xd65f03c0);
    CODE32(&f->memory, STALE - 4, /* bl */ 0x94000040, /* ret */ 0xd65f03c0);
    CODE32(&f->memory, RA2 - 4, /* blr x8 */ 0xd63f0100, /* ret */ 0xd65f03c0);
    return f;
}

static struct fixture *begin_x86_64(void) {
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 5, /* call FUNCTION */ 0xe8, 0, 2, 0, 0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, STALE - 2, /* call *%rax */ 0xff, 0xd0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, RA2 - 2, /* call *%rax */ 0xff, 0xd0, /* hlt */ 0xf4);
    return f;
}

/* A function undoes its frame for a tail call, and the next function makes its own frame in the same place. The return
 * address is in the link register again; the one saved below is stale. */
START_TEST(tail_call_over_a_dead_frame) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* stp x29, x30, [sp, #-32]! */ 0xa9be7bfd, /* mov x29, sp */ 0x910003fd,
           /* bl */ 0x94000100, /* ldp x29, x30, [sp], #32 */ 0xa8c27bfd, /* b OTHER */ 0x1400003c);
    CODE32(&f->memory, OTHER, /* sub sp, sp, #48 */ 0xd100c3ff, /* nop */ 0xd503201f, /* add sp, sp, #48 */ 0x9100c3ff,
           /* b */ 0x14000001, /* paciasp */ 0xd503233f, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, 0, 0, /* the dead record: */ 7, STALE, 0, 0, /* the caller's: */ 0, RA2);
    set_registers(f, OTHER + 4, STACK, STACK + 48);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER + 4, CALLER, RA2);
}
END_TEST

/* A jump that leaves a function ends it, even a jump to the function directly after it. */
START_TEST(jump_to_the_neighbour) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* udf */ 0, /* b, to the next instruction */ 0x14000001, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 4, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER);
    offer_function(f, 8);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 4, CALLER, RA2);
}
END_TEST

/* A stub: after its jump lies code that would undo the caller's record. The call before the link register's address
 * calls the stub. */
START_TEST(stub_before_an_epilogue) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* ldr x17, [x16] */ 0xf9400211, /* br x17 */ 0xd61f0220,
           /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
}
END_TEST

/* A frame is undone before an indirect jump: the return address was loaded off the stack. After the jump, where a
 * switch would continue, lies code that would undo the caller's record. */
START_TEST(frame_given_up_before_a_jump) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* nop */ 0xd503201f, /* ldp x17, x30, [sp], #16 */ 0xa8c17bf1,
           /* br x16 */ 0xd61f0200,
           /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 16);
    usp_registers_set_lr(&f->registers, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
}
END_TEST

/* The return address moves to another register, and the link register is used for something else. */
START_TEST(return_address_in_another_register) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* mov x11, x30 */ 0xaa1e03eb, /* mov x30, xzr */ 0xaa1f03fe, /* nop */ 0xd503201f,
           /* br x11 */ 0xd61f0160);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 8, STACK, STACK);
    set_register(f, 11, CALLER);
    usp_registers_set_lr(&f->registers, 0);
    offer_function(f, 16);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 8, CALLER, RA2);
}
END_TEST

/* x86: the return address is popped off the stack, and a jump returns to it. */
START_TEST(return_address_off_the_stack) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* pop rdx; nop; jmp *%rdx */ 0x5a, 0x90, 0xff, 0xe2);
    WORDS(&f->memory, STACK, 8, /* dead: */ 0, 0, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 1, STACK + 16, STACK + 16);
    f->registers.value[1] = CALLER; /* rdx */
    f->registers.known |= UINT64_C(1) << 1;
    offer_function(f, 4);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 1, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
}
END_TEST

/* The epilogue takes the return address from below the arguments and pushes it in their place. So the callee removes
 * the arguments, however many there are (V8's Builtins_CEntry_*_ArgvOnStack). The word in that place before the push is
 * stale. */
START_TEST(return_address_put_over_arguments) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* leave; pop rcx; lea rsp, [r15 + 8]; push rcx; ret */ 0xc9, 0x59, 0x49, 0x8d, 0x67, 8,
          0x51, 0xc3);
    /* mov rbp, [rbp]; add rsp, 16; ret */
    CODE8(&f->memory, CALLER, 0x48, 0x8b, 0x6d, 0, 0x48, 0x83, 0xc4, 16, 0xc3);
    WORDS(&f->memory, STACK, 8, /* our record: */ STACK + 32, CALLER, /* the argument: */ STALE, 0,
          /* the caller's: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK);
    f->registers.value[15] = STACK + 16;
    f->registers.known |= UINT64_C(1) << 15;
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 24);
}
END_TEST

/* The called function is unknown: an address that is popped and jumped to must be taken for the return address. */
START_TEST(pop_and_jump) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* pop rdx; jmp *%rdx */ 0x5a, 0xff, 0xe2);
    WORDS(&f->memory, STACK, 8, STALE, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 8);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, STALE, RA2);
}
END_TEST

/* A dynamic linker enters the function that it has found: it stores the function's address on the stack, and returns to
 * it. That address must not become a frame. */
START_TEST(return_to_what_was_stored) {
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    CODE8(&f->memory, FUNCTION, /* push eax; push ecx; push edx */ 0x50, 0x51, 0x52,
          /* mov 16(%esp), %edx */ 0x8b, 0x54, 0x24, 16, /* mov 12(%esp), %eax */ 0x8b, 0x44, 0x24, 12,
          /* call OTHER */ 0xe8, 0xf0, 0, 0, 0, /* pop edx */ 0x5a, /* mov (%esp), %ecx */ 0x8b, 0xc, 0x24,
          /* mov %eax, (%esp) */ 0x89, 4, 0x24,
          /* mov 4(%esp), %eax */ 0x8b, 0x44, 0x24, 4, /* ret $12 */ 0xc2, 12, 0);
    CODE8(&f->memory, OTHER, /* nop; ret */ 0x90, 0xc3);
    CODE8(&f->memory, CALLER - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    WORDS(&f->memory, STACK, 4, FUNCTION + 16, /* edx, ecx, eax: */ 7, 7, STALE, /* arguments: */ 7, 7, CALLER);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, FUNCTION + 16, CALLER);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 28);
}
END_TEST

/* A return removes an argument from the stack, in a function of which only the start is known; a trap may precede the
 * return. Its caller removes the other arguments. */
START_TEST(argument_taken_by_the_callee) {
    const usp_addr pc = FUNCTION + (_i == 0 ? 11 : 15);
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    if (_i == 0) {
        CODE8(&f->memory, FUNCTION, /* sub $8, %esp */ 0x83, 0xec, 8, /* je */ 0x74, 6, /* add $8, %esp */ 0x83, 0xc4,
              8, /* ret $4 */ 0xc2, 4, 0, /* nop; hlt */ 0x90, 0xf4);
    } else {
        CODE8(&f->memory, FUNCTION, /* sub $8, %esp */ 0x83, 0xec, 8, /* je */ 0x74, 10, /* jne +2; ud2 */ 0x75, 2,
              0x0f, 0x0b, /* add $8, %esp */ 0x83, 0xc4, 8, /* ret $4 */ 0xc2, 4, 0, /* nop; hlt */ 0x90, 0xf4);
    }
    CODE8(&f->memory, CALLER - 5, /* call FUNCTION */ 0xe8, 0, 2, 0, 0, /* add $12, %esp; ret */ 0x83, 0xc4, 12, 0xc3);
    CODE8(&f->memory, RA2 - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    WORDS(&f->memory, STACK, 4, 0, 0, CALLER, /* arguments: */ 7, 7, 7, 7, RA2, 0);
    set_registers(f, pc, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, pc, CALLER, RA2);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + 32);
}
END_TEST

/* A large function repeats sixty times: a call whose argument is an address of the image, and a branch. They say
 * nothing about how the function returns, and the search must get past them. */
START_TEST(large_function) {
    static const uint8_t piece[] = {
        /* lea 64(%ebx), %edi; push %edi */ 0x8d,   0x7b, 64,   0x57,
        /* call *%eax; add $4, %esp; je +0 */ 0xff, 0xd0, 0x83, 0xc4, 4, 0x74, 0};
    static const uint8_t path_out[] = {/* add $8, %esp; pop %ebx; ret */ 0x83, 0xc4, 8, 0x5b, 0xc3};
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    uint8_t code[60 * sizeof piece + sizeof path_out];
    for (unsigned i = 0; i < 60; i++) memcpy(code + i * sizeof piece, piece, sizeof piece);
    memcpy(code + sizeof code - sizeof path_out, path_out, sizeof path_out);
    image_bytes(&f->memory, OTHER, code, sizeof code);
    CODE8(&f->memory, CALLER - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    WORDS(&f->memory, STACK, 4, 7, 7, 7, CALLER, 0);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, CALLER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
}
END_TEST

/* A large function, between one of its calls and its return (libcrypto's key generation). */
START_TEST(return_is_far_from_the_call) {
    static const uint8_t call[] = {/* call FUNCTION */ 0xe8, 0xfb, 0xfe, 0xff, 0xff};
    static const uint8_t path_out[] = {/* add rsp, 16; ret */ 0x48, 0x83, 0xc4, 16, 0xc3};
    struct fixture *f = begin_x86_64();
    uint8_t code[3000];
    memset(code, /* nop */ 0x90, sizeof code);
    memcpy(code, call, sizeof call);
    memcpy(code + sizeof code - sizeof path_out, path_out, sizeof path_out);
    image_bytes(&f->memory, OTHER, code, sizeof code);
    CODE8(&f->memory, FUNCTION, /* ret */ 0xc3);
    WORDS(&f->memory, STACK, 8, OTHER + sizeof call, 7, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 32);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, OTHER + sizeof call, CALLER, RA2);
}
END_TEST

/* After a call the link register is stale. A path leads to code that stores it in a frame of its own, loads it and
 * returns: to where, is not known. The word that was in the slot before looks like a return address. */
START_TEST(stale_link_register_is_stored) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, OTHER, /* cbz x0, OTHER + 20 */ 0xb40000a0, /* bl OTHER + 0x40 */ 0x9400000f,
           /* ldr x30, [sp, #24] */ 0xf9400ffe, /* add sp, sp, #32 */ 0x910083ff, /* ret */ 0xd65f03c0,
           /* bl OTHER + 0x40 */ 0x9400000b, /* str x30, [sp, #-16]! */ 0xf81f0ffe, /* str x0, [sp, #8] */ 0xf90007e0,
           /* ldr x30, [sp], #16 */ 0xf84107fe, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK - 16, 8, STALE, 7, 7, 7, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, OTHER, STACK, STACK + 32);
    usp_registers_set_lr(&f->registers, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

/* Data follows a call that never returns. As code it moves sp and jumps to the way out, before the path that is right
 * gets there. */
START_TEST(data_that_leads_to_the_return) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* cbz x0, FUNCTION + 16 */ 0xb4000080, /* bl OTHER */ 0x9400003f,
           /* ldr x30, [sp], #32 */ 0xf84207fe, /* ret */ 0xd65f03c0, /* bl OTHER */ 0x9400003c,
           /* add sp, sp, #16 */ 0x910043ff, /* b FUNCTION + 8 */ 0x17fffffc);
    WORDS(&f->memory, STACK, 8, CALLER, 7, 7, 7, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 32);
    usp_registers_set_lr(&f->registers, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
}
END_TEST

/* A constructor copies many words into its object by way of registers that it has saved (node's Isolate::Isolate). What
 * a path knows of the object must not leave too little room for what it knows of the frame. */
START_TEST(object_of_many_fields) {
    uint64_t code[2 * 120 + 3];
    unsigned count = 0;
    struct fixture *f = begin_arm64();
    for (uint32_t i = 0; i < 120; i++) {
        code[count++] = 0xf9400034 | i << 10; /* ldr x20, [x1, #8 * i] */
        code[count++] = 0xf9000014 | i << 10; /* str x20, [x0, #8 * i] */
    }
    code[count++] = 0xf9400bf4; /* ldr x20, [sp, #16] */
    code[count++] = 0xf84207fe; /* ldr x30, [sp], #32 */
    code[count++] = 0xd65f03c0; /* ret */
    image_words(&f->memory, FUNCTION, 4, code, count);
    WORDS(&f->memory, STACK, 8, CALLER, 7, 7, 7, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 32);
    usp_registers_set_lr(&f->registers, 0);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
}
END_TEST

/* glibc's rawmemchr for arm64 knows that strlen preserves x15, and keeps its return address there while it calls it:
 * "mov x15, x30; bl strlen; add x0, x14, x0; ret x15". Its caller must not be skipped in a loop of strlen. Where x15
 * has another value, the frame record must be used. */
START_TEST(return_address_kept_over_a_call) {
    for (unsigned i = 0; i < 2; i++) {
        struct fixture *f = begin_arm64();
        CODE32(&f->memory, FUNCTION, /* mov x15, x30 */ 0xaa1e03ef,
               /* bl OTHER */ 0x94000000 | (OTHER - FUNCTION - 4) / 4,
               /* add x0, x14, x0 */ 0x8b0001c0, /* ret x15 */ 0xd65f01e0);
        CODE32(&f->memory, OTHER, /* ldrb w1, [x0], #1 */ 0x38401401, /* cbnz w1, OTHER */ 0x35ffffe1,
               /* ret */ 0xd65f03c0);
        WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
        set_registers(f, OTHER + 4, STACK, STACK);
        usp_registers_set_lr(&f->registers, FUNCTION + 8);
        set_register(f, 15, i == 0 ? CALLER : STACK);
        if (i == 0) {
            EXPECT(f, USP_STOP_FP_ZERO, OTHER + 4, FUNCTION + 8, CALLER, RA2);
        } else {
            EXPECT(f, USP_STOP_FP_ZERO, OTHER + 4, FUNCTION + 8, RA2);
        }
    }
}
END_TEST

/* Go's code begins a function again after it has called for a larger stack. A path that gets there after another call
 * would push a stale link register, and reach the way out before the path that is right. */
START_TEST(function_begun_again) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, OTHER, /* str x30, [sp, #-32]! */ 0xf81e0ffe, /* cbz x1, OTHER + 24 */ 0xb40000a1,
           /* bl OTHER + 0x40 */ 0x9400000e, /* cbz x0, OTHER + 32 */ 0xb40000a0, /* bl OTHER + 0x40 */ 0x9400000c,
           /* nop */ 0xd503201f, /* ldr x30, [sp], #32 */ 0xf84207fe, /* ret */ 0xd65f03c0,
           /* bl OTHER + 0x40 */ 0x94000008, /* b OTHER */ 0x17fffff7);
    WORDS(&f->memory, STACK, 8, CALLER, 7, 7, 7, /* the caller's record: */ 0, RA2);
    set_registers(f, OTHER + 12, STACK, STACK + 32);
    usp_registers_set_lr(&f->registers, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER + 12, CALLER, RA2);
}
END_TEST

/* A memory barrier is a locked operation on the word at sp, which it leaves as it is: in a leaf function, the return
 * address (sqlite3's sqlite3MemoryBarrier, "lock or $0, (sp); ret"). */
START_TEST(barrier_on_the_return_address) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, OTHER - 2, /* call *%rax; ret */ 0xff, 0xd0, 0xc3);
    CODE8(&f->memory, FUNCTION, /* lock orq $0, (%rsp) */ 0xf0, 0x48, 0x83, 0x0c, 0x24, 0, /* ret */ 0xc3);
    WORDS(&f->memory, STACK, 8, OTHER, 0, 0, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 24);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, OTHER, RA2);
}
END_TEST

/* One case of a switch tail-calls a function with a frame and a switch of its own. The other case, which only the first
 * switch reaches, has no frame. */
START_TEST(switch_beside_anothers) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* je +2 */ 0x74, 2, /* jmp *%rax */ 0xff, 0xe0, /* jmp OTHER */ 0xe9, 0xf7, 0, 0, 0,
          /* the other case: mov %edx, %edi */ 0x89, 0xd7, /* hlt */ 0xf4);
    CODE8(&f->memory, OTHER, /* push rbp; mov rbp, rsp */ 0x55, 0x48, 0x89, 0xe5, /* jmp *%rcx */ 0xff, 0xe1, 0xf4);
    WORDS(&f->memory, STACK, 8, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 9, STACK, STACK + 8);
    offer_function(f, 12);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 9, CALLER, RA2);
}
END_TEST

/* Code after a switch belongs to a branch that pushes a word and has a switch of its own: with that word on the stack,
 * the next code returns to what is not a return address. A further case of the first switch leads to the return (0),
 * unless the function is known to end before it (1). */
START_TEST(switch_with_several_cases) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* nop; jmp *%rax */ 0x90, 0xff, 0xe0, /* push %rcx; jmp *%rax */ 0x51, 0xff, 0xe0,
          /* add $8, %rsp; ret */ 0x48, 0x83, 0xc4, 8, 0xc3, /* the same */ 0x48, 0x83, 0xc4, 8, 0xc3);
    WORDS(&f->memory, STACK, 8, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 16);
    if (_i == 0) {
        EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
    } else {
        offer_function(f, 11);
        EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, RA2);
    }
}
END_TEST

/* An indirect tail call of a function without a frame. The code after it is not a further case of a switch: it undoes
 * another function's frame. */
START_TEST(tail_call_before_an_epilogue) {
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, FUNCTION, /* ldr x1, [x2] */ 0xf9400041, /* br x1 */ 0xd61f0020, /* udf #0 */ 0,
           /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd, /* ret */ 0xd65f03c0);
    CODE32(&f->memory, OTHER - 4, /* blr x8 */ 0xd63f0100, /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd,
           /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ STACK + 16, STALE, /* its caller's: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK);
    usp_registers_set_lr(&f->registers, OTHER);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, OTHER, STALE, RA2);
}
END_TEST

/* An old return address lies below the frame of a function with a switch: the switch's jump must not be taken for a
 * tail call. */
START_TEST(switch_above_an_old_return_address) {
    const usp_addr old = UINT64_C(0x100280);
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, old - 5, /* call OTHER */ 0xe8, 0x80, 2, 0, 0, /* ret */ 0xc3);
    CODE8(&f->memory, OTHER, /* ret */ 0xc3);
    CODE8(&f->memory, FUNCTION, /* sub rsp, 8 */ 0x48, 0x83, 0xec, 8, /* nop; jmp *%rax */ 0x90, 0xff, 0xe0,
          /* a case: add rsp, 8; ret */ 0x48, 0x83, 0xc4, 8, 0xc3);
    WORDS(&f->memory, STACK, 8, old, STALE, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 4, STACK, STACK + 16);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 4, STALE, RA2);
}
END_TEST

/* An operand looks like a push of rbp, and an old return address lies on the stack. No function may be taken to begin
 * there. */
START_TEST(operand_that_looks_like_a_push) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, OTHER - 2, /* call *%rax */ 0xff, 0xd0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, FUNCTION, /* push rbp; mov rbp, rsp; sub rsp, 32 */ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 32,
          /* mov %edx, -0x70(%rbp) */ 0x89, 0x55, 0x90, /* hlt */ 0xf4);
    WORDS(&f->memory, STACK, 8, 0, STALE, 0, 0, /* our record: */ STACK + 48, OTHER, /* the caller's: */ 0, RA2);
    set_registers(f, FUNCTION + 11, STACK, STACK + 32);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 11, OTHER, RA2);
}
END_TEST

/* Code after a call that never returns is reached by a jump, with the stack as it was before the call's arguments. */
START_TEST(after_a_call_that_does_not_return) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* push rbx; call OTHER */ 0x53, 0xe8, 0xfa, 0, 0, 0, /* je */ 0x74, 9,
          /* sub rsp, 16; call OTHER */ 0x48, 0x83, 0xec, 16, 0xe8, 0xef, 0, 0, 0, /* nop; hlt */ 0x90, 0xf4);
    CODE8(&f->memory, OTHER, /* ret */ 0xc3);
    WORDS(&f->memory, STACK, 8, /* rbx: */ 7, CALLER, 0, STALE, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 17, STACK, STACK + 32);
    offer_function(f, 19);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 17, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 16);
}
END_TEST

/* The way to the function's return leads through code that cannot be read. What remains leads past a call that never
 * returns to the next function, where it looks like a tail call: a stale word at sp must not replace the record. */
START_TEST(path_to_the_return_cannot_be_read) {
    const usp_addr unreadable = 0x300100;
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, OTHER, /* ret */ 0xc3);
    CODE8(&f->memory, FUNCTION, /* call OTHER */ 0xe8, 0xfb, 0, 0, 0, /* je FUNCTION + 64 */ 0x74, 57);
    CODE8(&f->memory, FUNCTION + 64, /* call *%rax; nop */ 0xff, 0xd0, 0x90, /* endbr64 */ 0xf3, 0x0f, 0x1e, 0xfa);
    WORDS(&f->memory, STACK, 8, FUNCTION + 5, STALE, 0, /* our record: */ 0, unreadable);
    set_registers(f, OTHER, STACK, STACK + 24);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, FUNCTION + 5, unreadable);
    ck_assert_uint_eq(f->frames[2].flags, USP_FRAME_UNVERIFIED);
}
END_TEST

/* Two consecutive instructions have one condition: if it does not hold, both are skipped. */
START_TEST(skipped_together) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_DARWIN);
    CODE16(&f->memory, CALLER - 4, /* bl FUNCTION */ 0xf000, 0xf900, /* pop {r7, pc} */ 0xbd80);
    CODE16(&f->memory, FUNCTION, /* sub sp, #4 */ 0xb081, /* itt eq */ 0xbf04, /* addeq sp, #4 */ 0xb001,
           /* bxeq lr */ 0x4770, /* add sp, #4 */ 0xb001, /* udf */ 0xde00);
    WORDS(&f->memory, STACK, 4, /* the caller's record: */ 0, RA2);
    set_registers(f, (FUNCTION + 10) | 1, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER | 1);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 10, CALLER, RA2);
}
END_TEST

static struct fixture *begin_armv7(void) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_LINUX);
    CODE32(&f->memory, CALLER - 4, /* bl FUNCTION */ 0xeb00007f, /* pop {pc} */ 0xe49df004);
    CODE32(&f->memory, STALE - 4, /* blx r3 */ 0xe12fff33, /* pop {pc} */ 0xe49df004);
    CODE32(&f->memory, RA2 - 4, /* blx r3 */ 0xe12fff33, /* udf */ 0xe7f000f0);
    return f;
}

/* Code with many branches loads variables, and computes constants and addresses of variables, in the link register too,
 * as compilers do for ARM in functions with large frames. What the way out needs to know has to stay in the log. */
START_TEST(variables_of_many_branches) {
    struct fixture *f = begin_armv7();
    uint64_t code[64 * 3 + 2];
    for (uint32_t i = 0; i < 64; i++) {
        if (_i == 0) {
            code[3 * i] = 0xe28de000 | i;     /* add lr, sp, #i */
            code[3 * i + 1] = 0xe28d0000 | i; /* add r0, sp, #i */
        } else {
            code[3 * i] = 0xe300e000 | i;         /* movw lr, #i */
            code[3 * i + 1] = 0xe51b3000 | 4 * i; /* ldr r3, [r11, #-4 * i] */
        }
        code[3 * i + 2] = 0x0affffff; /* beq to the next instruction */
    }
    code[192] = 0xe28dd008; /* add sp, sp, #8 */
    code[193] = 0xe49df004; /* pop {pc} */
    image_words(&f->memory, OTHER, 4, code, 194);
    WORDS(&f->memory, STACK, 4, 7, 7, CALLER, RA2);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, CALLER, RA2);
}
END_TEST

/* A function with many branches, whose other paths soon join the path that is followed, as in code that looks at one
 * option after the other (clang's ParseDiagnosticArgs). Between them it loads variables into registers that it has
 * saved (0), or the last of its branches is the only way out (1), or it stores such registers to the same slots (2). */
START_TEST(paths_that_join) {
    static const uint8_t loads[] = {/* mov 0(%rsp), %rbx */ 0x48, 0x8b, 0x5c, 0x24, 0,
                                    /* mov 0(%rsp), %r12 */ 0x4c, 0x8b, 0x64, 0x24, 0,
                                    /* mov 0(%rsp), %r13 */ 0x4c, 0x8b, 0x6c, 0x24, 0};
    static const uint8_t path_out[] = {/* je +2; ud2 */ 0x74,         2,    0x0f, 0x0b,
                                       /* add $16, %rsp; ret */ 0x48, 0x83, 0xc4, 16,   0xc3};
    struct fixture *f = begin_x86_64();
    uint8_t code[70 * (sizeof loads + 2) + sizeof path_out];
    size_t size = 0;
    for (unsigned i = 0; i < 70; i++) {
        if (_i != 1) {
            memcpy(code + size, loads, sizeof loads);
            /* In every other round another variable. */
            for (unsigned k = 0; k < 3; k++) {
                if (_i == 2) code[size + 5 * k + 1] = /* mov %reg, 0(%rsp) */ 0x89;
                code[size + 5 * k + 4] = (uint8_t)(8 * ((_i == 2 ? i + k : i) & 1));
            }
            size += sizeof loads;
        }
        code[size++] = /* je +0 */ 0x74;
        code[size++] = 0;
    }
    memcpy(code + size, path_out, sizeof path_out);
    image_bytes(&f->memory, OTHER, code, size + sizeof path_out);
    WORDS(&f->memory, STACK, 8, 7, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, OTHER, STACK, STACK + 24);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 24);
}
END_TEST

/* A pop and the branch after it have one condition, so after the branch nothing has been popped (glibc's memcpy for
 * NEON). */
START_TEST(pop_and_branch_together) {
    struct fixture *f = begin_armv7();
    CODE32(&f->memory, FUNCTION, /* str r8, [sp, #-4]! */ 0xe52d8004, /* subs r2, r2, #64 */ 0xe2522040,
           /* ldrlo r8, [sp], #4 */ 0x349d8004, /* blo +8 */ 0x3a000001, /* ldr r8, [sp], #4 */ 0xe49d8004,
           /* bx lr */ 0xe12fff1e, /* nop */ 0xe320f000, /* bx lr */ 0xe12fff1e);
    WORDS(&f->memory, STACK, 4, RA2, 0);
    set_registers(f, FUNCTION, STACK, 0);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK);
}
END_TEST

/* A function is called through a linkage table and ends with a jump to another entry, which it does not call. What the
 * pointers of the entries contain shows the way. Without them, a path from the entry that the caller's caller calls
 * leads to the same place, through the code that binds functions, and the caller is missing. */
START_TEST(jump_through_linkage_tables) {
    const usp_addr after = OTHER + 0x200, table = FUNCTION, entry = FUNCTION + 16;
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    CODE8(&f->memory, after - 5, /* call table + 32 */ 0xe8, 0x20, 0xfd, 0xff, 0xff, /* hlt */ 0xf4);
    CODE8(&f->memory, CALLER - 6, /* push %rbx */ 0x53, /* call OTHER */ 0xe8, 0, 3, 0, 0, /* pop %rbx; ret */ 0x5b,
          0xc3);
    /* push 0x1fa(%rip); jmp *0x1fc(%rip); nop; then entries: jmp *N(%rip); push; jmp table */
    CODE8(&f->memory, table, 0xff, 0x35, 0xfa, 1, 0, 0, 0xff, 0x25, 0xfc, 1, 0, 0, 0x0f, 0x1f, 0x40, 0);
    CODE8(&f->memory, entry, 0xff, 0x25, 2, 2, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff);
    CODE8(&f->memory, table + 32, 0xff, 0x25, 0xea, 1, 0, 0, 0x68, 1, 0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff);
    /* An entry that is bound when the program starts: jmp *0x11a(%rip); int3. */
    CODE8(&f->memory, OTHER, 0xff, 0x25, 0x1a, 1, 0, 0, 0xcc);
    CODE8(&f->memory, OTHER + 16, /* nop */ 0x90, /* jmp entry */ 0xe9, 0xfa, 0xfe, 0xff, 0xff);
    CODE8(&f->memory, OTHER + 32, /* push %rbx; pop %rbx; ret */ 0x53, 0x5b, 0xc3);
    WORDS(&f->memory, OTHER + 0x100, 8, 0, 0, CALLER - 6, OTHER + 32, OTHER + 16);
    WORDS(&f->memory, STACK, 8, CALLER, 7, after, 0);
    set_registers(f, entry, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, entry, CALLER, after);
}
END_TEST

/* The instructions of a loop have one condition, and one of them changes the flags. The condition of the interrupted
 * instruction says nothing about the branch (glibc's memset). */
START_TEST(condition_that_changes) {
    struct fixture *f = begin_armv7();
    const usp_addr pc = FUNCTION + 4 * (usp_addr)_i;
    CODE32(&f->memory, FUNCTION, /* subs r2, r2, #8 */ 0xe2522008, /* stmhs r3!, {r1, r12} */ 0x28a31002,
           /* subshs r2, r2, #8 */ 0x22522008, /* stmhs r3!, {r1, r12} */ 0x28a31002, /* bhs FUNCTION */ 0x2afffffa,
           /* bx lr */ 0xe12fff1e);
    WORDS(&f->memory, STACK, 4, RA2, 0);
    set_registers(f, pc, STACK, 0);
    usp_registers_set_lr(&f->registers, STALE);
    f->registers.flags = 0x20000010; /* carry set */
    EXPECT(f, USP_STOP_FP_ZERO, pc, STALE, RA2);
}
END_TEST

/* The condition that is known leads to a switch, through which no path goes on. The other branch leads to the
 * return. */
START_TEST(known_condition_before_a_switch) {
    struct fixture *f = begin_armv7();
    CODE32(&f->memory, FUNCTION, /* bhi FUNCTION + 16 */ 0x8a000002, /* ldr pc, [pc, r0, lsl #2] */ 0xe79ff100,
           /* udf #0 */ 0xe7f000f0, 0xe7f000f0, /* pop {r4, pc} */ 0xe8bd8010);
    WORDS(&f->memory, STACK, 4, 7, STALE, 7, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 12);
    usp_registers_set_lr(&f->registers, 0);
    f->registers.flags = 0x40000010; /* zero: not higher */
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, STALE, RA2);
}
END_TEST

/* A linker's veneer and an entry of a linkage table: each jumps to a computed address, the second through a pointer.
 * They make no frame, although the stack holds the caller's record. */
START_TEST(jumps_to_numbers) {
    struct fixture *f = begin_armv7();
    if (_i == 0) {
        CODE32(&f->memory, FUNCTION, /* ldr r12, [pc] */ 0xe59fc000, /* add pc, r12, pc */ 0xe08cf00f, 0xf4,
               /* pop {r7, pc} */ 0xe8bd8080);
    } else {
        CODE32(&f->memory, FUNCTION, /* add r12, pc, #0x1000 */ 0xe28fca01, /* ldr pc, [r12, #8]! */ 0xe5bcf008,
               /* pop {r7, pc} */ 0xe8bd8080);
        WORDS(&f->memory, FUNCTION + 0x1010, 4, OTHER);
    }
    CODE32(&f->memory, OTHER, /* push {r4, lr} */ 0xe92d4010, /* pop {r4, pc} */ 0xe8bd8010);
    WORDS(&f->memory, STACK, 4, 0, RA2);
    /* pop {r7, pc} after the call */
    CODE32(&f->memory, STALE + 0x10 - 4, /* blx r3 */ 0xe12fff33, /* pop {r7, pc} */ 0xe8bd8080);
    set_registers(f, FUNCTION, STACK, STACK);
    usp_registers_set_lr(&f->registers, STALE + 0x10);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, STALE + 0x10, RA2);
}
END_TEST

/* The first entry of a linkage table pushes the link register, computes with it and jumps through it. The call was to a
 * later entry, through a pointer. */
START_TEST(first_entry_of_a_linkage_table) {
    const bool is_pushed = _i > 0;
    struct fixture *f = begin_armv7();
    CODE32(&f->memory, FUNCTION, /* str lr, [sp, #-4]! */ 0xe52de004, /* ldr lr, [pc, #4] */ 0xe59fe004,
           /* add lr, pc, lr */ 0xe08fe00e, /* ldr pc, [lr, #8]! */ 0xe5bef008, 0x785e,
           /* the next one: add r12, pc, #0 */ 0xe28fc600, /* add r12, r12, #0x5e000 */ 0xe28cca5e,
           /* ldr pc, [r12, #0x874]! */ 0xe5bcf874);
    WORDS(&f->memory, STACK, 4, STALE, RA2, 0);
    set_registers(f, FUNCTION + 4 * (usp_addr)_i, is_pushed ? STACK : STACK + 4, 0);
    usp_registers_set_lr(&f->registers, _i < 2 ? STALE : _i == 2 ? 0x785e : 0x107c6e);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 4 * (usp_addr)_i, STALE, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 4);
}
END_TEST

/* 32-bit Arm's _Unwind_RaiseException (bytes of libgcc 12) saves all registers in a block. After the call it loads only
 * the link register from there. */
START_TEST(registers_in_a_block) {
    static const struct {
        uint8_t at, depth;
        bool has_lr;
    } stages[] = {{0, 0, true},   {2, 0, true},   {4, 4, true},    {8, 12, true},  {12, 64, true}, {16, 64, true},
                  {20, 72, true}, {22, 72, true}, {26, 72, false}, {30, 72, true}, {32, 0, true}};
    const usp_addr pc = FUNCTION + stages[_i].at;
    struct fixture *f = begin_armv7();
    CODE16(&f->memory, FUNCTION, /* mov r12, sp */ 0x46ec, /* push {lr} */ 0xb500, /* push {r12, lr} */ 0xe92d, 0x5000,
           /* push {r0-r12} */ 0xe92d, 0x1fff, /* mov r3, #0 */ 0xf04f, 0x0300, /* push {r2, r3} */ 0xe92d, 0x000c,
           /* add r1, sp, #4 */ 0xa901, /* bl */ 0xf7ff, 0xfb91, /* ldr lr, [sp, #64] */ 0xf8dd, 0xe040,
           /* add sp, #72 */ 0xb012, /* bx lr */ 0x4770, /* nop */ 0xbf00);
    WORDS(&f->memory, STACK + 60, 4, STACK + 72, STALE, STALE, RA2, 0);
    set_registers(f, pc | 1, STACK + 72 - stages[_i].depth, 0);
    usp_registers_set_lr(&f->registers, stages[_i].has_lr ? STALE : (FUNCTION + 26) | 1);
    EXPECT(f, USP_STOP_FP_ZERO, pc, STALE, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 72);
}
END_TEST

/* After a call that does not return lie the constants that the function loads, in one case those of the next function.
 * As instructions they would return to the address of another frame that lies on the stack. No path leads to the
 * function's return; its frame is known from its start, which the caller calls. The frame is at that call or at an
 * earlier one. */
START_TEST(constants_after_a_call) {
    static const struct load {
        uint32_t arch;
        uint32_t instruction;
        bool has_call; /* the first constant is one, as an instruction */
    } loads[] = {
        {USP_ARCH_ARMV7, /* ldr r0, [pc, #4] */ 0xe59f0004, false},
        {USP_ARCH_ARMV7, /* vldr d0, [pc, #4] */ 0xed9f0b01, false},
        {USP_ARCH_ARMV7, /* ldrh r0, [pc, #4] */ 0xe1df00b4, false},
        {USP_ARCH_ARMV7, /* ldrd r0, r1, [pc, #4] */ 0xe1cf00d4, false},
        {USP_ARCH_ARMV7, /* add r3, pc, #4 */ 0xe28f3004, false},
        {USP_ARCH_ARMV7, /* Thumb: ldr r0, [pc, #12] */ 0x4803, false},
        {USP_ARCH_ARMV7, /* Thumb: adr r0, the same address */ 0xa003, false},
        {USP_ARCH_ARM64, /* ldr x0, 12 */ 0x58000060, false},
        {USP_ARCH_ARM64, /* nop; the next function loads the constants */ 0xd503201f, false},
        {USP_ARCH_ARMV7, /* ldr r0, [pc, #4] */ 0xe59f0004, true},
    };
    const struct load *load = &loads[_i / 2];
    const bool is_last = _i % 2 != 0, is_thumb = load->instruction < 0x10000;
    usp_addr after = FUNCTION + (is_last ? 16 : 12);
    struct fixture *f = load->arch == USP_ARCH_ARM64 ? begin_arm64() : begin_armv7();
    if (is_thumb) {
        const usp_addr call = is_last ? FUNCTION + 10 : FUNCTION + 4;
        after = call + 4;
        f = begin(USP_ARCH_ARMV7, USP_OS_LINUX);
        CODE16(&f->memory, FUNCTION, /* push {r4, lr} */ 0xb510, load->instruction,
               /* bl OTHER, or two nops */ is_last ? 0xbf00 : 0xf000, is_last ? 0xbf00 : 0xf87c, /* nop */ 0xbf00,
               /* bl LONG, or bl OTHER */ 0xf000, is_last ? 0xf879 : 0xf9f9, /* nop */ 0xbf00,
               /* the constant: pop {r4, r5, r6, pc} */ 0xbd70, 0);
        CODE16(&f->memory, OTHER, /* bx lr */ 0x4770, 0x4770);
        CODE16(&f->memory, CALLER - 4, /* bl FUNCTION */ 0xf000, 0xf900, /* pop {pc} */ 0xbd00, 0);
        CODE16(&f->memory, STALE - 2, /* blx r3 */ 0x4798, /* pop {pc} */ 0xbd00);
        CODE16(&f->memory, RA2 - 2, /* blx r3 */ 0x4798, /* udf */ 0xde00);
        WORDS(&f->memory, STACK, 4, 7, CALLER | 1, RA2 | 1, STALE | 1, 7);
    } else if (load->arch == USP_ARCH_ARMV7) {
        CODE32(&f->memory, FUNCTION, /* push {r4, lr} */ 0xe92d4010, load->instruction,
               /* bl OTHER, or nop */ is_last ? 0xe320f000 : 0xeb00003c,
               /* bl LONG, or bl OTHER */ is_last ? 0xeb00003b : 0xeb0000fb,
               /* the constants: bl OTHER, or pop */ load->has_call ? 0xeb00003a : 0xe8bd8070,
               /* pop {r4, r5, r6, pc} */ 0xe8bd8070);
        CODE32(&f->memory, OTHER, /* bx lr */ 0xe12fff1e);
        WORDS(&f->memory, STACK, 4, 7, CALLER, RA2, STALE, 7);
    } else {
        CODE32(&f->memory, FUNCTION, /* str x30, [sp, #-16]! */ 0xf81f0ffe, load->instruction,
               /* bl OTHER, or nop */ is_last ? 0xd503201f : 0x9400003e,
               /* bl LONG, or bl OTHER */ is_last ? 0x9400003d : 0x940000fd,
               /* the constants: ldr x30, [sp, #40] */ 0xf94017fe, /* add sp, sp, #48 */ 0x9100c3ff,
               /* ret */ 0xd65f03c0, 0,
               /* ldr x1, FUNCTION + 16, or nop */ load->instruction == 0xd503201f ? 0x58ffff81 : 0xd503201f);
        CODE32(&f->memory, OTHER, /* ret */ 0xd65f03c0);
        WORDS(&f->memory, STACK, 8, CALLER, 7, /* the caller's record: */ 0, RA2, 7, STALE, 7);
    }
    set_registers(f, OTHER | (usp_addr)is_thumb, STACK, 0);
    usp_registers_set_lr(&f->registers, after | (usp_addr)is_thumb);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, after, CALLER, RA2);
}
END_TEST

/* The path to the return leads over a call, which returns. The word after that call, or after the next instruction, is
 * code, although a constant before the function reads as an instruction that loads it: an earlier function loads that
 * constant, or the instruction after the call does something. Only the path gives the frame: the caller calls through a
 * register, and the call lies apart from the function's start. Variables hold a return address of an earlier call. */
START_TEST(constants_that_read_as_loads) {
    const bool is_thumb = _i != 0, has_load = _i != 2;
    const usp_addr earlier = FUNCTION - 0x40, apart = FUNCTION + 0x80, after = apart + (has_load ? 4 : 6),
                   bit = is_thumb;
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_LINUX);
    if (is_thumb) {
        CODE16(&f->memory, earlier, /* ldr r1, earlier + 4, or nop */ has_load ? 0x4900 : 0xbf00, /* bx lr */ 0x4770,
               /* the constant: ldr r0, apart + 8 or + 12 */ has_load ? 0x4830 : 0x4831, 11);
        CODE16(&f->memory, FUNCTION, /* push {r4, lr} */ 0xb510, /* sub sp, #8 */ 0xb082, /* cmp r0, #0 */ 0x2800,
               /* beq apart */ 0xd03b,
               /* add sp, #8 */ 0xb002, /* pop {r4, pc} */ 0xbd10);
        if (has_load) {
            CODE16(&f->memory, apart - 2, /* udf */ 0xde00, /* bl OTHER */ 0xf000, 0xf83e, /* bl LONG */ 0xf000, 0xf9bc,
                   /* b to the add */ 0xe7be);
        } else {
            CODE16(&f->memory, apart - 2, /* udf */ 0xde00, /* nop */ 0xbf00, /* bl OTHER */ 0xf000, 0xf83d,
                   /* bl LONG */ 0xf000, 0xf9bb, /* movs r1, #0 */ 0x2100, /* b to the add */ 0xe7bc);
        }
        CODE16(&f->memory, OTHER, /* bx lr */ 0x4770);
        CODE16(&f->memory, CALLER - 2, /* blx r3 */ 0x4798, /* pop {pc} */ 0xbd00);
        CODE16(&f->memory, STALE - 2, /* blx r3 */ 0x4798, /* pop {pc} */ 0xbd00);
        CODE16(&f->memory, RA2 - 2, /* blx r3 */ 0x4798, /* udf */ 0xde00);
    } else {
        CODE32(&f->memory, earlier, /* ldr r1, earlier + 8 */ 0xe59f1000, /* bx lr */ 0xe12fff1e,
               /* the constant: ldr r0, apart + 8 */ 0xe59f00b8);
        CODE32(&f->memory, FUNCTION, /* push {r4, lr} */ 0xe92d4010, /* sub sp, sp, #8 */ 0xe24dd008,
               /* cmp r0, #0 */ 0xe3500000,
               /* beq apart */ 0x0a00001b, /* add sp, sp, #8 */ 0xe28dd008, /* pop {r4, pc} */ 0xe8bd8010);
        CODE32(&f->memory, apart - 4, /* udf */ 0xe7f000f0, /* bl OTHER */ 0xeb00001e, /* bl LONG */ 0xeb0000dd,
               /* b to the add */ 0xeaffffe0);
        CODE32(&f->memory, OTHER, /* bx lr */ 0xe12fff1e);
        CODE32(&f->memory, CALLER - 4, /* blx r3 */ 0xe12fff33, /* pop {pc} */ 0xe49df004);
        CODE32(&f->memory, STALE - 4, /* blx r3 */ 0xe12fff33, /* pop {pc} */ 0xe49df004);
        CODE32(&f->memory, RA2 - 4, /* blx r3 */ 0xe12fff33, /* udf */ 0xe7f000f0);
    }
    WORDS(&f->memory, STACK, 4, STALE | bit, 7, 7, CALLER | bit, RA2 | bit, 7);
    set_registers(f, OTHER | bit, STACK, 0);
    usp_registers_set_lr(&f->registers, after | bit);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, after, CALLER, RA2);
}
END_TEST

/* A realigned stack, without tables: the epilogue loads the old stack pointer from the slot in which it was saved
 * (OpenSSL's perlasm). A return address of another frame lies below it. */
START_TEST(stack_pointer_out_of_a_slot) {
    static const unsigned at[] = {16, 17, 22};
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* mov rax, rsp */ 0x48, 0x89, 0xe0, /* sub rsp, 40 */ 0x48, 0x83, 0xec, 40,
          /* and rsp, -32 */ 0x48, 0x83, 0xe4, 0xe0, /* mov [rsp + 24], rax */ 0x48, 0x89, 0x44, 0x24, 24,
          /* nop */ 0x90, /* mov rsp, [rsp + 24] */ 0x48, 0x8b, 0x64, 0x24, 24, /* ret */ 0xc3);
    WORDS(&f->memory, STACK, 8, STALE, 0, 0, /* the old one: */ STACK + 56, STALE, STALE, 0, CALLER, 0, RA2);
    set_registers(f, FUNCTION + at[_i], at[_i] < 22 ? STACK : STACK + 56, STACK + 64);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + at[_i], CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 64);
}
END_TEST

/* At a call, the instructions lead to a return by a stack pointer that the function saved in its frame: SBCL restores
 * such ones when it leaves a block. A return address of another frame lies there. The function's own is in its record. */
START_TEST(stack_pointer_of_a_block) {
    struct fixture *f = begin_x86_64();
    const usp_addr after = OTHER + 5;
    CODE8(&f->memory, OTHER, /* call FUNCTION */ 0xe8, 0xfb, 0xfe, 0xff, 0xff, /* call *%rax */ 0xff, 0xd0,
          /* mov rsp, [rbp - 24] */ 0x48, 0x8b, 0x65, 0xe8, /* ret */ 0xc3);
    CODE8(&f->memory, FUNCTION, /* nop; ret */ 0x90, 0xc3);
    WORDS(&f->memory, STACK, 8, after, /* the block's: */ STACK + 16, STALE, 0, /* the record: */ STACK + 48, CALLER,
          /* the caller's: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 32);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, after, CALLER, RA2);
}
END_TEST

static usp_addr data_from, image_from;

static int code_below(void *context, usp_addr pc, struct usp_region *region) {
    (void)context;
    (void)region;
    return pc < data_from ? USP_ERROR_ABSENT : USP_ERROR_NOT_FOUND;
}

static int image_above(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    (void)context;
    (void)tables;
    return pc < image_from ? USP_ERROR_NOT_FOUND : USP_OK;
}

/* HotSpot's interpreter jumps to methods, and pushes the address of a return entry, which follows no call. Such a record
 * is followed if its address and the frame's are in no image and near each other, and is marked. */
START_TEST(pushed_by_an_interpreter) {
    static const struct {
        usp_addr entry, data_from, image_from;
        bool is_found;
    } cases[] = {
        {OTHER, LONG, LONG, true},
        {OTHER, OTHER, LONG, false}, /* the entry is known not to be code */
        {OTHER, LONG, OTHER, false}, /* it is in an image */
        {OTHER, LONG, 0, false},     /* the target lists no images */
        {OTHER + (UINT64_C(32) << 20), UINT64_MAX, UINT64_MAX, false},
    };
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* jmp *%rax */ 0xff, 0xe0);
    CODE8(&f->memory, cases[_i].entry - 1, /* nop; jmp *%rax */ 0x90, 0xff, 0xe0);
    WORDS(&f->memory, STACK, 8, 0, 0, /* the record: */ STACK + 48, cases[_i].entry, 0, 0, /* the caller's: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 16);
    data_from = cases[_i].data_from;
    image_from = cases[_i].image_from;
    f->target.image_at = code_below;
    f->target.unwind_tables_at = image_from != 0 ? image_above : NULL;
    if (!cases[_i].is_found) {
        EXPECT(f, USP_STOP_RA_NOT_CODE, FUNCTION);
        return;
    }
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, cases[_i].entry, RA2);
    ck_assert_uint_ne(f->frames[1].flags & USP_FRAME_UNVERIFIED, 0);
    ck_assert_uint_eq(f->frames[2].flags & USP_FRAME_UNVERIFIED, 0);
}
END_TEST

/* i386: a call through a table, with both registers and an offset of one byte or four, at each instruction of a
 * function whose prologue is not complete. */
START_TEST(called_through_a_table) {
    const usp_addr caller = UINT64_C(0x100280);
    const bool is_short = _i % 2 == 0;
    const unsigned done = (unsigned)_i / 2; /* instructions of the prologue */
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    if (is_short) {
        CODE8(&f->memory, caller - 4, /* call *0x10(%ebx, %ecx, 4) */ 0xff, 0x54, 0x8b, 0x10);
    } else {
        CODE8(&f->memory, caller - 7, /* call *0x4100(%ebx, %ecx, 4) */ 0xff, 0x94, 0x8b, 0, 0x41, 0, 0);
    }
    CODE8(&f->memory, caller, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, RA2 - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    /* push %ebp; mov %esp, %ebp; and no path to a return */
    CODE8(&f->memory, FUNCTION, 0x55, 0x89, 0xe5, /* hlt */ 0xf4);
    WORDS(&f->memory, STACK, 4, /* ebp: */ STACK + 12, caller, 7, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + done, done == 0 ? STACK + 4 : STACK, STACK + 12);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + done, caller, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 8);
}
END_TEST

static struct fixture *begin_i386(void) {
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 2, /* call *%eax */ 0xff, 0xd0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, STALE - 2, /* call *%eax */ 0xff, 0xd0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, RA2 - 2, /* call *%eax */ 0xff, 0xd0, /* hlt */ 0xf4);
    return f;
}

/* A frame is made and undone before an indirect jump, as when a dynamic linker binds a function. Whatever follows the
 * jump is not a case of a switch. */
START_TEST(frame_made_and_given_up) {
    const usp_addr caller = UINT64_C(0x100600);
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, caller - 4, /* blr x8 */ 0xd63f0100, /* ret */ 0xd65f03c0);
    CODE32(&f->memory, FUNCTION, /* stp x17, x30, [sp, #-16]! */ 0xa9bf7bf1, /* blr x9 */ 0xd63f0120,
           /* ldp x17, x30, [sp], #16 */ 0xa8c17bf1, /* br x16 */ 0xd61f0200,
           /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK);
    usp_registers_set_lr(&f->registers, caller);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, caller, RA2);
}
END_TEST

/* An indirect jump through a register that has its value already: it leads there, to another function, and not to the
 * code after it, which would undo the caller's record. The other function looks like a return address, because the one
 * before it ends with a call that never returns. */
START_TEST(jump_to_a_register) {
    const usp_addr caller = UINT64_C(0x100600);
    struct fixture *f = begin_arm64();
    CODE32(&f->memory, caller - 4, /* blr x8 */ 0xd63f0100, /* ret */ 0xd65f03c0);
    CODE32(&f->memory, FUNCTION, /* br x16 */ 0xd61f0200, /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd,
           /* ret */ 0xd65f03c0);
    CODE32(&f->memory, OTHER - 4, /* bl OTHER + 0x40 */ 0x94000011, /* OTHER: ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK);
    set_register(f, 16, OTHER);
    usp_registers_set_lr(&f->registers, caller);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, caller, RA2);
}
END_TEST

/* The same through a pointer beside such a register, as in an i386 linkage table. */
START_TEST(jump_beside_a_register) {
    const usp_addr table = UINT64_C(0x100700);
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* jmp *12(%ebx) */ 0xff, 0x63, 12, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, OTHER - 2, /* call *%eax */ 0xff, 0xd0, /* OTHER: ret */ 0xc3);
    WORDS(&f->memory, table + 12, 4, OTHER);
    WORDS(&f->memory, STACK, 4, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 4);
    set_register(f, 3, table);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
}
END_TEST

/* i386: a function obtains its own address in ebp, from a callee that changes this register, although functions
 * preserve it. The caller's value was pushed before. */
START_TEST(own_address_in_a_preserved_register) {
    const usp_addr caller = UINT64_C(0x100280);
    struct fixture *f = begin_i386();
    CODE8(&f->memory, caller - 5, /* call FUNCTION */ 0xe8, 0x80, 1, 0, 0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, FUNCTION, /* push %ebp; call OTHER */ 0x55, 0xe8, 0xfa, 0, 0, 0,
          /* call *%edx; pop %ebp; ret */ 0xff, 0xd2, 0x5d, 0xc3);
    CODE8(&f->memory, OTHER, /* mov (%esp), %ebp; ret */ 0x8b, 0x2c, 0x24, 0xc3);
    WORDS(&f->memory, STACK, 4, FUNCTION + 6, /* ebp: */ STACK + 12, caller, /* the caller's record: */ 0, RA2);
    set_registers(f, OTHER + 3, STACK, FUNCTION + 6);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER + 3, FUNCTION + 6, caller, RA2);
}
END_TEST

/* i386: a callee of two instructions removes its argument. It certainly returns, and the path must count what it has
 * removed. */
START_TEST(argument_taken_by_a_short_callee) {
    struct fixture *f = begin_i386();
    CODE8(&f->memory, FUNCTION, /* sub $4, %esp; call OTHER; ret */ 0x83, 0xec, 4, 0xe8, 0xf8, 0, 0, 0, 0xc3);
    CODE8(&f->memory, OTHER, /* mov 4(%esp), %eax; ret $4 */ 0x8b, 0x44, 0x24, 4, 0xc2, 4, 0);
    WORDS(&f->memory, STACK - 4, 4, 7, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION, STACK, STACK + 4);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 4);
}
END_TEST

/* A loop changes a register that the function has saved. Only the second round finds it changed, and the path from the
 * function's start reaches the pc in the first one. */
START_TEST(register_changed_in_a_loop) {
    struct fixture *f = begin_x86_64();
    CODE8(&f->memory, FUNCTION, /* push %rbp; call *%rax */ 0x55, 0xff, 0xd0, /* mov %rdi, %rbp */ 0x48, 0x89, 0xfd,
          /* jmp -7 */ 0xeb, 0xf9);
    WORDS(&f->memory, STACK, 8, /* rbp: */ STACK + 16, CALLER, /* the caller's record: */ 0, RA2);
    set_registers(f, FUNCTION + 3, STACK, 7);
    offer_function(f, 8);
    EXPECT(f, USP_STOP_FP_ZERO, FUNCTION + 3, CALLER, RA2);
}
END_TEST

/* A long function in which no way to a return is found, with a large frame and no frame record, waits in a call (0) or
 * is interrupted (1). Its call is found on the stack. Two old return addresses are there, too: one follows a call of
 * code nearer before the pc, and the other one is where that code would have the first one. */
START_TEST(long_function_without_a_path_to_a_return) {
    static const uint8_t begin_of_function[] = {
        /* sub $0x108, %rsp; call *%rax */ 0x48, 0x81, 0xec, 8, 1, 0, 0, 0xff, 0xd0};
    const usp_addr after = LONG + sizeof begin_of_function, old = OTHER + 64;
    struct fixture *f = begin_x86_64();
    uint64_t words[1 + 33 + 2] = {after};
    uint8_t code[1200];
    memset(code, /* nop */ 0x90, sizeof code);
    memcpy(code, begin_of_function, sizeof begin_of_function);
    code[sizeof code - 1] = /* hlt */ 0xf4;
    image_bytes(&f->memory, LONG, code, sizeof code);
    CODE8(&f->memory, OTHER, /* ret */ 0xc3);
    CODE8(&f->memory, OTHER + 32 - 5, /* call LONG */ 0xe8, 0xe0, 2, 0, 0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, old - 5, /* call the call in LONG */ 0xe8, 0xc7, 2, 0, 0, /* hlt */ 0xf4);
    for (unsigned i = 1; i < 34; i++) words[i] = i == 20 ? old : 7;
    words[1] = STALE;
    words[34] = OTHER + 32;
    image_words(&f->memory, STACK, 8, words, sizeof words / sizeof *words);
    set_registers(f, _i == 0 ? OTHER : after, _i == 0 ? STACK : STACK + 8, 0);
    if (_i == 0) {
        EXPECT(f, USP_STOP_FP_ZERO, OTHER, after, OTHER + 32);
    } else {
        EXPECT(f, USP_STOP_FP_ZERO, after, OTHER + 32);
    }
    ck_assert_uint_eq(f->frames[1 - _i].cfa, STACK + 8 * 35);
}
END_TEST

/* A function that never returns, such as abort, with a large frame and no frame record, waits in a call. It was called
 * directly (0), or through the stub of a linkage table in an image far away (1). The call is found on the stack. */
START_TEST(function_that_never_returns) {
    struct fixture *f = begin_x86_64();
    const usp_addr after = FAR + 9, stub = OTHER + 64, pointer = stub + 6;
    uint64_t words[1 + 17 + 1] = {after, STALE};
    CODE8(&f->memory, FAR, /* sub $0x88, %rsp; call *%rax; hlt */ 0x48, 0x81, 0xec, 0x88, 0, 0, 0, 0xff, 0xd0, 0xf4);
    CODE8(&f->memory, OTHER, /* ret */ 0xc3);
    if (_i == 0) {
        CODE8(&f->memory, OTHER + 32 - 5, /* call FAR */ 0xe8, 0xe0, 0xfa, 0xef, 0x07, /* leave; ret */ 0xc9, 0xc3);
    } else {
        CODE8(&f->memory, OTHER + 32 - 5, /* call the stub */ 0xe8, 0x20, 0, 0, 0, /* leave; ret */ 0xc9, 0xc3);
        CODE8(&f->memory, stub, /* jmp *(%rip) */ 0xff, 0x25, 0, 0, 0, 0);
        WORDS(&f->memory, pointer, 8, FAR);
    }
    for (unsigned i = 2; i < 18; i++) words[i] = 7;
    words[18] = OTHER + 32;
    image_words(&f->memory, STACK, 8, words, sizeof words / sizeof *words);
    set_registers(f, OTHER, STACK, 0);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, after, OTHER + 32);
    ck_assert_uint_eq(f->frames[1].cfa, STACK + sizeof words);
}
END_TEST

/* The same in Thumb code: the call leads to a stub in A32 code. */
START_TEST(function_that_never_returns_in_thumb) {
    struct fixture *f = begin_armv7();
    const usp_addr after = FAR + 6, stub = OTHER + 64;
    uint64_t words[34 + 1 + 1];
    CODE8(&f->memory, FAR, /* push {lr}; sub sp, #0x88 */ 0x00, 0xb5, 0xa2, 0xb0, /* blx r3; udf */ 0x98, 0x47, 0,
          0xde);
    CODE8(&f->memory, OTHER, /* bx lr */ 0x70, 0x47);
    CODE8(&f->memory, OTHER + 32, /* blx stub; pop {pc} */ 0x00, 0xf0, 0x0e, 0xe8, 0x00, 0xbd);
    CODE32(&f->memory, stub, /* add ip, pc, #0 */ 0xe28fc000, /* add ip, ip, #0 */ 0xe28cc000,
           /* ldr pc, [ip, #128]! */ 0xe5bcf080);
    WORDS(&f->memory, stub + 8 + 128, 4, FAR | 1);
    for (unsigned i = 0; i < 34; i++) words[i] = i == 3 ? STALE : 7;
    words[34] = (OTHER + 36) | 1;
    words[35] = RA2;
    image_words(&f->memory, STACK, 4, words, sizeof words / sizeof *words);
    set_registers(f, OTHER | 1, STACK, 0);
    usp_registers_set_lr(&f->registers, after | 1);
    EXPECT(f, USP_STOP_FP_ZERO, OTHER, after, OTHER + 36, RA2);
}
END_TEST

int main(void) {
    TCase *paths = tcase_create("ways");
    add_tests(paths, tail_call_over_a_dead_frame, jump_to_the_neighbour, stub_before_an_epilogue,
              frame_given_up_before_a_jump, return_address_in_another_register, return_address_off_the_stack,
              return_address_put_over_arguments, pop_and_jump, return_to_what_was_stored, switch_beside_anothers,
              tail_call_before_an_epilogue, switch_above_an_old_return_address, operand_that_looks_like_a_push,
              after_a_call_that_does_not_return, path_to_the_return_cannot_be_read, skipped_together,
              pop_and_branch_together);
    add_tests(paths, return_is_far_from_the_call, return_address_kept_over_a_call, function_begun_again,
              data_that_leads_to_the_return, object_of_many_fields, barrier_on_the_return_address,
              known_condition_before_a_switch);
    add_tests(paths, large_function, stale_link_register_is_stored, jump_through_linkage_tables,
              frame_made_and_given_up, jump_to_a_register, jump_beside_a_register, own_address_in_a_preserved_register,
              argument_taken_by_a_short_callee, register_changed_in_a_loop, stack_pointer_of_a_block);
    tcase_add_loop_test(paths, switch_with_several_cases, 0, 2);
    tcase_add_loop_test(paths, argument_taken_by_the_callee, 0, 2);
    tcase_add_loop_test(paths, variables_of_many_branches, 0, 2);
    tcase_add_loop_test(paths, paths_that_join, 0, 3);
    tcase_add_loop_test(paths, long_function_without_a_path_to_a_return, 0, 2);
    tcase_add_loop_test(paths, function_that_never_returns, 0, 2);
    tcase_add_test(paths, function_that_never_returns_in_thumb);
    tcase_add_loop_test(paths, condition_that_changes, 0, 6);
    tcase_add_loop_test(paths, first_entry_of_a_linkage_table, 0, 4);
    tcase_add_loop_test(paths, jumps_to_numbers, 0, 2);
    tcase_add_loop_test(paths, registers_in_a_block, 0, 11);
    tcase_add_loop_test(paths, constants_after_a_call, 0, 20);
    tcase_add_loop_test(paths, constants_that_read_as_loads, 0, 3);
    tcase_add_loop_test(paths, stack_pointer_out_of_a_slot, 0, 3);
    tcase_add_loop_test(paths, called_through_a_table, 0, 4);
    tcase_add_loop_test(paths, pushed_by_an_interpreter, 0, 5);
    return run_suite("misleading instructions", paths);
}
