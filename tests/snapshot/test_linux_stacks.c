/* SPDX-License-Identifier: MIT */
/* Tests copies of large stacks: of another process, and of threads of this one. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_child.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define STACKS "tests/snapshot/linux_stacks"
/* Frames of a function that calls itself in tests/snapshot/linux_stacks.c, plus one. */
#define DEEP 8u
/* Most memory that a capture may take, in KB. */
#define MEMORY_MAX (24L << 10)

static long peak_memory(void) {
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static struct usp_snapshot *snapshot_of(const struct child *c, bool whole) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char error[512];
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    options.unwind.tail = 16;
    options.max_frames = 64;
    options.whole_stacks = whole;
    int status = usp_snapshot_create_process(c->pid, &options, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    return snapshot;
}

static const struct usp_stack *second_stack(const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 1);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->status, USP_OK);
    return &t->stack;
}

/* Captures a thread with a frame of `size` bytes. All frames must be there, with little memory. */
static void expect_all_frames(const char *what, const char *size) {
    if (!LIBC_ROBUST_LISTS) return;
    struct child c = start_child(STACKS, what, size, 0);
    const long before = peak_memory();
    struct usp_snapshot *snapshot = snapshot_of(&c, false);
    const long after = peak_memory();
    end_child(&c);
    const struct usp_stack *stack = second_stack(snapshot);
    const unsigned deep = count_frames(stack, c.low, c.high);
    if (deep != DEEP) show_stack(stack);
    ck_assert_uint_eq(deep, DEEP);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
    ck_assert_uint_eq(stack->omitted, 0);
    ck_assert_uint_eq(stack->flags & USP_STACK_OMITTED_MORE, 0);
    if (!USP_SANITIZED) ck_assert_int_lt(after - before, MEMORY_MAX);
    usp_snapshot_free(snapshot);
}

START_TEST(a_stack_that_was_never_touched_is_not_copied) {
    expect_all_frames("untouched", sizeof(void *) > 4 ? "6000000000" : "200000000");
}
END_TEST

START_TEST(of_a_touched_stack_the_ends_are_copied) { expect_all_frames("touched", "60000000"); }
END_TEST

/* Expects the handler, the signal, and recursion from the guard page to the thread's beginning. Returns how many
 * frames of it are omitted. */
static uint64_t expect_overflow(const struct usp_stack *stack, usp_addr low, usp_addr high) {
    uint32_t at = 0;
    while (at < stack->count && stack->frames[at].kind != USP_FRAME_KIND_SIGNAL) at++;
    if (stack->stop != USP_STOP_ROOT) show_stack(stack);
    ck_assert_uint_lt(at, stack->count);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
    ck_assert_uint_gt(stack->omitted, 0);
    ck_assert_uint_eq(stack->omitted_at, 48);
    unsigned deep = 0;
    for (uint32_t i = at; i < stack->count && stack->frames[i].pc >= low && stack->frames[i].pc < high; i++) deep++;
    /* Beyond are the thread's start routine, a sanitizer's, libc's, and the thread's first function. */
    ck_assert_uint_ge(deep, stack->count - at - 5);
    return stack->omitted + deep;
}

START_TEST(a_stack_that_overflowed_is_copied_from_its_first_readable_byte) {
    struct child c = start_child(STACKS, "overflow", "2000000", 0);
    struct usp_snapshot *snapshot = snapshot_of(&c, false);
    end_child(&c);
    const struct usp_stack *stack = second_stack(snapshot);
    const uint64_t frames = expect_overflow(stack, c.low, c.high);
    ck_assert_uint_gt(frames, 1000);
    ck_assert_uint_eq(stack->flags & USP_STACK_OMITTED_MORE, 0);
    usp_snapshot_free(snapshot);
}
END_TEST

/* The middle of 8 MB is not copied. The walk goes on in the outermost part, and says that frames are missing. */
START_TEST(frames_between_the_copied_parts_are_omitted) {
    if (!LIBC_ROBUST_LISTS) return;
    struct child c = start_child(STACKS, "overflow", "8000000", 0);
    struct usp_snapshot *parts = snapshot_of(&c, false), *whole = snapshot_of(&c, true);
    end_child(&c);
    const struct usp_stack *stack = second_stack(parts);
    const uint64_t least = expect_overflow(stack, c.low, c.high);
    ck_assert_uint_eq(stack->flags & USP_STACK_OMITTED_MORE, USP_STACK_OMITTED_MORE);
    const uint64_t all = expect_overflow(second_stack(whole), c.low, c.high);
    ck_assert_uint_eq(second_stack(whole)->flags & USP_STACK_OMITTED_MORE, 0);
    ck_assert_uint_lt(least, all);
    /* 4.25 of 9 MB were copied. */
    ck_assert_uint_gt(least, all / 3);
    const uint32_t last = stack->count - 1;
    for (uint32_t i = 0; i < 16; i++) {
        ck_assert_uint_eq(stack->frames[last - i].pc, second_stack(whole)->frames[last - i].pc);
        ck_assert_uint_eq(stack->frames[last - i].cfa, second_stack(whole)->frames[last - i].cfa);
    }
    usp_snapshot_free(whole);
    usp_snapshot_free(parts);
}
END_TEST

/* ---- threads that cannot be stopped ---- */

/* A thread waits for its vfork child, which never ends. The other one is stopped only as long as it takes. */
START_TEST(a_thread_in_uninterruptible_sleep_holds_no_other) {
    struct child c = start_child(STACKS, "vfork", "100", 0);
    char states[8] = "";
    while (strchr(states, 'D') == NULL) read_states(c.pid, states, sizeof states);
    struct usp_snapshot *snapshot = snapshot_of(&c, false);
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 1);
    const struct usp_stack *stack = second_stack(snapshot);
    const unsigned deep = count_frames(stack, c.low, c.high);
    if (deep != DEEP) show_stack(stack);
    ck_assert_uint_eq(deep, DEEP);
    ck_assert_uint_eq(stack->stop, USP_STOP_ROOT);
    ck_assert_uint_eq(t->info.flags, USP_THREAD_NOT_STOPPED);
    ck_assert_uint_eq(t->info.run_state, 'D');
    ck_assert_uint_eq(t->stopped_ns, 0);
    ck_assert_uint_gt(usp_snapshot_get_thread(snapshot, 0)->stopped_ns, 0);
    /* Before, the stop took the whole timeout of 10 s. */
    ck_assert_uint_lt(usp_snapshot_get_info(snapshot)->stopped_ns, 2500 * MS);
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* The thread sleeps, wakes up and runs, at any moment of a capture. If it has a stack, its frames are right. */
START_TEST(a_thread_that_wakes_up_meanwhile_has_no_torn_stack) {
    struct child c = start_child(STACKS, "vforks", "100", 0);
    for (unsigned i = 0; i < 100; i++) {
        struct usp_snapshot_options options;
        struct usp_snapshot *snapshot;
        usp_snapshot_options_init(&options);
        options.timeout = patience();
        ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, NULL, 0), USP_OK);
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 1);
        ck_assert(t->status == USP_OK || t->status == USP_ERROR_TIMEOUT);
        if (t->status == USP_OK) {
            const unsigned deep = count_frames(&t->stack, c.low, c.high);
            if (deep != DEEP) show_stack(&t->stack);
            ck_assert_uint_eq(deep, DEEP);
        }
        usp_snapshot_free(snapshot);
    }
    end_child(&c);
}
END_TEST

/* ---- what is not a frame ---- */

START_TEST(an_address_in_no_mapping_is_no_frame) {
    /* The child writes over its own frame, which AddressSanitizer reports. */
    if (USP_SANITIZED) return;
#if defined(__x86_64__)
    struct child c = start_child(STACKS, "nowhere", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c, false);
    const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, 0)->stack;
    ck_assert_uint_eq(count_frames(stack, c.low, c.high), DEEP);
    const struct usp_frame *last = &stack->frames[stack->count - 1];
    if (last->pc < c.low || last->pc >= c.high) show_stack(stack);
    ck_assert(last->pc >= c.low && last->pc < c.high);
    ck_assert_uint_ne(stack->stop, USP_STOP_ROOT);
    usp_snapshot_free(snapshot);
    end_child(&c);
#endif
}
END_TEST

/* Whether all threads but the first have the name that io_uring gives its own. */
static bool are_named(const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_thread *t;
    for (size_t i = 1; (t = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        if (strncmp(t->info.name, "iou-sqp-", 8) != 0) return false;
    }
    return true;
}

START_TEST(a_thread_of_the_kernel_has_no_stack) {
    struct child c = start_child(STACKS, "uring", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c, false);
    const struct usp_snapshot_thread *t;
    /* The thread itself sets its name, when it first runs (Linux io_uring/sqpoll.c io_sq_thread). */
    for (unsigned wait = 0; wait < 1000 && !are_named(snapshot); wait++) {
        usp_snapshot_free(snapshot);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        snapshot = snapshot_of(&c, false);
    }
    ck_assert(are_named(snapshot));
    /* Where io_uring is not permitted, there is no such thread. */
    for (size_t i = 1; (t = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        ck_assert_int_eq(t->status, USP_OK);
        ck_assert_uint_eq(t->info.flags, USP_THREAD_KERNEL);
        ck_assert_uint_eq(t->stack.count, 0);
        ck_assert_uint_eq(t->stack.stop, USP_STOP_KERNEL);
    }
    ck_assert_uint_eq(usp_snapshot_get_thread(snapshot, 0)->stack.stop, USP_STOP_ROOT);
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* ---- threads of this process ---- */

static _Atomic(int) has_overflowed;
static volatile int may_go;

static void handle(int number) {
    (void)number;
    atomic_store(&has_overflowed, 1);
    while (!may_go) pause();
}

static __attribute__((noinline, section("bounded_overflow"))) unsigned overflow(unsigned n) {
    volatile char space[1000];
    space[0] = (char)n;
    if (may_go) return n;
    return overflow(n + 1) + (unsigned)space[0];
}

extern const char __start_bounded_overflow[], __stop_bounded_overflow[];

static void *run_overflow(void *context) {
    static char alternate[65536];
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    usp_thread_prepare();
    sigaltstack(&s, NULL);
    *(volatile unsigned *)context = overflow(0);
    return NULL;
}

#define GUARD ((size_t)1 << 20)

/* A thread whose stack has overflowed, alive until the test's process ends. */
static pthread_t start_overflow(size_t size) {
    static unsigned unused;
    pthread_attr_t attributes;
    pthread_t thread;
    /* libc may give a thread the larger stack of one that has ended. */
    char *stack = mmap(NULL, GUARD + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(stack != MAP_FAILED && mprotect(stack, GUARD, PROT_NONE) == 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack + GUARD, size);
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run_overflow, &unused), 0);
    while (!atomic_load(&has_overflowed)) usleep(1000);
    return thread;
}

/* _i: a stack that is copied as a whole; one whose middle is not. */
START_TEST(a_thread_of_this_process_whose_stack_overflowed) {
    if (USP_SANITIZED) return;
    const usp_addr low = (usp_addr)(uintptr_t)__start_bounded_overflow,
                   high = (usp_addr)(uintptr_t)__stop_bounded_overflow;
    const pthread_t thread = start_overflow(_i == 0 ? (size_t)2 << 20 : (size_t)8 << 20);
    struct usp_unwind_options options;
    struct usp_snapshot_options wanted;
    struct usp_snapshot *snapshot;
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_thread id;
    usp_unwind_options_init(&options);
    options.tail = 16;
    usp_stack_init(&stack, frames, 64);
    ck_assert_int_eq(usp_thread_from_pthread((uintptr_t)thread, &id), USP_OK);
    ck_assert_int_eq(usp_capture_thread(&id, &options, &stack), USP_OK);
    ck_assert_uint_gt(expect_overflow(&stack, low, high), 1000);
    ck_assert_uint_eq((stack.flags & USP_STACK_OMITTED_MORE) != 0, _i == 1);
    usp_snapshot_options_init(&wanted);
    wanted.timeout = patience();
    wanted.max_frames = 64;
    wanted.unwind.tail = 16;
    wanted.only_thread = id.id;
    for (uint32_t whole = 0; whole < 2; whole++) {
        wanted.whole_stacks = whole;
        ck_assert_int_eq(usp_snapshot_create_self(&wanted, &snapshot), USP_OK);
        const struct usp_stack *one = &usp_snapshot_get_thread(snapshot, 0)->stack;
        ck_assert_uint_gt(expect_overflow(one, low, high), 1000);
        ck_assert_uint_eq((one->flags & USP_STACK_OMITTED_MORE) != 0, _i == 1 && whole == 0);
        usp_snapshot_free(snapshot);
    }
}
END_TEST

int main(void) {
    TCase *c = tcase_create("stacks");
    if (can_trace()) {
        add_tests(c, a_stack_that_was_never_touched_is_not_copied, of_a_touched_stack_the_ends_are_copied,
                  a_stack_that_overflowed_is_copied_from_its_first_readable_byte,
                  frames_between_the_copied_parts_are_omitted, a_thread_in_uninterruptible_sleep_holds_no_other,
                  a_thread_that_wakes_up_meanwhile_has_no_torn_stack, an_address_in_no_mapping_is_no_frame,
                  a_thread_of_the_kernel_has_no_stack);
    }
    add_loop_tests(c, 0, 2, a_thread_of_this_process_whose_stack_overflowed);
    return run_suite("linux_stacks", c);
}
