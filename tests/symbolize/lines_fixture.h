/* SPDX-License-Identifier: MIT */
/* Functions that are inlined from a header into both fixtures of lines. */
#ifndef LINES_FIXTURE_H
#define LINES_FIXTURE_H

static inline __attribute__((always_inline)) int header_twice(int a) { return a + a; }

static inline __attribute__((always_inline)) int header_mixed(int a, int b) {
    int r = header_twice(a);
    for (int i = 0; i < b; i++) r ^= header_twice(r) + i;
    return r;
}

#endif
