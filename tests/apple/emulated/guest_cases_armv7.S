/* SPDX-License-Identifier: MIT */
/* As guest_cases_arm64.S, for armv7: r7 is the frame pointer, in both instruction sets. */

.macro function name
    .globl _\name
    .p2align 2
    .code 16
    .thumb_func _\name
_\name:
.endm

.macro arm_function name
    .globl _\name
    .p2align 2
    .code 32
_\name:
.endm

    .syntax unified
    .text

/* Nothing on the stack: the link register alone tells the caller. */
function case_leaf
    movs r0, #0
    adds r0, #1
    bx lr

function case_frame
    push {r7, lr}
    mov r7, sp
    bl _case_leaf
    pop {r7, pc}

/* Callee-saved registers of both kinds, and locals below them. */
function case_frame_saved
    push {r4, r5, r6, r7, lr}
    add r7, sp, #12
    push.w {r8, r10, r11}
    vpush {d8, d9}
    sub sp, #80
    movs r4, #19
    bl _case_leaf
    add sp, #80
    vpop {d8, d9}
    pop.w {r8, r10, r11}
    pop {r4, r5, r6, r7, pc}

function case_big_frame
    push {r4, r7, lr}
    add r7, sp, #4
    sub.w sp, sp, #0x5000
    sub sp, #0x40
    str r4, [sp, #8]
    bl _case_leaf
    add.w sp, sp, #0x5000
    add sp, #0x40
    pop {r4, r7, pc}

/* No frame record although it calls: what -fomit-frame-pointer makes. */
function case_frameless
    push {r4, lr}
    sub sp, #8
    movs r4, #1
    bl _case_leaf
    add sp, #8
    pop {r4, pc}

function case_frameless_big
    push {r4, lr}
    sub.w sp, sp, #0x10000
    bl _case_leaf
    add.w sp, sp, #0x10000
    pop {r4, pc}

/* The record is not made at once, and undone in another way. */
function case_unusual_prologue
    sub sp, #32
    movs r3, #9
    str r7, [sp, #24]
    str.w lr, [sp, #28]
    str r4, [sp, #4]
    cbz r3, 1f
    add r7, sp, #24
1:  bl _case_leaf
    ldr r4, [sp, #4]
    ldr r7, [sp, #24]
    ldr.w lr, [sp, #28]
    add sp, #32
    bx lr

/* Memory of the stack whose size is known at run time only. */
function case_dynamic
    push {r4, r7, lr}
    add r7, sp, #4
    movs r3, #0x88
    mov r4, sp
    sub.w r4, r4, r3
    mov sp, r4
    bl _case_leaf
    subs r4, r7, #4
    mov sp, r4
    pop {r4, r7, pc}

/* The fast way needs no frame, the other one makes one late. */
function case_shrink_wrapped
    movs r0, #2
    b 2f
1:  movs r0, #0
    bx lr
2:  cmp r0, #0
    beq 1b
    push {r7, lr}
    mov r7, sp
    bl _case_leaf
    pop.w {r7, lr}
    cmp r0, #0
    bne 1b
    bx lr

function case_tail_call
    push {r7, lr}
    mov r7, sp
    bl _case_leaf
    pop.w {r7, lr}
    b.w _case_leaf

arm_function case_arm
    push {r4, r7, lr}
    add r7, sp, #4
    mov r4, #1
    sub sp, sp, #24
    blx _case_leaf
    sub sp, r7, #4
    pop {r4, r7, pc}

arm_function case_arm_frameless
    str lr, [sp, #-8]!
    sub sp, sp, #0x4000
    blx _case_leaf
    add sp, sp, #0x4000
    ldr lr, [sp], #8
    bx lr

/* As the linker makes them for calls into other libraries. */
arm_function case_stub_itself
    movw r12, :lower16:_case_pointer
    movt r12, :upper16:_case_pointer
    ldr pc, [r12]

function case_stub
    push {r7, lr}
    mov r7, sp
    blx _case_stub_itself
    pop {r7, pc}

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
    .long _case_shrink_wrapped
    .long _case_tail_call
    .long _case_arm
    .long _case_arm_frameless
    .long _case_stub
    .long 0
    .globl _case_pointer
_case_pointer:
    .long _case_leaf
    .subsections_via_symbols
