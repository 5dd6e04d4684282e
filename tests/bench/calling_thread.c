/* SPDX-License-Identifier: MIT */
/* Compares usp_backtrace with other ways to walk the calling thread: a handwritten loop that makes the same checks with
 * given bounds, the same loop without checks, libunwind's and gcc's unwinder. All begin in frames at the same depth and
 * walk to the stack's end. A second program, calling_thread_frameless, is compiled without frame records: there
 * usp_backtrace goes on by cached rules, and the peer is libunwind.
 *
 * libunwind is loaded, not linked, because it would replace gcc's _Unwind_Backtrace. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unwind.h>

#define ROUNDS   51u
#define CAPACITY 1024
/* The goals. */
#define HAND_RATIO      1.25
#define HAND_NS         10.0
#define HAND_RATIO_FROM 30u
#define LIBUNWIND_RATIO 4.0
#define FRAMELESS_RATIO 1.0
#define GCC_RATIO       60.0
#define OTHERS_DEPTH    100u
#ifdef USP_BENCH_FRAMELESS
#define IS_FRAMELESS true
#else
#define IS_FRAMELESS false
#endif
#define LIBUNWIND_LIBRARY  "libunwind.so.8"
#define LIBUNWIND_FUNCTION "unw_backtrace"

static void *buffer[CAPACITY], *by_hand[CAPACITY];
static int found_by_hand, found_unchecked, found, found_by_libunwind, found_by_gcc;
static uintptr_t stack_low, stack_high;
static int (*libunwind_backtrace)(void **, int);

/* ---- the subjects: each walks from its own frame record ---- */

APART static int walk_by_hand(void **to, int size, uintptr_t low, uintptr_t high) {
    uintptr_t fp = (uintptr_t)__builtin_frame_address(0);
    int n = 0;
    while (n < size) {
        if (fp < low || fp > high - 2 * sizeof fp || (fp & (sizeof fp - 1)) != 0) break;
        const uintptr_t *record = (const uintptr_t *)fp;
        to[n++] = (void *)record[1];
        /* The next record must lie above this one. */
        low = fp + 2 * sizeof fp;
        fp = record[0];
    }
    return n;
}

/* Walks without checks. The caller knows the number of records. */
APART static int walk_unchecked(void **to, int size) {
    const uintptr_t *record = __builtin_frame_address(0);
    for (int n = 0; n < size; n++) {
        to[n] = (void *)record[1];
        record = (const uintptr_t *)record[0];
    }
    return size;
}

static void run_by_hand(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) found_by_hand = walk_by_hand(by_hand, CAPACITY, stack_low, stack_high);
}

static void run_unchecked(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) found_unchecked = walk_unchecked(buffer, found_by_hand);
}

static void run_ours(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) found = usp_backtrace(buffer, CAPACITY);
}

static void run_libunwind(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) found_by_libunwind = libunwind_backtrace(buffer, CAPACITY);
}

static _Unwind_Reason_Code keep_address(struct _Unwind_Context *context, void *count) {
    int *n = count;
    if (*n == CAPACITY) return _URC_END_OF_STACK;
    buffer[(*n)++] = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

static void run_gcc(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) {
        found_by_gcc = 0;
        _Unwind_Backtrace(keep_address, &found_by_gcc);
    }
}

/* ---- the table ---- */

/* Checks that usp_backtrace finds the frames of the handwritten loop, except the first, which lies at another call. */
static void check_frames(void) {
    run_by_hand(NULL, 1);
    run_ours(NULL, 1);
    size_t same = found_by_hand > 0 ? (size_t)found_by_hand - 1 : 0;
    if (found == found_by_hand && memcmp(buffer + 1, by_hand + 1, same * sizeof *buffer) == 0) return;
    fprintf(stderr, "usp_backtrace found %d frames, the loop by hand %d, or others\n", found, found_by_hand);
    exit(1);
}

static volatile unsigned sink;

static void compare_loops(unsigned depth) {
    struct subject subjects[] = {
        {.name = "by hand", .run = run_by_hand},
        {.name = "unchecked", .run = run_unchecked},
        {.name = "usp_backtrace", .run = run_ours},
    };
    check_frames();
    time_subjects(subjects, 3, ROUNDS);
    double times = ratio(&subjects[2], &subjects[0], ROUNDS), more = difference(&subjects[2], &subjects[0], ROUNDS);
    printf("%5d %12.1f %12.1f %12.1f %8.2f %8.1f   ", found, median(subjects[1].rounds, ROUNDS),
           median(subjects[0].rounds, ROUNDS), median(subjects[2].rounds, ROUNDS), times, more);
    if (depth >= HAND_RATIO_FROM) {
        printf("ratio at most %.2f: %s\n", HAND_RATIO, verdict(times <= HAND_RATIO));
    } else {
        printf("at most %.0f ns more: %s\n", HAND_NS, verdict(more <= HAND_NS));
    }
}

static void compare_other(const char *name, void (*run)(void *, unsigned), const int *frames, double wanted) {
    struct subject subjects[] = {
        {.name = "usp_backtrace", .run = run_ours},
        {.name = name, .run = run},
        {.name = "unchecked", .run = run_unchecked},
    };
    time_subjects(subjects, 3, ROUNDS);
    double times = ratio(&subjects[1], &subjects[0], ROUNDS);
    printf(
        "%-18s %7.0f ns for %d frames, usp_backtrace %.1f ns for %d: %.1f x, at least %.0f x: %s (unchecked: %.1f x)\n",
        name, median(subjects[1].rounds, ROUNDS), *frames, median(subjects[0].rounds, ROUNDS), found, times, wanted,
        verdict(times >= wanted), ratio(&subjects[1], &subjects[2], ROUNDS));
}

static void compare_others(unsigned depth) {
    (void)depth;
    check_frames();
    if (libunwind_backtrace != NULL) {
        compare_other(LIBUNWIND_FUNCTION, run_libunwind, &found_by_libunwind, LIBUNWIND_RATIO);
    } else {
        printf("%-18s skipped: there is no %s\n", LIBUNWIND_FUNCTION, LIBUNWIND_LIBRARY);
    }
    compare_other("_Unwind_Backtrace", run_gcc, &found_by_gcc, GCC_RATIO);
}

/* ---- without frame records ---- */

static void compare_frameless(void) {
    struct subject subjects[] = {
        {.name = "usp_backtrace", .run = run_ours},
        {.name = LIBUNWIND_FUNCTION, .run = run_libunwind},
    };
    run_ours(NULL, 2);
    if (libunwind_backtrace == NULL) {
        printf("%5d skipped: there is no %s\n", found, LIBUNWIND_LIBRARY);
        return;
    }
    run_libunwind(NULL, 2);
    time_subjects(subjects, 2, ROUNDS);
    const double times = ratio(&subjects[0], &subjects[1], ROUNDS);
    printf("%5d %12.1f %12.1f for %d %8.2f   ratio at most %.2f: %s\n", found, median(subjects[0].rounds, ROUNDS),
           median(subjects[1].rounds, ROUNDS), found_by_libunwind, times, FRAMELESS_RATIO,
           verdict(times <= FRAMELESS_RATIO));
}

APART static void go_down(unsigned depth) {
    if (depth == 0) {
        compare_frameless();
    } else {
        go_down(depth - 1);
    }
    sink++;
}

/* ---- stacks that differ each time ---- */

static uint32_t path;

static void (*at_the_end)(void);

/* Calls itself in frames of two sizes, in an order that differs each time. */
APART static void wander(unsigned depth) {
    path = path * 1664525u + 1013904223u;
    if (depth == 0) {
        at_the_end();
    } else if ((path >> 31) != 0) {
        wander(depth - 1);
    } else {
        volatile char wide[64];
        wide[0] = 0;
        wander(depth - 1);
        sink += (unsigned char)wide[0];
    }
    sink++;
}

/* Calls `then` where a subject finds `depth` frames. */
APART static void descend(unsigned depth, void (*then)(unsigned)) {
    run_by_hand(NULL, 1);
    /* A table's subjects are called two functions further in. */
    if ((unsigned)found_by_hand + 2 < depth) {
        descend(depth, then);
    } else {
        then(depth);
    }
    /* Prevents tail calls, which would leave no frames. */
    sink++;
}

static void nothing(void) {}

static void once_by_hand(void) { run_by_hand(NULL, 1); }

static void once_ours(void) { run_ours(NULL, 1); }

static void run_wander(void *context, unsigned times) {
    at_the_end = *(void (**)(void))context;
    for (unsigned i = 0; i < times; i++) wander(OTHERS_DEPTH);
}

/* Compares stacks that differ each time. The time of the calls themselves is measured and subtracted. */
static void compare_wandering(void) {
    static void (*ends[])(void) = {nothing, once_by_hand, once_ours};
    struct subject subjects[] = {
        {.name = "calls", .run = run_wander, .context = &ends[0]},
        {.name = "by hand", .run = run_wander, .context = &ends[1]},
        {.name = "usp_backtrace", .run = run_wander, .context = &ends[2]},
    };
    time_subjects(subjects, 3, ROUNDS);
    double hand = difference(&subjects[1], &subjects[0], ROUNDS), ours = difference(&subjects[2], &subjects[0], ROUNDS);
    printf("%5d              %12.1f %12.1f %8.2f             another stack each time\n", found, hand, ours,
           ours / hand);
}

int main(void) {
    static const unsigned depths[] = {10, 30, 100, 300};
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
    if (pthread_attr_getstack(&attributes, &low, &size) != 0) return 1;
    pthread_attr_destroy(&attributes);
    stack_low = (uintptr_t)low;
    stack_high = stack_low + size;
    void *libunwind = dlopen(LIBUNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (libunwind != NULL) *(void **)&libunwind_backtrace = dlsym(libunwind, LIBUNWIND_FUNCTION);
    if (usp_prepare(NULL) != USP_OK) return 1;
    if (IS_FRAMELESS) {
        printf("the calling thread without frame records, ns a call; medians of %u\n", ROUNDS);
        printf("depth      unspool  %s    ratio\n", LIBUNWIND_FUNCTION);
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) go_down(depths[i]);
        return 0;
    }

    printf("the calling thread, ns a call; medians of %u\n", ROUNDS);
    printf("depth    unchecked      by hand      unspool    ratio     more\n");
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) descend(depths[i], compare_loops);
    compare_wandering();
    descend(OTHERS_DEPTH, compare_others);
    return 0;
}
