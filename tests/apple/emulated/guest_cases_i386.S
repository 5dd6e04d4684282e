/* SPDX-License-Identifier: MIT */
/* As guest_cases_arm64.S, for i386. */

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
    pushl %ebp
    movl %esp, %ebp
    subl $8, %esp
    calll _case_leaf
    addl $8, %esp
    popl %ebp
    ret

function case_frame_saved
    pushl %ebp
    movl %esp, %ebp
    pushl %ebx
    pushl %edi
    pushl %esi
    subl $76, %esp
    movl $19, %ebx
    calll _case_leaf
    addl $76, %esp
    popl %esi
    popl %edi
    popl %ebx
    popl %ebp
    ret

function case_big_frame
    pushl %ebp
    movl %esp, %ebp
    pushl %esi
    subl $0x5344, %esp
    movl $0, 8(%esp)
    calll _case_leaf
    addl $0x5344, %esp
    popl %esi
    popl %ebp
    ret

/* No frame record although it calls: what -fomit-frame-pointer makes. */
function case_frameless
    pushl %esi
    subl $8, %esp
    movl $1, %esi
    calll _case_leaf
    addl $8, %esp
    popl %esi
    ret

function case_frameless_big
    subl $0x1002c, %esp
    calll _case_leaf
    addl $0x1002c, %esp
    ret

/* The record is not made at once and not by the usual instructions. */
function case_unusual_prologue
    pushl %ebp
    movl $9, %eax
    subl $24, %esp
    movl %esi, 8(%esp)
    testl %eax, %eax
    je 1f
    leal 24(%esp), %ebp
1:  calll _case_leaf
    movl 8(%esp), %esi
    addl $24, %esp
    popl %ebp
    ret

/* Memory of the stack whose size is known at run time only. */
function case_dynamic
    pushl %ebp
    movl %esp, %ebp
    movl $0x88, %eax
    subl %eax, %esp
    calll _case_leaf
    leave
    ret

/* Position-independent code asks where it is by a call that is none. */
function case_where
    pushl %ebp
    movl %esp, %ebp
    subl $8, %esp
    calll 1f
1:  popl %ecx
    calll _case_leaf
    addl $8, %esp
    popl %ebp
    ret

/* The fast way needs no frame, the other one makes one late. */
function case_shrink_wrapped
    movl $2, %eax
    jmp 2f
1:  xorl %eax, %eax
    ret
2:  testl %eax, %eax
    je 1b
    pushl %ebp
    movl %esp, %ebp
    calll _case_leaf
    popl %ebp
    testl %eax, %eax
    jne 1b
    ret

function case_tail_call
    pushl %ebp
    movl %esp, %ebp
    calll _case_leaf
    popl %ebp
    jmp _case_leaf

/* As the linker makes them for calls into other libraries. */
_case_stub_itself:
    jmpl *_case_pointer

function case_stub
    pushl %ebp
    movl %esp, %ebp
    calll _case_stub_itself
    popl %ebp
    ret

    .section __DATA,__data
    .p2align 2
    .globl _guest_cases
_guest_cases:
    .long _case_leaf
    .long _case_frame
    .long _case_frame_saved
    .long _case_big_frame
    .long _case_frameless
    .long _case_frameless_big
    .long _case_unusual_prologue
    .long _case_dynamic
    .long _case_where
    .long _case_shrink_wrapped
    .long _case_tail_call
    .long _case_stub
    .long 0
    .globl _case_pointer
_case_pointer:
    .long _case_leaf
    .subsections_via_symbols
