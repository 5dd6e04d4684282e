/* SPDX-License-Identifier: MIT */
/* What compilers don't write: an alternative entry, labels inside a function, a function without an underscore, a stub
 * that sends an Objective-C message. tests/symbolize/macho.sh links it. */
#if defined(__arm__)
#define RETURN bx lr
#define STEP nop
#elif defined(__aarch64__)
#define RETURN ret
#define STEP nop
#else
#define RETURN ret
#define STEP nop; nop; nop
#endif

    .section __TEXT,__text,regular,pure_instructions
    .p2align 2
    .globl _outer
#if defined(__arm__)
    .code 32
#endif
_outer:
    STEP
    STEP
#ifndef WITHOUT_ALT_ENTRY
    .globl _alternative
    .alt_entry _alternative
_alternative:
#endif
    STEP
Lprivate:
    STEP
l_private:
    RETURN

    .p2align 2
    .globl without_underscore
without_underscore:
    STEP
    RETURN

    .p2align 2
    .globl _visible_alias
_local_alias:
_visible_alias:
__underscored_alias:
    STEP
    STEP
    RETURN

#ifdef OBJC_STUB
    .p2align 2
    .globl _sends
_sends:
    bl "_objc_msgSend$first"
    b "_objc_msgSend$bar:baz:"
#endif
    .subsections_via_symbols
