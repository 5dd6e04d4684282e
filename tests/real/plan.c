/* SPDX-License-Identifier: MIT */
/* See plan.h. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* A function that runs longer than this counts as slow: it does the program's work. */
#define SLOW_NS UINT64_C(300000)

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
unsigned plan_random(struct plan *p, unsigned n) {
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (unsigned)(p->random >> 32) % n;
}

static struct plan_callee *find(struct plan *p, uint64_t address) {
    uint64_t at = address * UINT64_C(0x9e3779b97f4a7c15) >> 44;
    for (unsigned tries = 0; tries < 64; tries++, at++) {
        struct plan_callee *c = &p->callees[at % PLAN_CALLEES];
        if (c->address == 0) c->address = address;
        if (c->address == address) return c;
    }
    return &p->callees[at % PLAN_CALLEES];
}

static bool is_power_of_two(uint32_t n) { return (n & (n - 1)) == 0; }

bool plan_wants(struct plan *p, uint64_t callee) {
    struct plan_callee *c = find(p, callee);
    c->calls++;
    bool wants =
        c->is_lost || (c->is_slow && c->stepped < 16 * p->often) || c->stepped < p->often || is_power_of_two(c->calls);
    if (!c->is_slow && !c->is_lost && plan_random(p, p->chance) != 0) wants = false;
    if (wants) c->stepped++;
    return wants;
}

void plan_is_slow(struct plan *p, uint64_t callee) { find(p, callee)->is_slow = 1; }

bool plan_has_run(struct plan *p, uint64_t callee, uint64_t ns) {
    struct plan_callee *c = find(p, callee);
    if (ns == UINT64_MAX) c->is_lost = 1;
    if (ns > SLOW_NS) c->is_slow = 1;
    return ns > SLOW_NS;
}

void plan_begin_run(struct plan *p, uint64_t seed, unsigned chance) {
    p->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    p->chance = chance;
}

bool plan_init(struct plan *p, unsigned often) {
    memset(p, 0, sizeof *p);
    p->often = often;
    p->chance = 1;
    p->random = 1;
    p->callees = calloc(PLAN_CALLEES, sizeof *p->callees);
    return p->callees != NULL;
}

void plan_free(struct plan *p) { free(p->callees); }
