/* SPDX-License-Identifier: MIT */
/* A library for test_symbolize_loaded, with a function that the loader names and one that only the symbol table names.
 * Built twice, the second time with other names at the same offsets. */
#include <stdint.h>

#ifdef USP_TEST_SECOND
#define PREFIX           "fixture_2_"
#define fixture_exported fixture_2_exported
#define fixture_hidden   fixture_2_hidden
#define fixture_other    fixture_2_other
#else
#define PREFIX "fixture_"
#endif

uintptr_t fixture_exported(int which);
uintptr_t fixture_other(void);

__attribute__((visibility("default"), noinline)) uintptr_t fixture_other(void) { return (uintptr_t)&fixture_other + 1; }

__attribute__((noinline)) static uintptr_t fixture_hidden(void) { return fixture_other() + 1; }

/* Two functions of one instruction each, without sizes: one that the loader names, one that only the symbol table
 * names. */
#if defined(__arm__)
#define RETURN "bx lr\n"
#elif defined(__aarch64__) || defined(__x86_64__) || defined(__i386__)
#define RETURN "ret\n"
#endif
#ifdef RETURN
__asm__(".text\n.p2align 2\n"
        ".globl " PREFIX "bare\n.type " PREFIX "bare, %function\n" PREFIX "bare: " RETURN ".type " PREFIX
        "beside, %function\n" PREFIX "beside: " RETURN);
#endif

/* Returns its own address, or that of the hidden function. */
__attribute__((visibility("default"), noinline)) uintptr_t fixture_exported(int which) {
    if (which == 2) return fixture_hidden();
    return which == 0 ? (uintptr_t)&fixture_exported : (uintptr_t)&fixture_hidden;
}
