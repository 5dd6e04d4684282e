/* SPDX-License-Identifier: MIT */
/* Functions without a frame of their own, as linkers and hand-written code have them; see workload.c. In Thumb or ARM
 * state, as the builder says. */
#include "asm.h"

    .syntax unified

.macro function name
    .globl \name
    .p2align 2
    FUNCTION_TYPE(\name)
#if USE_THUMB
    THUMB_FUNCTION(\name)
#endif
\name:
.endm

    .text
    HIDDEN(SYMBOL(stub_target))
#if USE_THUMB
    .thumb
#else
    .arm
#endif

function SYMBOL(stub_leaf)
    add r0, r0, r0, lsl #2
    adds r0, r0, #1
    bx lr

function SYMBOL(stub_jump)
    b SYMBOL(stub_target)

/* A jump through ip, like a stub in a Mach-O image or a PLT entry. */
function SYMBOL(stub_jump_register)
#ifdef __APPLE__
    movw r12, :lower16:SYMBOL(stub_target)
    movt r12, :upper16:SYMBOL(stub_target)
#else
    ldr r12, 2f
1:  add r12, pc
#endif
    bx r12
#ifndef __APPLE__
    .p2align 2
2:  .long stub_target - (1b + PC_AHEAD)
#endif

/* A function that pushes and pops registers; its return address stays in lr all the time. */
function SYMBOL(stub_thunk)
    push {r4, r5}
    mov r4, r0
    subs r0, r4, #8
    eor r1, r1, r0
    pop {r4, r5}
    b SYMBOL(stub_target)

function SYMBOL(stub_calls)
    push {r4, r5, FRAME, lr}
    add FRAME, sp, #8
    mov r4, r1
    bl SYMBOL(stub_target)
    add r5, r0, r4
    mov r0, r5
    bl SYMBOL(stub_leaf)
    eor r0, r0, r5
    pop {r4, r5, FRAME, pc}
