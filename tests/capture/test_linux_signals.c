/* SPDX-License-Identifier: MIT */
/* Tests stacks under signal handlers of this host: handlers of both kinds, on the thread's stack, on alternate stacks
 * and on coroutine stacks; faults at bad addresses, calls through bad pointers, stack overflow. Each handler captures
 * in every possible way. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"
#include "tests/support/suite.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define FRAMES 256u
#define DEPTH  6u
#define STACK  262144u

/* ---- what a handler captures ---- */

static struct finding {
    void *fast[FRAMES];
    int fast_count;
    struct usp_frame self_frames[FRAMES], context_frames[FRAMES];
    struct usp_stack self, context;
    int self_status, context_status;
    uint32_t tail;
    bool happened;
} found;

static _Thread_local sigjmp_buf way_out;

static void capture_in_handler(const void *context) {
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.tail = found.tail;
    usp_stack_init(&found.self, found.self_frames, FRAMES);
    usp_stack_init(&found.context, found.context_frames, FRAMES);
    found.fast_count = usp_backtrace(found.fast, FRAMES);
    found.self_status = usp_capture_self(&options, &found.self);
    if (context != NULL) found.context_status = usp_capture_context(context, &options, &found.context);
    found.happened = true;
}

BOUNDS(on_signal);
static BOUNDED(on_signal) void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    capture_in_handler(context);
    siglongjmp(way_out, 1);
}

BOUNDS(on_plain_signal);
static BOUNDED(on_plain_signal) void on_plain_signal(int number) {
    (void)number;
    capture_in_handler(NULL);
    siglongjmp(way_out, 1);
}

/* ---- the faults ---- */

static void *volatile bad_pointer;

BOUNDS(fault_here);
static BOUNDED(fault_here) void fault_here(void) {
    *(volatile int *)bad_pointer = 1;
    atomic_fetch_add(&standing_sink, 1);
}

/* The bad call is made on purpose: UndefinedBehaviorSanitizer, which checks the pointer before the call, must not stop
 * it. */
#if defined(__clang__)
#define CALLS_ANYTHING __attribute__((no_sanitize("function")))
#else
#define CALLS_ANYTHING
#endif

BOUNDS(call_here);
static BOUNDED(call_here) CALLS_ANYTHING void call_here(void) {
    void (*function)(void);
    void *pointer = bad_pointer;
    memcpy(&function, &pointer, sizeof function);
    function();
    atomic_fetch_add(&standing_sink, 1);
}

static void (*volatile what)(void);

BOUNDS(sink_into);
static BOUNDED(sink_into) void sink_into(unsigned depth) {
    if (depth == 0) {
        what();
    } else {
        sink_into(depth - 1);
    }
    atomic_fetch_add(&standing_sink, 1);
}

/* ---- the thread on which the fault happens ---- */

enum { ON_ALTERNATE_STACK = 1, PLAIN_HANDLER = 2, IN_COROUTINE = 4 };

static ucontext_t outside, inside;
static void sink_in_coroutine(void) {
    sink_into(DEPTH);
    atomic_fetch_add(&standing_sink, 1);
}

static void *go(void *context) {
    int flags = *(const int *)context;
    struct sigaction action;
    stack_t alternate = {.ss_size = STACK};
    /* The coroutine's stack lies above the other: a walk that knows the bounds of neither follows records upwards
     * only. */
    char *stacks = malloc(2 * STACK), *coroutine = stacks + STACK;
    memset(&action, 0, sizeof action);
    if ((flags & PLAIN_HANDLER) != 0) {
        action.sa_handler = on_plain_signal;
    } else {
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO;
    }
    alternate.ss_sp = stacks;
    if ((flags & ON_ALTERNATE_STACK) != 0) {
        action.sa_flags |= SA_ONSTACK;
        sigaltstack(&alternate, NULL);
    }
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    usp_thread_prepare();
    if (sigsetjmp(way_out, 1) == 0) {
        if ((flags & IN_COROUTINE) != 0) {
            getcontext(&inside);
            inside.uc_stack.ss_sp = coroutine;
            inside.uc_stack.ss_size = STACK;
            inside.uc_link = &outside;
            makecontext(&inside, sink_in_coroutine, 0);
            swapcontext(&outside, &inside);
        } else {
            sink_into(DEPTH);
        }
    }
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(stacks);
    return NULL;
}

static void happen(void (*function)(void), void *pointer, int flags) {
    pthread_t thread;
    memset(&found, 0, sizeof found);
    what = function;
    bad_pointer = pointer;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, go, &flags), 0);
    pthread_join(thread, NULL);
    ck_assert(found.happened);
    ck_assert_int_eq(found.self_status, USP_OK);
    ck_assert_int_eq(found.context_status, USP_OK);
}

static bool lies_in(usp_addr pc, uintptr_t low, uintptr_t high) { return pc >= low && pc < high; }

/* Checks the frames from `i` on: the function with the fault, all its callers, and the thread's start. */
static void expect_rest(const struct usp_stack *stack, uint32_t i, uintptr_t low, uintptr_t high, int flags) {
    bool right = i < stack->count && lies_in(stack->frames[i].pc, low, high);
    for (uint32_t k = 1; k <= DEPTH + 1; k++) {
        right = right && i + k < stack->count && lies_in(stack->frames[i + k].pc, LOW(sink_into), HIGH(sink_into));
    }
    right = right && !lies_in(stack->frames[i + DEPTH + 2].pc, LOW(sink_into), HIGH(sink_into));
    if ((flags & IN_COROUTINE) == 0) right = right && stack->stop == USP_STOP_ROOT;
    if (!right) show_stack(stack);
    ck_assert(right);
}

static uint32_t find_signal_frame(const struct usp_stack *stack) {
    for (uint32_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].kind == USP_FRAME_KIND_SIGNAL) return i;
    }
    show_stack(stack);
    ck_abort_msg("no frame is marked as interrupted");
    return 0;
}

/* Checks the fast walk, which knows frame records only. It has the handler's caller, the interrupted instruction and
 * the callers of the fault, in order, but not the address in the link register. */
static void expect_fast(uint32_t signal_frame) {
    const struct usp_frame *interrupted = &found.self.frames[signal_frame];
    uint32_t host = usp_arch_host();
    unsigned above = 0, met = 0;
    ck_assert_int_ge(found.fast_count, 1);
    for (int i = 0; i < found.fast_count; i++) {
        uintptr_t address = (uintptr_t)found.fast[i];
        above += lies_in(address, LOW(sink_into), HIGH(sink_into));
        /* On 32-bit arm, frame records do not lead to the registers that the kernel has saved. */
        if (i == 0 || (uintptr_t)found.fast[i - 1] != interrupted[-1].pc || host == USP_ARCH_ARMV7) continue;
        met++;
        if (interrupted->pc != 0) ck_assert_uint_eq(address, interrupted->pc + 1);
        if (interrupted->pc == 0) ck_assert_uint_ne(address, 1);
    }
    ck_assert_uint_le(above, DEPTH + 1);
    if (host != USP_ARCH_X86_64 && host != USP_ARCH_ARM64) return;
    ck_assert_uint_eq(met, 1);
    ck_assert_uint_ge(above, DEPTH);
}

/* Checks the stacks of a fault in fault_here (call is false), or of a call from call_here to `pc`. */
static void expect(bool call, usp_addr pc, int flags) {
    uintptr_t low = call ? LOW(call_here) : LOW(fault_here), high = call ? HIGH(call_here) : HIGH(fault_here);
    uint32_t signal_frame = find_signal_frame(&found.self), at = signal_frame;
    ck_assert_uint_ge(at, 2);
    /* The handler returns to the trampoline's start; no call precedes it, so its name is that of its own pc. */
    const struct usp_frame *trampoline = &found.self.frames[at - 1];
    ck_assert_uint_eq(usp_frame_call_site(usp_arch_host(), trampoline), trampoline->pc);
    if (call) ck_assert_uint_eq(found.self.frames[at++].pc, pc);
    expect_rest(&found.self, at, low, high, flags);
    if ((flags & PLAIN_HANDLER) == 0) {
        ck_assert_uint_eq(found.context.frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
        if (call) ck_assert_uint_eq(found.context.frames[0].pc, pc);
        expect_rest(&found.context, call ? 1 : 0, low, high, flags);
    }
    expect_fast(signal_frame);
}

static const int ways[] = {
    0,
    PLAIN_HANDLER,
    ON_ALTERNATE_STACK,
    ON_ALTERNATE_STACK | PLAIN_HANDLER,
    IN_COROUTINE,
    IN_COROUTINE | PLAIN_HANDLER,
    IN_COROUTINE | ON_ALTERNATE_STACK,
};
/* Only the first four ways need no coroutines. */
#define WAYS (LIBC_HAS_COROUTINES ? ELEMENTS(ways) : 4)

START_TEST(a_fault_in_a_function) {
    happen(fault_here, NULL, ways[_i]);
    expect(false, 0, ways[_i]);
}
END_TEST

START_TEST(a_call_through_a_null_pointer) {
    /* A user-mode emulator that fetches code from page 0 faults itself. The lane kernel-arm64 and native runs test
     * this. */
    if (is_user_emulated()) return;
    happen(call_here, NULL, ways[_i]);
    expect(true, 0, ways[_i]);
}
END_TEST

START_TEST(a_call_to_memory_that_is_not_there) {
    /* Stays mapped without any permission, so that nothing else is mapped there meanwhile. */
    void *page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    happen(call_here, page, ways[_i]);
    expect(true, (uintptr_t)page, ways[_i]);
}
END_TEST

/* ---- runaway recursion ---- */

BOUNDS(recurse);
static BOUNDED(recurse) void recurse(void) {
    volatile char space[256];
    space[0] = 1;
    if (what == recurse) recurse();
    atomic_fetch_add(&standing_sink, (unsigned)space[0]);
}

START_TEST(an_overflown_stack_keeps_both_ends) {
    pthread_attr_t attributes;
    pthread_t thread;
    int flags = ON_ALTERNATE_STACK;
    memset(&found, 0, sizeof found);
    found.tail = 40;
    what = recurse;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 1u << 20), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, go, &flags), 0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
    ck_assert(found.happened);
    const struct usp_stack *s = &found.context;
    if (s->stop != USP_STOP_ROOT) show_stack(s);
    ck_assert_uint_eq(s->stop, USP_STOP_ROOT);
    ck_assert_uint_eq(s->count, FRAMES);
    ck_assert_uint_gt(s->omitted, 1000);
    ck_assert_uint_eq(s->omitted_at, FRAMES - 40);
    ck_assert_uint_gt(FRAMES_IN(s, recurse), FRAMES - 40);
    ck_assert_uint_eq(FRAMES_IN(s, sink_into), DEPTH + 1);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("signals");
    add_loop_tests(c, 0, WAYS, a_fault_in_a_function, a_call_through_a_null_pointer,
                   a_call_to_memory_that_is_not_there);
    tcase_add_test(c, an_overflown_stack_keeps_both_ends);
    return run_suite("linux_signals", c);
}
