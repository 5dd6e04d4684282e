/* SPDX-License-Identifier: MIT */
/* The code that lines.sh compiles in many ways: inlined calls in inlined calls, loops, a switch, a part that is rarely
 * executed, tail calls, lines from another file. It uses no library. */
#include "lines_fixture.h"

volatile int sink;

__attribute__((noinline, cold)) void rare(int a) {
    sink = a;
    sink = a + 1;
}

static int square(int a) { return a * a; }

static int sum_of_squares(const int *all, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += square(all[i]);
        if (__builtin_expect(sum < 0, 0)) rare(sum);
    }
    return sum;
}

__attribute__((noinline)) int leaf(int a) {
    sink = a;
    return a * 7 + sink;
}

__attribute__((noinline)) int jumps(int a) { return leaf(a + 1); }

__attribute__((noinline)) int choose(int a, int b) {
    switch (a) {
    case 0: return header_mixed(b, 3);
    case 1: return square(b) + leaf(b);
    case 2: rare(b); return b;
    case 3: return header_twice(square(b));
    case 4: sink = b; break;
    default: return jumps(b);
    }
    return sink;
}

__attribute__((noinline)) int with_cold_part(int *all, int count) {
    int sum = sum_of_squares(all, count);
    if (__builtin_expect(sum > 1000000, 0)) {
        rare(sum);
        for (int i = 0; i < count; i++) all[i] = header_mixed(all[i], sum);
        rare(count);
    }
    return sum;
}

#line 500 "generated.y"
__attribute__((noinline)) int generated(int a) {
    if (a > 3) return leaf(a);
    return a - 1;
}
#line 60 "lines_fixture.c"

int entry(int a, int b) {
    int all[8];
    for (int i = 0; i < 8; i++) all[i] = choose(i, a) + generated(b);
    return other_unit(with_cold_part(all, 8));
}
