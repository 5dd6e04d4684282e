/* SPDX-License-Identifier: MIT */
/* Shared by the benchmarks: subjects that are timed in turn, medians, a result's line. Not for tests: a slow benchmark
 * does not fail. */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <unspool/unspool.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 101u

/* Marks a function that the compiler must neither inline nor clone. */
#if defined(__has_attribute)
#if __has_attribute(noclone)
#define APART __attribute__((noinline, noclone))
#endif
#endif
#ifndef APART
#define APART __attribute__((noinline))
#endif

/* A function to time. */
struct subject {
    const char *name;
    void (*run)(void *context, unsigned times);
    void *context;
    unsigned times;            /* calls in a round; 0: as many as take about 0.1 ms */
    double rounds[ROUNDS_MAX]; /* ns for each call, of each round */
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

/* Returns the median of the rounds' ratios. A disturbance of the machine affects both subjects of a round. */
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

/* Times all subjects in turn, `rounds` (at most ROUNDS_MAX) times. Each has run at least once before. */
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

/* Returns a word that says whether a figure meets its goal. */
static inline const char *verdict(bool reached) { return reached ? "reached" : "MISSED"; }

#endif
