/* SPDX-License-Identifier: MIT */
/* Functions of arm64, arm64e and arm64_32 as unwinders meet them on Apple systems: what PLCrashReporter's and libunwind's
 * own tests list (a frame, no frame, a big one of each kind, an unusual prologue, fallback to the link register, stubs),
 * written anew. A table at the end lists them. */

.macro function name
    .globl _\name
    .p2align 2
_\name:
.endm

    .text

/* Nothing on the stack: the link register alone tells the caller. */
function case_leaf
    mov x0, #0
    add x0, x0, #1
    ret

function case_frame
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl _case_leaf
    ldp x29, x30, [sp], #16
    ret

/* Callee-saved registers of both kinds, and locals below them. */
function case_frame_saved
    stp d9, d8, [sp, #-64]!
    stp x22, x21, [sp, #16]
    stp x20, x19, [sp, #32]
    stp x29, x30, [sp, #48]
    add x29, sp, #48
    sub sp, sp, #80
    mov x19, #19
    mov x20, #20
    bl _case_leaf
    add sp, sp, #80
    ldp x29, x30, [sp, #48]
    ldp x20, x19, [sp, #32]
    ldp x22, x21, [sp, #16]
    ldp d9, d8, [sp], #64
    ret

function case_big_frame
    stp x28, x27, [sp, #-32]!
    stp x29, x30, [sp, #16]
    add x29, sp, #16
    sub sp, sp, #5, lsl #12
    sub sp, sp, #0x340
    str xzr, [sp, #8]
    bl _case_leaf
    add sp, sp, #5, lsl #12
    add sp, sp, #0x340
    ldp x29, x30, [sp, #16]
    ldp x28, x27, [sp], #32
    ret

/* No frame record although it calls: what -fomit-frame-pointer makes. */
function case_frameless
    stp x20, x19, [sp, #-32]!
    str x30, [sp, #16]
    mov x19, #1
    bl _case_leaf
    ldr x30, [sp, #16]
    ldp x20, x19, [sp], #32
    ret

function case_frameless_big
    str x30, [sp, #-16]!
    sub sp, sp, #16, lsl #12
    sub sp, sp, #0x20
    bl _case_leaf
    add sp, sp, #16, lsl #12
    add sp, sp, #0x20
    ldr x30, [sp], #16
    ret

/* The record is not made at once, not in one piece, and undone in another order. */
function case_unusual_prologue
    sub sp, sp, #0x60
    mov x9, #9
    str x30, [sp, #0x58]
    str x19, [sp, #0x28]
    mov x19, x9
    str x29, [sp, #0x50]
    cbz x9, 1f
    add x29, sp, #0x50
1:  bl _case_leaf
    ldr x19, [sp, #0x28]
    ldr x29, [sp, #0x50]
    mov x0, #0
    ldr x30, [sp, #0x58]
    add sp, sp, #0x60
    ret

/* Memory of the stack whose size is known at run time only. */
function case_dynamic
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    mov x8, #0x90
    sub sp, sp, x8
    bl _case_leaf
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret

/* The fast way needs no frame, the other one makes one late. */
function case_shrink_wrapped
    mov x0, #2
    b 2f
1:  mov x0, #0
    ret
2:  cbz x0, 1b
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl _case_leaf
    ldp x29, x30, [sp], #16
    cbnz x0, 1b
    ret

function case_tail_call
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl _case_leaf
    ldp x29, x30, [sp], #16
    b _case_leaf

/* As the linker makes them for calls into other libraries. */
    .p2align 2
stub:
#if defined(__LP64__)
    adrp x16, pointer@PAGE
    ldr x16, [x16, pointer@PAGEOFF]
#else
    adrp x16, pointer@PAGE
    ldr w16, [x16, pointer@PAGEOFF]
#endif
    br x16

function case_stub
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl stub
    ldp x29, x30, [sp], #16
    ret

#if defined(__arm64e__)
function case_signed
    pacibsp
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    bl _case_leaf
    ldp x29, x30, [sp], #16
    retab

function case_signed_frameless
    pacibsp
    str x30, [sp, #-16]!
    bl _case_leaf
    ldr x30, [sp], #16
    autibsp
    ret
#endif

#if defined(__LP64__)
#define POINTER .quad
    .section __DATA,__const
    .p2align 3
#else
#define POINTER .long
    .section __DATA,__const
    .p2align 2
#endif
    .globl _guest_cases
_guest_cases:
    POINTER _case_leaf
    POINTER _case_frame
    POINTER _case_frame_saved
    POINTER _case_big_frame
    POINTER _case_frameless
    POINTER _case_frameless_big
    POINTER _case_unusual_prologue
    POINTER _case_dynamic
    POINTER _case_shrink_wrapped
    POINTER _case_tail_call
    POINTER _case_stub
#if defined(__arm64e__)
    POINTER _case_signed
    POINTER _case_signed_frameless
#endif
    POINTER 0
pointer:
    POINTER _case_leaf
    .subsections_via_symbols
