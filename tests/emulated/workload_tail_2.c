/* SPDX-License-Identifier: MIT */
/* See workload_tail.c. */
#include "workload_tail.h"

/* The other unit has a function of the same name. */
NOINLINE static unsigned one(unsigned a, unsigned b) {
    sink = a + 7;
    return last(a + 5, b);
}

NOINLINE unsigned there_3(unsigned a, unsigned b) {
    sink = b;
    return one(b, a);
}

NOINLINE unsigned there_2(unsigned a, unsigned b) {
    sink = a;
    return here_2(b, a + 2);
}

NOINLINE unsigned there_1(unsigned a, unsigned b) {
    sink = a + 3;
    return here_1(a, b);
}

NOINLINE unsigned there_4(unsigned a, unsigned b) {
    sink = b + 4;
    return last(a, b) + last(b, a);
}
