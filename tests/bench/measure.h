/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: subjects that are timed in turn, medians, one line of the result. Not for tests: nothing here
 * fails by being slow. */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <unspool/unspool.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 101u

/* A function that is called as it is written. */
#if defined(__has_attribute)
#if __has_attribute(noclone)
#define APART __attribute__((noinline, noclone))
#endif
#endif
#ifndef APART
#define APART __attribute__((noinline))
#endif

/* Something that takes time. */
struct subject {
    const char *name;
    void (*run)(void *context, unsigned times);
    void *context;
    unsigned times;            /* calls in a round; 0: as many as take about a tenth of a millisecond */
    double rounds[ROUNDS_MAX]; /* ns a call, of each round */
};

static inline int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static inline double median(const double *values, unsigned count) {
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted[count / 2];
}

/* The median of the ratios of rounds: what disturbs the machine for a while disturbs both. */
static inline double ratio(const struct subject *a, const struct subject *b, unsigned rounds) {
    double ratios[ROUNDS_MAX];
    for (unsigned i = 0; i < rounds; i++) ratios[i] = a->rounds[i] / b->rounds[i];
    return median(ratios, rounds);
}

static inline double difference(const struct subject *a, const struct subject *b, unsigned rounds) {
    double differences[ROUNDS_MAX];
    for (unsigned i = 0; i < rounds; i++) differences[i] = a->rounds[i] - b->rounds[i];
    return median(differences, rounds);
}

static inline double time_subject(const struct subject *s) {
    uint64_t begin = usp_clock();
    s->run(s->context, s->times);
    return (double)(usp_clock() - begin) / s->times;
}

/* Times all subjects in turn, `rounds` (at most ROUNDS_MAX) times, after each has run at least once. */
static inline void time_subjects(struct subject *subjects, unsigned count, unsigned rounds) {
    for (unsigned i = 0; i < count; i++) {
        struct subject *s = &subjects[i];
        bool is_given = s->times != 0;
        if (!is_given) s->times = 1;
        while (time_subject(s) * s->times < 100000 && !is_given) s->times *= 2;
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < count; i++) subjects[i].rounds[round] = time_subject(&subjects[i]);
    }
}

/* Says whether a figure is what it should be. */
static inline const char *verdict(bool reached) { return reached ? "reached" : "MISSED"; }

#endif
