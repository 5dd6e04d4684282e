/* SPDX-License-Identifier: MIT */
/* As guest_cases_arm64.S, for x86_64. */

.macro function name
    .globl _\name
    .p2align 4, 0x90
_\name:
.endm

    .text

/* Nothing on the stack but the return address. */
function case_leaf
    xorl %eax, %eax
    incl %eax
    ret

function case_frame
    pushq %rbp
    movq %rsp, %rbp
    callq _case_leaf
    popq %rbp
    ret

function case_frame_saved
    pushq %rbp
    movq %rsp, %rbp
    pushq %r15
    pushq %r14
    pushq %rbx
    subq $88, %rsp
    movl $19, %ebx
    callq _case_leaf
    addq $88, %rsp
    popq %rbx
    popq %r14
    popq %r15
    popq %rbp
    ret

function case_big_frame
    pushq %rbp
    movq %rsp, %rbp
    pushq %rbx
    subq $0x5348, %rsp
    movq $0, 8(%rsp)
    callq _case_leaf
    addq $0x5348, %rsp
    popq %rbx
    popq %rbp
    ret

/* No frame record although it calls: what -fomit-frame-pointer makes. */
function case_frameless
    pushq %r14
    pushq %rbx
    pushq %rax
    movl $1, %ebx
    callq _case_leaf
    addq $8, %rsp
    popq %rbx
    popq %r14
    ret

function case_frameless_big
    subq $0x10028, %rsp
    callq _case_leaf
    addq $0x10028, %rsp
    ret

/* The record is not made at once and not by the usual instructions. */
function case_unusual_prologue
    pushq %rbp
    movl $9, %eax
    subq $32, %rsp
    movq %rbx, 8(%rsp)
    testl %eax, %eax
    je 1f
    leaq 32(%rsp), %rbp
1:  callq _case_leaf
    movq 8(%rsp), %rbx
    addq $32, %rsp
    popq %rbp
    ret

/* Memory of the stack whose size is known at run time only. */
function case_dynamic
    pushq %rbp
    movq %rsp, %rbp
    movl $0x90, %eax
    subq %rax, %rsp
    callq _case_leaf
    leave
    ret

/* The fast way needs no frame, the other one makes one late. */
function case_shrink_wrapped
    movl $2, %eax
    jmp 2f
1:  xorl %eax, %eax
    ret
2:  testl %eax, %eax
    je 1b
    pushq %rbp
    movq %rsp, %rbp
    callq _case_leaf
    popq %rbp
    testl %eax, %eax
    jne 1b
    ret

function case_tail_call
    pushq %rbp
    movq %rsp, %rbp
    callq _case_leaf
    popq %rbp
    jmp _case_leaf

/* As the linker makes them for calls into other libraries. */
stub:
    jmpq *pointer(%rip)

function case_stub
    pushq %rbp
    movq %rsp, %rbp
    callq stub
    popq %rbp
    ret

    .section __DATA,__const
    .p2align 3
    .globl _guest_cases
_guest_cases:
    .quad _case_leaf, _case_frame, _case_frame_saved, _case_big_frame, _case_frameless, _case_frameless_big
    .quad _case_unusual_prologue, _case_dynamic, _case_shrink_wrapped, _case_tail_call, _case_stub, 0
pointer:
    .quad _case_leaf
    .subsections_via_symbols
