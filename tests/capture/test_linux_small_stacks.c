/* SPDX-License-Identifier: MIT */
/* Tests threads with little stack left: in a handler on the smallest alternate stack that programs use, and at the end
 * of their own stack. They answer as long as there is room; otherwise the capture fails with a status. The test also
 * measures how much room an answer takes, which doc/signal-safety.md documents.
 *
 * Built twice: with the static library, whose calls of libc are bound lazily, and with the shared library. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define FRAMES 256u
#define PAGE   4096u
/* The stack in bytes that doc/signal-safety.md grants the library's handler on every processor, below the kernel's
 * frame. */
#define DOCUMENTED 1536u

static struct usp_frame frames[FRAMES];

static void prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    return usp_capture_thread(thread, NULL, stack);
}

/* ---- how much stack an answer takes ---- */

#define PATTERN 0xa5

static uint8_t *alternate;
static size_t alternate_size;
static _Atomic(uintptr_t) handler_at;

/* AddressSanitizer may still have variables of a handler that has left this stack marked, so it does not check these
 * functions. */
#define UNCHECKED __attribute__((no_sanitize("address")))

/* Waits until a thread that spins in stand_here has left its handlers. */
static void wait_for_return(void) {
    const unsigned before = atomic_load(&standing_sink);
    while (atomic_load(&standing_sink) == before) usleep(100);
}

/* Fills the alternate stack. First waits for handlers, because one that has not returned needs the kernel's frame on
 * the stack. */
static UNCHECKED void fill(void) {
    wait_for_return();
    for (size_t i = 0; i < alternate_size; i++) ((volatile uint8_t *)alternate)[i] = PATTERN;
}

/* Returns how many bytes of the stack were written. First waits for handlers, which write until they return. */
static UNCHECKED size_t written(void) {
    size_t i = 0;
    wait_for_return();
    while (i < alternate_size && alternate[i] == PATTERN) i++;
    return alternate_size - i;
}

static void on_signal(int number) {
    (void)number;
    atomic_store(&handler_at, (uintptr_t)__builtin_frame_address(0));
}

static void have_alternate_stack(void) {
    stack_t s = {.ss_sp = alternate, .ss_size = alternate_size};
    sigaltstack(&s, NULL);
}

static void have_none(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}

/* Makes the alternate stack above an unreadable page, so that a handler that writes below the stack is seen. */
static void make_alternate_stack(size_t size) {
    uint8_t *memory = mmap(NULL, PAGE + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(mprotect(memory, PAGE, PROT_NONE), 0);
    alternate_size = size;
    alternate = memory + PAGE;
}

static void free_alternate_stack(void) { munmap(alternate - PAGE, PAGE + alternate_size); }

/* Measures how much the kernel puts on the stack before a handler begins. */
static size_t measure_kernel(const struct parked *s) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&handler_at, 0);
    ck_assert_int_eq(pthread_kill(s->pthread, SIGUSR1), 0);
    while (atomic_load(&handler_at) == 0) usleep(100);
    wait_for_return();
    return (size_t)((uintptr_t)alternate + alternate_size - atomic_load(&handler_at));
}

static size_t kernel_frame(void) {
    struct parked probe = {.depth = 0, .prepare = have_alternate_stack, .after = have_none};
    make_alternate_stack(65536);
    stand_begin(&probe);
    const size_t kernel = measure_kernel(&probe);
    stand_end(&probe);
    free_alternate_stack();
    return kernel;
}

static size_t measure_capture(const struct parked *s) {
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    fill();
    ck_assert_int_eq(capture(&s->thread, &stack), USP_OK);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_deep), s->depth + 1);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
    return written();
}

START_TEST(an_answer_takes_what_is_documented) {
    struct parked s = {.depth = 3, .prepare = have_alternate_stack, .after = have_none};
    make_alternate_stack(65536);
    /* No capture was made before: the room for lazy binding of the first calls would show. */
    prepare();
    stand_begin(&s);
    const size_t first = measure_capture(&s);
    const size_t kernel = measure_kernel(&s);
    size_t later = 0;
    for (unsigned i = 0; i < 10; i++) {
        size_t n = measure_capture(&s);
        if (n > later) later = n;
    }
    printf("the kernel's frame: %zu bytes (AT_MINSIGSTKSZ %lu); our handler: %zu bytes the first time, %zu later\n",
           kernel, getauxval(51), first - kernel, later - kernel);
    ck_assert_uint_gt(first, kernel);
    if (!USP_SANITIZED) {
        ck_assert_uint_le(first - kernel, DOCUMENTED);
        ck_assert_uint_le(later - kernel, DOCUMENTED);
    }
    stand_end(&s);
}
END_TEST

/* ---- in a handler on a small alternate stack ---- */

static struct parked *in_handler;

/* Calls stand_here directly, because the handler itself must need little stack. */
static void stand_in_handler(int number) {
    (void)number;
    stand_here(in_handler);
}

static void raise_on_alternate_stack(struct parked *s) {
    struct sigaction action;
    (void)s;
    memset(&action, 0, sizeof action);
    action.sa_handler = stand_in_handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    have_alternate_stack();
    raise(SIGUSR2);
    have_none();
}

static int capture_in_handler(size_t size, struct usp_stack *stack) {
    struct parked inner = {.depth = 0}, s = {.depth = 2, .wait = raise_on_alternate_stack};
    make_alternate_stack(size);
    in_handler = &inner;
    stand_begin(&s);
    while (atomic_load(&inner.there) == 0) usleep(100);
    int status = USP_OK;
    for (unsigned i = 0; i < 100 && status == USP_OK; i++) status = capture(&s.thread, stack);
    atomic_store(&inner.leave, 1);
    stand_end(&s);
    free_alternate_stack();
    return status;
}

/* Two of the kernel's frames and the handlers must fit on the stack. With AVX-512 the frames alone take 6.7 KB: 8 KB
 * can then be too little, which the capture reports. The kernel ends a thread whose stack cannot hold its frames. */
START_TEST(a_handler_on_eight_kilobytes) {
    struct usp_stack stack;
    const size_t kernel = kernel_frame(), least = 2 * kernel + DOCUMENTED + 512;
    const size_t sizes[] = {8192, least > 12288 ? least : 12288};
    prepare();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] < 2 * kernel + 1024) continue;
        int status = capture_in_handler(sizes[i], &stack);
        if (sizes[i] < least && status == USP_ERROR_STACK_FULL) continue;
        ck_assert_int_eq(status, USP_OK);
        ck_assert_uint_eq(FRAMES_IN(&stack, stand_here), 2);
    }
}
END_TEST

/* Room for two of the kernel's frames and for the refusal, but not for an answer. A handler that answered all the same
 * would overwrite the memory below the stack. */
START_TEST(a_handler_on_less_than_an_answer_takes) {
    struct usp_stack stack;
    const size_t kernel = kernel_frame();
    prepare();
    int refused = 0;
    for (size_t size = 2 * kernel + 2048; size >= 2 * kernel + 1024; size -= 128) {
        int status = capture_in_handler(size, &stack);
        ck_assert_msg(status == USP_OK || status == USP_ERROR_STACK_FULL, "%zu bytes: %s", size,
                      usp_status_string(status));
        if (status == USP_ERROR_STACK_FULL) ck_assert_uint_eq(stack.count, 0);
        refused += status == USP_ERROR_STACK_FULL;
    }
    ck_assert_int_gt(refused, 0);
}
END_TEST

/* ---- at the end of a thread's own stack ---- */

static size_t left_over;
static uintptr_t own_low;

/* Uses the stack until about `left_over` bytes remain. */
static KEPT void take_stack(struct parked *s) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here > own_low + left_over + 2048) {
        volatile uint8_t *space = __builtin_alloca(here - own_low - left_over - 1024);
        space[0] = 1;
    }
    stand_here(s->wait == NULL ? s : in_handler);
    atomic_fetch_add(&standing_sink, 1);
}

static void learn_bounds(void) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
    ck_assert_int_eq(pthread_attr_getstack(&attributes, &low, &size), 0);
    pthread_attr_destroy(&attributes);
    own_low = (uintptr_t)low;
}

static int capture_at_end(size_t left, struct usp_stack *stack) {
    struct parked inner = {.depth = 0};
    struct parked s = {.prepare = learn_bounds, .wait = take_stack, .stack_size = 131072};
    left_over = left;
    in_handler = &inner;
    stand_begin(&s);
    while (atomic_load(&inner.there) == 0) usleep(100);
    int status = USP_OK;
    for (unsigned i = 0; i < 100 && status == USP_OK; i++) status = capture(&s.thread, stack);
    atomic_store(&inner.leave, 1);
    stand_end(&s);
    return status;
}

START_TEST(seven_kilobytes_beside_the_kernels_frame) {
    struct usp_stack stack;
    const size_t kernel = kernel_frame();
    prepare();
    ck_assert_int_eq(capture_at_end(kernel + 7168, &stack), USP_OK);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_here), 2);
}
END_TEST

START_TEST(less_of_a_threads_own_stack_than_an_answer_takes) {
    struct usp_stack stack;
    const size_t kernel = kernel_frame();
    prepare();
    int refused = 0;
    for (size_t left = kernel + 2048; left >= kernel; left -= 128) {
        int status = capture_at_end(left, &stack);
        const bool is_late = status == USP_ERROR_TIMEOUT && is_slowed();
        ck_assert_msg(status == USP_OK || status == USP_ERROR_STACK_FULL || is_late, "%zu bytes: %s", left,
                      usp_status_string(status));
        refused += status == USP_ERROR_STACK_FULL;
    }
    ck_assert_int_gt(refused, 0);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("small_stacks");
    add_tests(c, an_answer_takes_what_is_documented);
    /* Sanitizers use many times as much stack, and an emulator's signal frames differ from a kernel's. */
    if (!USP_SANITIZED) {
        add_tests(c, a_handler_on_eight_kilobytes, seven_kilobytes_beside_the_kernels_frame,
                  a_handler_on_less_than_an_answer_takes, less_of_a_threads_own_stack_than_an_answer_takes);
    }
    return run_suite("linux_small_stacks", c);
}
