/* SPDX-License-Identifier: MIT */
/* Tail calls of many shapes, in two units: this file and workload_tail_2.c. The functions compute nothing useful; each
 * changes `sink`, so that no compiler leaves it out. For tail_calls.c. */
#include "workload_tail.h"

volatile unsigned sink;
static volatile unsigned zero;

NOINLINE unsigned last(unsigned a, unsigned b) {
    sink = a + b;
    return a * 31 + b;
}

NOINLINE static unsigned last_of_unit(unsigned a, unsigned b) {
    sink = a ^ b;
    return a * 17 - b;
}

/* ---- one possible way ---- */

NOINLINE static unsigned one(unsigned a, unsigned b) {
    sink = a;
    return last_of_unit(b, a + 1);
}

NOINLINE static unsigned two(unsigned a, unsigned b) {
    sink = b;
    return one(a + 2, b);
}

NOINLINE static unsigned three(unsigned a, unsigned b) {
    sink = a - b;
    return two(b, a);
}

/* Calls that lead from one unit to the other and back. */
NOINLINE unsigned here_2(unsigned a, unsigned b) {
    sink = a;
    return there_3(a, b + 1);
}

NOINLINE unsigned here_1(unsigned a, unsigned b) {
    sink = b;
    return there_2(a + 1, b);
}

/* The jump is in inlined code. */
static inline __attribute__((always_inline)) unsigned inlined(unsigned a, unsigned b) {
    sink += a;
    return one(a, b * 3);
}

NOINLINE static unsigned with_inlined(unsigned a, unsigned b) {
    sink = 1;
    return inlined(a + b, b);
}

/* The function makes and undoes a frame before the jump. */
NOINLINE static unsigned after_calls(unsigned a, unsigned b) {
    unsigned x = last(a, b), y = one(x, b);
    sink = y;
    return two(x, y);
}

/* ---- several possible ways ---- */

NOINLINE static unsigned either(unsigned a, unsigned b) {
    sink = a;
    if ((a & 1) != 0) return one(a, b);
    return two(a, b);
}

NOINLINE static unsigned left(unsigned a, unsigned b) {
    sink = 2;
    return last(a, b);
}

NOINLINE static unsigned right(unsigned a, unsigned b) {
    sink = 3;
    return last(b, a);
}

NOINLINE static unsigned parted(unsigned a, unsigned b) {
    sink = 4;
    if ((a & 2) != 0) return left(a, b + 1);
    return right(a, b + 2);
}

/* One of the two ways leads to another function. */
NOINLINE static unsigned one_of_two(unsigned a, unsigned b) {
    sink = 5;
    if ((b & 1) != 0) return left(a, b);
    return last_of_unit(a, b);
}

NOINLINE static unsigned switched(unsigned a, unsigned b) {
    sink = 6;
    switch (a % 5) {
    case 0: return left(a, b);
    case 1: return last_of_unit(b, a);
    case 2: return three(a, b);
    case 3: return there_1(a, b);
    default: return b;
    }
}

/* ---- recursion ---- */

NOINLINE static unsigned odd(unsigned n, unsigned s);

NOINLINE static unsigned even(unsigned n, unsigned s) {
    sink = n;
    if (n == 0) return last(s, 1);
    return odd(n - 1, s + n);
}

NOINLINE static unsigned odd(unsigned n, unsigned s) {
    sink = s;
    if (n == 0) return last(s, 2);
    return even(n - 1, s ^ n);
}

NOINLINE static unsigned itself(unsigned n, unsigned s) {
    sink = n;
    if (n == 0) return last_of_unit(s, n);
    return itself(n - 1, s * 3 + n);
}

/* ---- pointers ---- */

typedef unsigned (*function)(unsigned, unsigned);

static const function functions[] = {last, one, left, switched};

NOINLINE static unsigned by_pointer(unsigned a, unsigned b) {
    sink = 7;
    return functions[a & 3](a, b);
}

NOINLINE static unsigned pointer_or_not(unsigned a, unsigned b) {
    sink = 8;
    if ((a & 4) != 0) return by_pointer(a, b);
    return one(b, a);
}

/* ---- rare ways ---- */

__attribute__((cold)) NOINLINE static unsigned rare(unsigned a, unsigned b) {
    sink = 9;
    return last(b, a);
}

NOINLINE static unsigned mostly(unsigned a, unsigned b) {
    sink = 10;
    if (__builtin_expect(a % 7 == 3, 0)) return rare(a, b);
    return last_of_unit(a, b + 1);
}

NOINLINE static unsigned never(unsigned a, unsigned b) {
    sink = 11;
    if (zero != 0) return by_pointer(a, b);
    return last(a, b);
}

/* ---- the whole program ---- */

NOINLINE static unsigned call_all(unsigned a, unsigned b) {
    unsigned s = one(a, b) + 1;
    s += two(s, a) + three(b, s);
    s ^= here_1(s, b) + there_1(s, a);
    s += with_inlined(s, 3) + after_calls(a, s);
    s ^= either(s, 1) + parted(s, a) + one_of_two(s, b) + switched(s, 4);
    s += even(a & 7, s) + itself(b & 7, s);
    s ^= by_pointer(a, s) + pointer_or_not(s, a);
    s += mostly(s, a) + never(s, b);
    return s ^ there_4(s, a);
}

unsigned usp_workload(unsigned rounds) {
    unsigned s = 1;
    for (unsigned r = 0; r < rounds * 40; r++) s = call_all(s, r) + r;
    return s;
}
