/* SPDX-License-Identifier: MIT */
/* Async functions in the emulated program as the Swift compiler makes them. Compiled with -fswift-async-fp=always. */
#include "guest.h"

#define ASYNC   __attribute__((swiftasynccall, noinline))
#define CONTEXT __attribute__((swift_async_context))

/* Swift's AsyncContext (stdlib/public/Concurrency). */
struct async_context {
    struct async_context *parent;
    void (*resume)(void);
};

static void (*innermost)(void);

/* Without this pointer the compiler sees no reader of the contexts and does not even write them. */
static struct async_context *volatile current;

static ASYNC void third(CONTEXT struct async_context *context) {
    volatile unsigned guard = 3;
    current = context;
    innermost();
    if (guard != 3 || current != context) test_fail("a local of an async function");
}

static ASYNC void second(CONTEXT struct async_context *context) {
    struct async_context callee = {context, context->resume};
    third(&callee);
    if (callee.parent != context) test_fail("a context");
}

static void resumed_second(void) { test_fail("nothing is resumed"); }
static void resumed_first(void) { test_fail("nothing is resumed at all"); }

void guest_async(void (*function)(void)) {
    struct async_context outer = {NULL, resumed_first}, inner = {&outer, resumed_second};
    innermost = function;
    second(&inner);
    if (inner.parent != &outer) test_fail("the outer context");
}
