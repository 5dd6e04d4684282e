/* SPDX-License-Identifier: MIT */
/* Functions in a header that are inlined into the fixtures of lines.sh. */
#ifndef LINES_FIXTURE_H
#define LINES_FIXTURE_H

static inline __attribute__((always_inline)) int header_twice(int a) { return a + a; }

static inline __attribute__((always_inline)) int header_mixed(int a, int b) {
    int r = header_twice(a);
    for (int i = 0; i < b; i++) r ^= header_twice(r) + i;
    return r;
}

#endif
