/* SPDX-License-Identifier: MIT */
/* Functions that compilers call implicitly: memory functions, divisions, the stack guard. A freestanding program has no
 * library for them. They are compiled like the program, with frame records, so that the walk through them is tested.
 * Each processor calls some of them.
 *
 * runtime_arm.S has the helpers whose results are in registers that C cannot name. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void bzero(void *to, size_t n);
void zero_memory(void *to, size_t n) __asm__("___bzero"); /* the name that Apple's compilers use */

static void copy_up(unsigned char *to, const unsigned char *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    copy_up(to, from, n);
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t < f) {
        copy_up(t, f, n);
    } else {
        while (n-- > 0) t[n] = f[n];
    }
    return to;
}

void *memset(void *to, int value, size_t n) {
    unsigned char *t = to;
    for (size_t i = 0; i < n; i++) t[i] = (unsigned char)value;
    return to;
}

void bzero(void *to, size_t n) { memset(to, 0, n); }

void zero_memory(void *to, size_t n) { memset(to, 0, n); }

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

/* ---- the stack guard ---- */

extern uintptr_t __stack_chk_guard;
uintptr_t __stack_chk_guard = 0x00aa55e1u;
__attribute__((noreturn)) void __stack_chk_fail(void);

void __stack_chk_fail(void) { __builtin_trap(); }

#ifndef __APPLE__
/* GCC's position-independent i386 code calls this name, without the procedure linkage table. Not for Mach-O: LLVM 13's
 * linker takes the wrong symbols from a file that has a hidden one. */
__attribute__((noreturn, visibility("hidden"))) void __stack_chk_fail_local(void);

void __stack_chk_fail_local(void) { __stack_chk_fail(); }
#endif

/* ---- long division; a division by zero takes no more turns than another ---- */

uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *remainder);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int64_t __divmoddi4(int64_t a, int64_t b, int64_t *remainder);
int64_t __divdi3(int64_t a, int64_t b);
int64_t __moddi3(int64_t a, int64_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);
int32_t __modsi3(int32_t a, int32_t b);
uint32_t __udivmodsi4(uint32_t a, uint32_t b, uint32_t *remainder);
int32_t __divmodsi4(int32_t a, int32_t b, int32_t *remainder);

uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *remainder) {
    uint64_t q = 0, r = 0;
    for (int i = 63; i >= 0; i--) {
        r = r << 1 | (a >> i & 1);
        if (r >= b) {
            r -= b;
            q |= (uint64_t)1 << i;
        }
    }
    if (remainder != NULL) *remainder = r;
    return q;
}

uint64_t __udivdi3(uint64_t a, uint64_t b) { return __udivmoddi4(a, b, NULL); }

uint64_t __umoddi3(uint64_t a, uint64_t b) {
    uint64_t r;
    __udivmoddi4(a, b, &r);
    return r;
}

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

int64_t __divmoddi4(int64_t a, int64_t b, int64_t *remainder) {
    uint64_t r;
    uint64_t q = __udivmoddi4(magnitude(a), magnitude(b), &r);
    *remainder = (int64_t)(a < 0 ? 0 - r : r);
    return (int64_t)((a < 0) != (b < 0) ? 0 - q : q);
}

int64_t __divdi3(int64_t a, int64_t b) {
    int64_t r;
    return __divmoddi4(a, b, &r);
}

int64_t __moddi3(int64_t a, int64_t b) {
    int64_t r;
    __divmoddi4(a, b, &r);
    return r;
}

uint32_t __udivmodsi4(uint32_t a, uint32_t b, uint32_t *remainder) {
    uint32_t q = 0, r = 0;
    for (int i = 31; i >= 0; i--) {
        r = r << 1 | (a >> i & 1);
        if (r >= b) {
            r -= b;
            q |= (uint32_t)1 << i;
        }
    }
    *remainder = r;
    return q;
}

uint32_t __udivsi3(uint32_t a, uint32_t b) {
    uint32_t r;
    return __udivmodsi4(a, b, &r);
}

uint32_t __umodsi3(uint32_t a, uint32_t b) {
    uint32_t r;
    __udivmodsi4(a, b, &r);
    return r;
}

int32_t __divmodsi4(int32_t a, int32_t b, int32_t *remainder) {
    uint32_t r;
    uint32_t q = __udivmodsi4((uint32_t)magnitude(a), (uint32_t)magnitude(b), &r);
    *remainder = (int32_t)(a < 0 ? 0 - r : r);
    return (int32_t)((a < 0) != (b < 0) ? 0 - q : q);
}

int32_t __divsi3(int32_t a, int32_t b) {
    int32_t r;
    return __divmodsi4(a, b, &r);
}

int32_t __modsi3(int32_t a, int32_t b) {
    int32_t r;
    __divmodsi4(a, b, &r);
    return r;
}

/* ---- shifts of 64 bits, which compilers call at -Oz ---- */

uint64_t __ashldi3(uint64_t v, int by);
uint64_t __lshrdi3(uint64_t v, int by);
int64_t __ashrdi3(int64_t v, int by);

/* A 64-bit number as two halves: a shift of the whole number would call the function itself. */
union halves {
    uint64_t whole;
    volatile uint32_t half[2];
};

uint64_t __ashldi3(uint64_t v, int by) {
    union halves h = {.whole = v};
    if (by == 0) return v;
    h.half[1] = by < 32 ? h.half[1] << by | h.half[0] >> (32 - by) : h.half[0] << (by - 32);
    h.half[0] = by < 32 ? h.half[0] << by : 0;
    return h.whole;
}

uint64_t __lshrdi3(uint64_t v, int by) {
    union halves h = {.whole = v};
    if (by == 0) return v;
    h.half[0] = by < 32 ? h.half[0] >> by | h.half[1] << (32 - by) : h.half[1] >> (by - 32);
    h.half[1] = by < 32 ? h.half[1] >> by : 0;
    return h.whole;
}

int64_t __ashrdi3(int64_t v, int by) {
    uint64_t shifted = __lshrdi3((uint64_t)v, by);
    return (int64_t)(v < 0 ? ~__lshrdi3(UINT64_MAX, by) | shifted : shifted);
}

/* Arm's names (Run-time ABI for the Arm Architecture, 4.3.1). The pair {quotient, remainder} is returned in r0, r1,
 * like a 64-bit integer. */
uint32_t __aeabi_uidiv(uint32_t a, uint32_t b);
int32_t __aeabi_idiv(int32_t a, int32_t b);
uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b);
uint64_t __aeabi_idivmod(int32_t a, int32_t b);

uint32_t __aeabi_uidiv(uint32_t a, uint32_t b) { return __udivsi3(a, b); }

int32_t __aeabi_idiv(int32_t a, int32_t b) { return __divsi3(a, b); }

uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b) {
    uint32_t r;
    uint32_t q = __udivmodsi4(a, b, &r);
    return (uint64_t)r << 32 | q;
}

uint64_t __aeabi_idivmod(int32_t a, int32_t b) {
    int32_t r;
    int32_t q = __divmodsi4(a, b, &r);
    return (uint64_t)(uint32_t)r << 32 | (uint32_t)q;
}

uint64_t __aeabi_llsl(uint64_t v, int by);
uint64_t __aeabi_llsr(uint64_t v, int by);
int64_t __aeabi_lasr(int64_t v, int by);

uint64_t __aeabi_llsl(uint64_t v, int by) { return __ashldi3(v, by); }

uint64_t __aeabi_llsr(uint64_t v, int by) { return __lshrdi3(v, by); }

int64_t __aeabi_lasr(int64_t v, int by) { return __ashrdi3(v, by); }

/* A name in the lazy stubs that LLVM 13's Mach-O linker makes room for; never called. */
void stub_binder(void) __asm__("dyld_stub_binder");
void stub_binder(void) {}
