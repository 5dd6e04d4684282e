/* SPDX-License-Identifier: MIT */
/* Functions in a header that all fixtures of lines.sh and lines_matrix.sh have. */
#ifndef TESTS_SYMBOLIZE_LINES_FIXTURE_H
#define TESTS_SYMBOLIZE_LINES_FIXTURE_H

extern volatile int sink;

static inline __attribute__((always_inline)) int header_twice(int a) { return a + a; }

static inline __attribute__((always_inline)) int header_mixed(int a, int b) {
    int r = header_twice(a);
    for (int i = 0; i < b; i++) r ^= header_twice(r) + i;
    return r;
}

/* Two functions of one code, which a linker folds. */
static __attribute__((noinline, used)) int header_twin(int a) {
    sink = a;
    return header_twice(a) + sink;
}
static __attribute__((noinline, used)) int header_other_twin(int a) {
    sink = a;
    return header_twice(a) + sink;
}

static __attribute__((noinline, cold)) void header_rare(int a) {
    sink = a;
    sink = a + 1;
}

/* Its second part is rarely executed: a compiler puts it apart. */
static __attribute__((used)) int header_cold_part(int *all, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += all[i];
    if (__builtin_expect(sum > 1000000, 0)) {
        header_rare(sum);
        for (int i = 0; i < count; i++) all[i] = header_mixed(all[i], sum);
        header_rare(count);
    }
    return sum;
}

/* Of another unit, for optimizers that know both. */
#ifdef LINES_TWO_UNITS
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("hidden"))) int
    other_unit(int a);
#else
static inline int other_unit(int a) { return a; }
#endif

#endif
