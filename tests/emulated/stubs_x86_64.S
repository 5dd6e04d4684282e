/* SPDX-License-Identifier: MIT */
/* Functions without a frame of their own, as linkers and hand-written code have them; see workload.c. */
#include "asm.h"

.macro function name
    .globl \name
    .p2align 4, 0xcc
    FUNCTION_TYPE(\name)
\name:
.endm

    .text

function SYMBOL(stub_leaf)
    leal 1(%rdi,%rdi,4), %eax
    retq

function SYMBOL(stub_jump)
    jmp SYMBOL(stub_target)

/* A jump through memory, like a PLT entry. */
function SYMBOL(stub_jump_register)
    jmpq *SYMBOL(stub_target)@GOTPCREL(%rip)

function SYMBOL(stub_thunk)
    subl $8, %edi
    xorl %edi, %esi
    jmp SYMBOL(stub_target)

function SYMBOL(stub_calls)
    pushq %rbp
    movq %rsp, %rbp
    pushq %rbx
    pushq %r12
    movl %esi, %ebx
    callq SYMBOL(stub_target)
    leal (%rax,%rbx), %r12d
    movl %r12d, %edi
    callq SYMBOL(stub_leaf)
    xorl %r12d, %eax
    popq %r12
    popq %rbx
    popq %rbp
    retq
