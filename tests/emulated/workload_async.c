/* SPDX-License-Identifier: MIT */
/* A program with Swift async frames, written in C: functions with the Swift async calling convention, whose records
 * clang extends by the async context. Asynchronous and ordinary frames alternate on the stack.
 *
 * The harness recognizes a function with an async frame by the start of its name (async_), and derives the expected
 * chain from the context passed to it. Only make_context makes contexts. */
#include "workload.h"

#include <stddef.h>

#define ASYNC   __attribute__((swiftasynccall))
#define CONTEXT struct context *__attribute__((swift_async_context)) context

struct context {
    struct context *parent;
    void (*resume)(void);
    unsigned value;
};

typedef ASYNC unsigned (*async_function)(unsigned x, CONTEXT);

static struct context contexts[64];
static unsigned context_count;
static volatile unsigned zero;

NOINLINE static unsigned fold(unsigned hash, unsigned value) {
    hash ^= value;
    hash *= 0x9e3779b1u;
    return hash << 13 | hash >> 19;
}

static void resume_first(void) { contexts[0].value++; }
static void resume_second(void) { contexts[1].value += 2; }
static void resume_third(void) { contexts[2].value += 3; }

NOINLINE static struct context *make_context(struct context *parent, unsigned value) {
    static void (*const resumes[])(void) = {resume_first, resume_second, resume_third};
    struct context *c = &contexts[context_count++ % 64];
    c->parent = parent;
    c->resume = resumes[value % 3];
    c->value = value;
    return c;
}

NORETURN NOINLINE static void fatal(unsigned why) {
    for (;;) contexts[3].value = fold(contexts[3].value, why);
}

NOINLINE static unsigned ordinary(unsigned x) {
    volatile unsigned a[5] = {x, x + 1};
    return fold(a[0], a[1]);
}

/* ---- async frames of several shapes ---- */

NOINLINE static ASYNC unsigned async_leaf(unsigned x, CONTEXT) { return x * 3 + context->value; }

NOINLINE static ASYNC unsigned async_small(unsigned x, CONTEXT) { return fold(x, context->value) + ordinary(x); }

NOINLINE static ASYNC unsigned async_saved(unsigned x, CONTEXT) {
    unsigned a = fold(x, 1), b = fold(a, 2), c = fold(b, 3), d = fold(c, 4), e = fold(d, 5), f = fold(e, 6);
    context->value += a ^ f;
    return a + b * c - d + e * f + fold(a, f) + context->value;
}

NOINLINE static ASYNC unsigned async_large(unsigned x, CONTEXT) {
    volatile unsigned a[3000];
    a[x % 3000] = x;
    a[7] = 5;
    return fold(a[x % 3000], a[7]) + async_small(x, context);
}

NOINLINE static ASYNC unsigned async_alloca(unsigned n, CONTEXT) {
    volatile unsigned char *p = __builtin_alloca(n % 50 + 20);
    p[n % 20] = (unsigned char)n;
    return fold(p[n % 20], ordinary(n)) + context->value;
}

NOINLINE static ASYNC unsigned async_early(unsigned x, CONTEXT) {
    if ((x & 1) != 0) return x + 1;
    unsigned y = fold(x, context->value);
    if (zero != 0) fatal(y);
    return y + async_leaf(y, context);
}

NOINLINE static ASYNC unsigned async_dies(unsigned x, CONTEXT) {
    if (zero == 0) return async_early(x, context) + 1;
    fatal(x);
}

/* ---- async frames that lead to each other, with contexts of their own ---- */

NOINLINE static ASYNC unsigned async_inner(unsigned x, CONTEXT) {
    return async_small(x, context) + async_saved(x, make_context(context, x));
}

NOINLINE static ASYNC unsigned async_tail(unsigned x, CONTEXT) {
    unsigned y = fold(x, 7) + ordinary(x);
    __attribute__((musttail)) return async_inner(y, context);
}

NOINLINE static ASYNC unsigned async_tail_indirect(unsigned x, CONTEXT) {
    static const async_function functions[] = {async_inner, async_tail, async_early};
    async_function f = functions[x % 3];
    context->value = fold(context->value, x);
    __attribute__((musttail)) return f(x, context);
}

NOINLINE static ASYNC unsigned async_nested(unsigned n, CONTEXT) {
    if (n == 0) return async_tail(5, context);
    struct context *own = make_context(context, n);
    unsigned r = async_nested(n - 1, own);
    return fold(r, own->value);
}

/* An ordinary frame between async ones: the innermost async frame's chain counts. */
NOINLINE static unsigned between(async_function f, unsigned x, struct context *c) { return f(x, c) + ordinary(x); }

NOINLINE static ASYNC unsigned async_outer(unsigned x, CONTEXT) {
    unsigned s = between(async_small, x, make_context(context, 1));
    s = fold(s, between(async_nested, 4, make_context(context, 2)));
    s = fold(s, between(async_tail_indirect, s, context));
    return s + between(async_large, s, context) + between(async_alloca, s, context) + async_dies(s, context);
}

unsigned usp_workload(unsigned rounds) {
    unsigned h = 1;
    for (unsigned r = 0; r < rounds; r++) {
        context_count = 0;
        struct context *c = make_context(make_context(NULL, r), 1);
        h = fold(h, async_outer(h, c));
        h = fold(h, between(async_tail, h, make_context(c, 2)));
        for (unsigned i = 0; i < 4; i++) h = fold(h, between(async_dies, h + i, c) + between(async_early, h, c));
    }
    return h;
}
