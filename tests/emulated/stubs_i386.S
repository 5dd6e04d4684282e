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
    HIDDEN(SYMBOL(stub_target))
    HIDDEN(SYMBOL(stub_leaf))

function SYMBOL(stub_leaf)
    movl 4(%esp), %eax
    leal 1(%eax,%eax,4), %eax
    retl

function SYMBOL(stub_jump)
    jmp SYMBOL(stub_target)

/* A jump through a register. If the linker allows it, the address is computed from the code's own, like in
 * position-independent stubs. */
function SYMBOL(stub_jump_register)
#ifdef __APPLE__
    movl $SYMBOL(stub_target), %ecx
#else
    calll 1f
1:  popl %ecx
    addl $stub_target - 1b, %ecx
#endif
    jmpl *%ecx

function SYMBOL(stub_thunk)
    subl $8, 4(%esp)
    movl 4(%esp), %eax
    xorl %eax, 8(%esp)
    jmp SYMBOL(stub_target)

function SYMBOL(stub_calls)
    pushl %ebp
    movl %esp, %ebp
    pushl %ebx
    pushl %esi
    subl $8, %esp
    movl 12(%ebp), %ebx
    pushl %ebx
    pushl 8(%ebp)
    calll SYMBOL(stub_target)
    addl $8, %esp
    leal (%eax,%ebx), %esi
    movl %esi, (%esp)
    calll SYMBOL(stub_leaf)
    xorl %esi, %eax
    addl $8, %esp
    popl %esi
    popl %ebx
    popl %ebp
    retl
