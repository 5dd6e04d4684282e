/* SPDX-License-Identifier: MIT */
/* Compares the walk by unwind tables, in process and with warm caches, with libunwind's: its loop of unw_step, and its
 * unw_backtrace, which caches rules too. This file is compiled without frame pointers, so each frame needs its rule.
 * The frames have different sizes and save different registers. With both caches off, a walk that meets each frame for
 * the first time is timed.
 *
 * libunwind is loaded, not linked, because it would replace gcc's _Unwind_Backtrace. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"

#include <dlfcn.h>
#include <ucontext.h>

#define ROUNDS   51u
#define CAPACITY 1024
/* The goals. */
#define STEP_RATIO        10.0
#define FIRST_STEP_RATIO  1.0
#define BACKTRACE_RATIO   1.0
#define LIBUNWIND_LIBRARY "libunwind.so.8"
/* unw_caching_policy_t of libunwind-common.h. */
#define CACHE_NONE   0
#define CACHE_GLOBAL 1
/* Number of words of unw_cursor_t: more than on x86_64 (libunwind-x86_64.h, UNW_TDEP_CURSOR_LEN). */
#define CURSOR_WORDS 256
/* unw_regnum_t of the program counter (libunwind-x86_64.h, UNW_X86_64_RIP). */
#define REGISTER_PC 16

static struct usp_frame frames[CAPACITY];
static struct usp_stack stack;
static void *addresses[CAPACITY];
static int found_by_backtrace, found_by_steps;
static int (*libunwind_backtrace)(void **, int);
static int (*libunwind_context)(ucontext_t *);
static int (*libunwind_init)(void *, ucontext_t *);
static int (*libunwind_step)(void *);
static int (*libunwind_register)(void *, int, uintptr_t *);
static int (*libunwind_set_cache)(void *, int);
static void **libunwind_this_process;
static double step_goal;

/* ---- the subjects ---- */

static void run_ours(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) {
        usp_stack_init(&stack, frames, CAPACITY);
        usp_capture_self(NULL, &stack);
    }
}

static void run_backtrace(void *context, unsigned times) {
    (void)context;
    for (unsigned i = 0; i < times; i++) found_by_backtrace = libunwind_backtrace(addresses, CAPACITY);
}

static void run_steps(void *context, unsigned times) {
    uint64_t cursor[CURSOR_WORDS];
    ucontext_t here;
    (void)context;
    for (unsigned i = 0; i < times; i++) {
        found_by_steps = 0;
        if (libunwind_context(&here) != 0 || libunwind_init(cursor, &here) != 0) return;
        do {
            uintptr_t pc;
            if (libunwind_register(cursor, REGISTER_PC, &pc) != 0) return;
            addresses[found_by_steps++] = (void *)pc;
        } while (found_by_steps < CAPACITY && libunwind_step(cursor) > 0);
    }
}

/* ---- a deep stack ---- */

static volatile unsigned sink;
static void compare(unsigned depth);

APART static unsigned descend(unsigned depth, unsigned a, unsigned b);

APART static unsigned small(unsigned depth, unsigned a, unsigned b) {
    unsigned got = descend(depth, b, a);
    sink++;
    return got;
}

APART static unsigned with_registers(unsigned depth, unsigned a, unsigned b) {
    unsigned c = a * 3, d = b * 5, e = a ^ b, got = descend(depth, a, b);
    sink += c + d;
    return got + c * d + e;
}

APART static unsigned with_array(unsigned depth, unsigned a, unsigned b) {
    volatile unsigned space[50];
    space[depth % 50] = a;
    unsigned got = descend(depth, a, b);
    return got + space[depth % 50];
}

APART static unsigned descend(unsigned depth, unsigned a, unsigned b) {
    unsigned got = 0;
    if (depth < 2) {
        compare(depth);
    } else if (depth % 3 == 0) {
        got = small(depth - 2, a, b);
    } else if (depth % 3 == 1) {
        got = with_registers(depth - 2, a, b);
    } else {
        got = with_array(depth - 2, a, b);
    }
    sink++;
    return got + a;
}

/* ---- the table ---- */

static void keep_rules(uint32_t rules) {
    struct usp_prepare_options options;
    step_goal = rules != 0 ? STEP_RATIO : FIRST_STEP_RATIO;
    if (libunwind_set_cache != NULL && libunwind_this_process != NULL) {
        libunwind_set_cache(*libunwind_this_process, rules != 0 ? CACHE_GLOBAL : CACHE_NONE);
    }
    usp_prepare_options_init(&options);
    options.kept_rules = rules;
    if (usp_prepare(&options) != USP_OK) exit(1);
}

/* Checks that libunwind's frames are among ours, in order. Ours end at main's caller, libunwind's at the process's
 * start. */
static void check_frames(void) {
    int common = 0;
    run_ours(NULL, 1);
    for (uint32_t i = 1; i < stack.count; i++) {
        for (int k = common; k < found_by_steps; k++) {
            if ((uintptr_t)addresses[k] != stack.frames[i].pc) continue;
            common = k + 1;
            break;
        }
    }
    if (stack.stop == USP_STOP_ROOT && (uint32_t)common + 1 >= stack.count) return;
    fprintf(stderr, "usp_capture_self found %u frames (%s), unw_step %d, or others\n", stack.count,
            usp_stop_reason_string(stack.stop), found_by_steps);
    exit(1);
}

static void compare(unsigned unused) {
    struct subject subjects[] = {
        {.name = "usp_capture_self", .run = run_ours},
        {.name = "unw_backtrace", .run = run_backtrace},
        {.name = "unw_step", .run = run_steps},
    };
    (void)unused;
    run_ours(NULL, 1);
    if (libunwind_backtrace == NULL || libunwind_step == NULL) {
        time_subjects(subjects, 1, ROUNDS);
        printf("%5u %12.0f   no %s for this processor\n", stack.count, median(subjects[0].rounds, ROUNDS),
               LIBUNWIND_LIBRARY);
        return;
    }
    run_steps(NULL, 1);
    check_frames();
    time_subjects(subjects, 3, ROUNDS);
    double own = median(subjects[0].rounds, ROUNDS) / stack.count;
    double step = median(subjects[2].rounds, ROUNDS) / found_by_steps;
    double steps = ratio(&subjects[2], &subjects[0], ROUNDS) * stack.count / found_by_steps;
    double backtrace = ratio(&subjects[0], &subjects[1], ROUNDS);
    printf(
        "%5u %12.0f %12.0f %12.0f %8.1f %8.1f   %.1f x, at least %.0f: %s; %.2f of unw_backtrace, at most %.0f: %s\n",
        stack.count, median(subjects[0].rounds, ROUNDS), median(subjects[1].rounds, ROUNDS),
        median(subjects[2].rounds, ROUNDS), own, step, steps, step_goal, verdict(steps >= step_goal), backtrace,
        BACKTRACE_RATIO, verdict(backtrace <= BACKTRACE_RATIO));
}

static void load_libunwind(void) {
    void *libunwind = dlopen(LIBUNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (libunwind == NULL || usp_arch_host() != USP_ARCH_X86_64) return;
    *(void **)&libunwind_backtrace = dlsym(libunwind, "unw_backtrace");
    *(void **)&libunwind_context = dlsym(libunwind, "_Ux86_64_getcontext");
    *(void **)&libunwind_init = dlsym(libunwind, "_ULx86_64_init_local");
    *(void **)&libunwind_step = dlsym(libunwind, "_ULx86_64_step");
    *(void **)&libunwind_register = dlsym(libunwind, "_ULx86_64_get_reg");
    *(void **)&libunwind_set_cache = dlsym(libunwind, "_ULx86_64_set_caching_policy");
    libunwind_this_process = dlsym(libunwind, "_ULx86_64_local_addr_space");
}

int main(void) {
    static const unsigned depths[] = {10, 30, 100, 300};
    struct usp_capture_usage usage;
    load_libunwind();
    for (uint32_t rules = 4096;; rules = 0) {
        keep_rules(rules);
        if (usp_images_refresh() != USP_OK || usp_capture_get_usage(&usage) != USP_OK) return 1;
        printf("%u rules kept in %ju bytes, tables of images in %ju; ns a call, and of it ns a frame; medians of %u\n",
               rules, (uintmax_t)usage.rules, (uintmax_t)usage.tables, ROUNDS);
        printf("frames      unspool unw_backtrace   unw_step  a frame  a frame\n");
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) descend(depths[i], 1, 2);
        if (rules == 0) return 0;
    }
}
