/* SPDX-License-Identifier: MIT */
/* Helpers of the assembly files: how a symbol is spelled and a function begins, in ELF and in Mach-O. */
#ifndef TESTS_EMULATED_ASM_H
#define TESTS_EMULATED_ASM_H

#define JOIN_(a, b)  a##b
#define JOIN(a, b)   JOIN_(a, b)
#define SYMBOL(name) JOIN(__USER_LABEL_PREFIX__, name)

/* In position-independent code a direct jump needs a target that no other image can replace. */
#ifdef __APPLE__
#define FUNCTION_TYPE(name)
#define THUMB_FUNCTION(name) .thumb_func name
#define HIDDEN(name)
#else
#define FUNCTION_TYPE(name)  .type name, STT_FUNC
#define THUMB_FUNCTION(name) .thumb_func
#define HIDDEN(name)         .hidden name
#endif

#endif
