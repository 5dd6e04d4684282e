/* SPDX-License-Identifier: MIT */
/* A third program for the emulator, for code without frame pointers: frames that are hard to unwind by instructions
 * alone. It has large frames, stacks of run-time size, jump tables beside tail calls, functions that end in a call
 * which never returns, and unknown callees that take their arguments off the stack.
 *
 * Freestanding, and the same checksum on every processor, as workload.c is. */
#include "workload.h"

#include <stdarg.h>
#include <stddef.h>

#if defined(__i386__) || defined(__x86_64__)
#define REALIGN __attribute__((force_align_arg_pointer))
#else
#define REALIGN
#endif

static volatile unsigned zero, one = 1, sink;

NOINLINE static unsigned mix(unsigned a, unsigned b) { return (a ^ b << 5) * 0x01000193u + (a >> 7); }

NORETURN NOINLINE COLD static void die(unsigned x) {
    for (;;) sink += x;
}

NORETURN NOINLINE static void die_plain(const char *why, unsigned x) {
    for (;;) sink += x + (unsigned)why[0];
}

/* ---- large frames: around a page in size, and larger than one instruction's constant ---- */

NOINLINE static void touch(volatile unsigned char *p, size_t n, unsigned v) {
    p[0] = (unsigned char)v;
    p[n / 2] = 3;
    p[n - 1] = (unsigned char)(v >> 8);
}

#define LARGE(name, size)                                                                                              \
    NOINLINE static unsigned name(unsigned a) {                                                                        \
        volatile unsigned char b[size];                                                                                \
        touch(b, sizeof b, a);                                                                                         \
        if ((a & 1) != 0) return b[0] + mix(a, b[sizeof b - 1]);                                                       \
        for (unsigned i = 0; i < 3; i++) a = mix(a, b[0]);                                                             \
        return a + b[size / 2];                                                                                        \
    }

LARGE(large_4090, 4090)
LARGE(large_5000, 5000)
LARGE(large_70001, 70001)

NOINLINE static unsigned large_leaf(unsigned a) {
    volatile unsigned char b[6000];
    b[0] = (unsigned char)a;
    b[5999] = 7;
    return b[0] + b[5999] + 1u;
}

/* ---- stacks of run-time size ---- */

NOINLINE static unsigned vla(unsigned n, unsigned a) {
    volatile unsigned v[n % 50 + 1];
    for (unsigned i = 0; i < n % 50 + 1; i++) v[i] = a + i;
    return mix(v[0], v[n % 50]);
}

NOINLINE static unsigned vla_loop(unsigned n, unsigned a) {
    for (unsigned k = 1; k < n; k++) {
        volatile unsigned char v[k * 13 + 1];
        touch(v, sizeof v, a);
        a = mix(a, v[0]);
        if (k == 4 && a == 77) return a;
    }
    return a;
}

NOINLINE static unsigned vla_aligned(unsigned n, unsigned a) {
    _Alignas(64) volatile unsigned char x[100];
    volatile unsigned char v[n * 9 + 5];
    touch(x, sizeof x, a);
    touch(v, sizeof v, a);
    return mix(x[0], v[0]) + (unsigned)((uintptr_t)x & 63u);
}

NOINLINE static unsigned many(unsigned n, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                              unsigned g, unsigned h, unsigned i) {
    volatile unsigned v[n + 1];
    v[0] = a;
    v[n] = b;
    return mix(v[0] + c, v[n] + d) + mix(e, f) + mix(g, h) + i;
}

NOINLINE static unsigned vla_call(unsigned n, unsigned a) {
    volatile unsigned v[n + 2];
    v[0] = a;
    v[n + 1] = a * 3;
    unsigned r = many(n, a, 2, 3, 4, 5, 6, 7, 8, v[0]);
    if ((r & 1) != 0) {
        volatile unsigned w[n * 2 + 1];
        w[0] = r;
        r ^= many(n + 1, r, w[0], v[n + 1], 4, 5, 6, 7, 8, 9);
    }
    return r + v[n + 1];
}

REALIGN NOINLINE static unsigned realigned(unsigned a, unsigned b) {
    _Alignas(32) volatile unsigned char x[40];
    volatile unsigned char v[a % 20 + 4];
    touch(x, sizeof x, b);
    touch(v, sizeof v, a);
    return mix(x[0], v[0]);
}

/* ---- callees that take their arguments off the stack, also through a pointer ---- */

CALLEE_POPS NOINLINE static unsigned pops_1(unsigned a) { return mix(a, 1); }

CALLEE_POPS NOINLINE static unsigned pops_3(unsigned a, unsigned b, unsigned c) { return mix(a, b) + pops_1(c); }

CALLEE_POPS NOINLINE static unsigned pops_in_loop(unsigned a, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (pops_1(a + i) == 0) return pops_3(i, a, n);
        a = pops_3(a, i, n);
        if (a == 5) break;
    }
    return a;
}

typedef CALLEE_POPS unsigned (*popping)(unsigned, unsigned, unsigned);
static const volatile popping pops = pops_3;

NOINLINE static unsigned pops_by_pointer(unsigned a) {
    unsigned r = pops(a, 1, 2);
    if ((r & 1) != 0) r += pops(r, 2, 3);
    return pops(r, a, pops_1(r));
}

/* ---- jump tables, tail calls and code that never comes back, side by side ---- */

typedef unsigned (*operation)(unsigned, unsigned);

static unsigned odd(unsigned n, unsigned a);

NOINLINE static unsigned even(unsigned n, unsigned a) { return n == 0 ? a : odd(n - 1, mix(a, n)); }

NOINLINE static unsigned odd(unsigned n, unsigned a) { return n == 0 ? ~a : even(n - 1, a + n); }

static unsigned hop(unsigned n, unsigned a), hop_framed(unsigned n, unsigned a);
static const volatile operation hops[] = {hop, hop_framed, even};

NOINLINE static unsigned hop(unsigned n, unsigned a) { return n < 2 ? a : hops[(n + a) % 3](n - 1, a + 1); }

NOINLINE static unsigned hop_framed(unsigned n, unsigned a) {
    if (n < 2) return a * 3;
    volatile unsigned x[5];
    x[n % 5] = a;
    a = mix(x[n % 5], n);
    return hops[(n ^ a) % 3](n - 1, a);
}

NOINLINE static unsigned choose_tail(unsigned n, unsigned a) {
    switch (n % 9) {
    case 0: return hop(n, a);
    case 1: return hop_framed(n, a);
    case 2: return even(n, a);
    case 3: return mix(a, n);
    case 4: return mix(n, a) ^ 1;
    case 5: return odd(n, a + 1);
    case 6: return vla(n, a);
    case 7: sink = a; return vla(n, a);
    default: return a;
    }
}

NOINLINE static unsigned choose_in_leaf(unsigned n) {
    switch (n) {
    case 0: return 5;
    case 1: return n * 77u + one;
    case 2: return one ^ 3u;
    case 3: return one << 4;
    case 4: return one + 9;
    case 5: return n ^ one;
    case 6: return one * one;
    case 7: sink = n; return 1;
    default: return n * 3;
    }
}

NOINLINE static unsigned choose_or_die(unsigned n, unsigned a) {
    switch (n) {
    case 0: return mix(a, 1);
    case 1:
        if (zero != 0) die(1);
        return mix(a, 2);
    case 2:
        if (zero != 0) die_plain("x", 2);
        return a + mix(a, 3);
    case 3: a = mix(a, 4); break;
    case 4: a = mix(a, 5) ^ 1; break;
    case 5: a = mix(mix(a, 5), 2); break;
    default: die(n);
    }
    return mix(a, a);
}

#define FOUR_CASES(n)                                                                                                  \
    case n: a = mix(a, n) + 1; break;                                                                                  \
    case n + 1:                                                                                                        \
        a ^= n;                                                                                                        \
        sink = a;                                                                                                      \
        break;                                                                                                         \
    case n + 2: a += mix(n, a) * choose_in_leaf(a & 7); break;                                                         \
    case n + 3:                                                                                                        \
        if ((a & 1) != 0) return mix(a, 9);                                                                            \
        a++;                                                                                                           \
        break;

NOINLINE static unsigned choose_of_many(unsigned n, unsigned a) {
    for (unsigned i = 0; i < 3; i++, n = n * 7 + 1) {
        switch (n % 32) {
            FOUR_CASES(0)
            FOUR_CASES(4)
            FOUR_CASES(8)
            FOUR_CASES(12)
            FOUR_CASES(16)
            FOUR_CASES(20)
            FOUR_CASES(24)
            FOUR_CASES(28)
        }
    }
    return a;
}

/* Many paths at once, with numbers in registers on each path. */
#define LINK(k)                                                                                                        \
    if (mix(n, k) % 3 == 0) {                                                                                          \
        a = mix(a, k);                                                                                                 \
        if (a == (k)) return k;                                                                                        \
    } else if (a % 5 == (k) % 5) {                                                                                     \
        a += choose_in_leaf((k) & 7);                                                                                  \
    } else if ((n & 1) != 0) {                                                                                         \
        a ^= (k) * 3;                                                                                                  \
    }
#define LINKS(k) LINK(k) LINK(k + 1) LINK(k + 2) LINK(k + 3) LINK(k + 4) LINK(k + 5) LINK(k + 6) LINK(k + 7)

NOINLINE static unsigned chain(unsigned n, unsigned a) {
    LINKS(0)
    LINKS(8)
    LINKS(16)
    LINKS(24)
    return a;
}

NOINLINE static unsigned ends_dead(unsigned a) {
    volatile unsigned x[10];
    x[a % 10] = a;
    if (one == 1) return mix(x[a % 10], 1) + 1;
    die_plain("end", a);
}

NOINLINE static unsigned after_dead(unsigned a) { return a * 3 + one; }

/* ---- frame pointers on request, and registers that outlive calls ---- */

NOINLINE static unsigned asks_for_frame(unsigned a) {
    volatile char *p = __builtin_frame_address(0);
    return p != NULL ? mix(a, 6) : 0;
}

NOINLINE static unsigned asks_for_caller(unsigned a) {
    return __builtin_return_address(0) != NULL ? mix(a, 7) + after_dead(a) : 0;
}

NOINLINE static unsigned sum(unsigned n, ...) {
    va_list ap;
    unsigned s = 0;
    va_start(ap, n);
    while (n-- > 0) s = s * 5 + va_arg(ap, unsigned);
    va_end(ap);
    return s;
}

NOINLINE static unsigned through(unsigned n, unsigned a);

NOINLINE static unsigned down(unsigned n, unsigned a, unsigned b, unsigned c) {
    if (n == 0) return a + b + c;
    unsigned r = through(n - 1, a + 1);
    return r + (b ^ mix(c, a)) + sum(4, r, a, b, c);
}

NOINLINE static unsigned through(unsigned n, unsigned a) {
    if (n == 0) return a;
    volatile unsigned char x[n * 3 + 1];
    x[0] = (unsigned char)a;
    return down(n - 1, mix(a, x[0]), n, a) + x[0];
}

unsigned usp_workload(unsigned rounds) {
    unsigned h = 1;
    for (unsigned r = 0; r < rounds; r++) {
        h = mix(h, large_4090(h + 1));
        h = mix(h, large_5000(h));
        h = mix(h, large_70001(h));
        h = mix(h, large_leaf(h));
        h = mix(h, vla_loop(6, h));
        h = mix(h, vla_aligned(3, h));
        h = mix(h, vla_call(4, h));
        h = mix(h, vla_call(5, h + 1));
        h = mix(h, realigned(h, 3));
        h = mix(h, pops_in_loop(h, 4));
        h = mix(h, pops_by_pointer(h));
        h = mix(h, pops_by_pointer(h + 1));
        h = mix(h, hop(9, h));
        h = mix(h, hop_framed(7, h));
        for (unsigned i = 0; i < 9; i++) h = mix(h, choose_tail(i + 9, h));
        for (unsigned i = 0; i < 6; i++) h = mix(h, choose_or_die(i, h));
        for (unsigned i = 0; i < 16; i++) h = mix(h, choose_of_many(h, i));
        h = mix(h, chain(h, 1));
        h = mix(h, ends_dead(h));
        h = mix(h, after_dead(h));
        h = mix(h, asks_for_frame(h));
        h = mix(h, asks_for_caller(h));
        h = mix(h, through(7, h));
    }
    return h;
}
