/* SPDX-License-Identifier: MIT */
/* Functions without a frame of their own, as linkers and hand-written code have them; see workload.c. */
#include "asm.h"

.macro function name
    .globl \name
    .p2align 2
    FUNCTION_TYPE(\name)
\name:
.endm

    .text

function SYMBOL(stub_leaf)
    add w8, w0, w0, lsl #2
    add w0, w8, #1
    ret

function SYMBOL(stub_jump)
    b SYMBOL(stub_target)

/* A jump through x16, like a PLT entry. */
function SYMBOL(stub_jump_register)
#ifdef __APPLE__
    adrp x16, SYMBOL(stub_target)@PAGE
    add x16, x16, SYMBOL(stub_target)@PAGEOFF
#else
    adrp x16, :got:stub_target
    ldr x16, [x16, :got_lo12:stub_target]
#endif
    br x16

function SYMBOL(stub_thunk)
    sub w0, w0, #8
    eor w1, w1, w0
    b SYMBOL(stub_target)

function SYMBOL(stub_calls)
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    stp x19, x20, [sp, #16]
    mov w19, w1
    bl SYMBOL(stub_target)
    add w20, w0, w19
    mov w0, w20
    bl SYMBOL(stub_leaf)
    eor w0, w0, w20
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
