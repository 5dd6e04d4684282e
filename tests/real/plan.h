/* SPDX-License-Identifier: MIT */
/* Which parts of a program are stepped through, and which run at full speed: so that a few hundred thousand steps see much
 * code in many places, and the true stack is known all the time.
 *
 * A function that is called is stepped through the first times, then ever more rarely; otherwise it runs until it returns.
 * Functions that take long when they run are stepped through more often: they lead to where the program does its work. One
 * that never came back is not left running again. A loop in which nothing new is seen runs for some rounds, or to the
 * function's end. */
#ifndef USP_TESTS_REAL_PLAN_H
#define USP_TESTS_REAL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct plan_callee {
    uint64_t address; /* 0: the place is empty */
    uint32_t calls;
    uint32_t stepped;
    uint8_t is_slow, is_lost;
};

#define PLAN_CALLEES (1u << 20)

struct plan {
    uint64_t random;
    unsigned often;  /* a function is stepped through so many times before it becomes rare */
    unsigned chance; /* of one in so many is the way into a function that is neither slow nor lost */
    struct plan_callee *callees;
};

bool plan_init(struct plan *plan, unsigned often);
void plan_free(struct plan *plan);

/* Another run of the program. */
void plan_begin_run(struct plan *plan, uint64_t seed, unsigned chance);

/* Whether a function that has just been called should be stepped through. */
bool plan_wants(struct plan *plan, uint64_t callee);

/* What came of running it: how long it took, in ns; UINT64_MAX: it never came back. Returns whether that was long. */
bool plan_has_run(struct plan *plan, uint64_t callee, uint64_t ns);

/* A function that calls such ones, or is stepped through for long. */
void plan_is_slow(struct plan *plan, uint64_t callee);

/* 0 … n − 1. */
unsigned plan_random(struct plan *plan, unsigned n);

#endif
