/* SPDX-License-Identifier: MIT */
/* Chooses the parts of a program that are stepped through; the other parts run at full speed. So a few hundred thousand
 * steps see code in many places, and the true stack stays known.
 *
 * A function is stepped through at its first calls, then ever more rarely; otherwise it runs until it returns. Slow
 * functions are stepped through more often, because they lead to where the program does its work. A function that did
 * not return when it ran is always stepped through. A loop in which nothing new is seen runs for some rounds, or to the
 * function's end. */
#ifndef TESTS_REAL_PLAN_H
#define TESTS_REAL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct plan_callee {
    uint64_t address; /* 0: the entry is empty */
    uint32_t calls;
    uint32_t stepped;
    uint8_t is_slow, is_lost;
};

#define PLAN_CALLEES (1u << 20)

struct plan {
    uint64_t random;
    unsigned often;  /* how many calls of a function are stepped through before they become rare */
    unsigned chance; /* one in so many of these calls is stepped through, if the function is neither slow nor lost */
    struct plan_callee *callees;
};

bool plan_init(struct plan *plan, unsigned often);
void plan_free(struct plan *plan);

/* Begins another run of the program. */
void plan_begin_run(struct plan *plan, uint64_t seed, unsigned chance);

/* Whether a function that has just been called should be stepped through. */
bool plan_wants(struct plan *plan, uint64_t callee);

/* Notes how long a function ran, in ns; UINT64_MAX: it did not return. Returns whether it is slow. */
bool plan_has_run(struct plan *plan, uint64_t callee, uint64_t ns);

/* Marks a function as slow, because it calls slow functions or was stepped through for long. */
void plan_is_slow(struct plan *plan, uint64_t callee);

/* A random number from 0 to n − 1. */
unsigned plan_random(struct plan *plan, unsigned n);

#endif
