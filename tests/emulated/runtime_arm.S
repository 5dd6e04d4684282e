/* SPDX-License-Identifier: MIT */
/* Arm's 64-bit division helpers, which no C function can replace: quotient in r0:r1, remainder in r2:r3 (Run-time ABI
 * for the Arm Architecture, 4.3.1). */
#include "asm.h"

    .syntax unified

.macro divide name, by
    .globl \name
    .p2align 2
    FUNCTION_TYPE(\name)
#if USE_THUMB
    THUMB_FUNCTION(\name)
#endif
\name:
    push {FRAME, lr}
    mov FRAME, sp
    sub sp, sp, #16
    add r12, sp, #8
    str r12, [sp]
    bl \by
    ldrd r2, r3, [sp, #8]
    mov sp, FRAME
    pop {FRAME, pc}
.endm

    .text
#if USE_THUMB
    .thumb
#else
    .arm
#endif

divide SYMBOL(__aeabi_uldivmod), SYMBOL(__udivmoddi4)
divide SYMBOL(__aeabi_ldivmod), SYMBOL(__divmoddi4)
