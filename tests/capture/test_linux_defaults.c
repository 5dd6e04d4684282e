/* SPDX-License-Identifier: MIT */
/* Tests what programs get that call usp_prepare with its defaults or do not call it: stacks through code without frame
 * pointers, libraries that are loaded later, a bounded number of reads, and children of fork in which everything works.
 * This file is compiled without frame pointers. */
#define _GNU_SOURCE 1
#include "lib/os/linux/calls.h"
#include "lib/os/os.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <ucontext.h>

#define FRAMES 1024u

static struct usp_frame frames[FRAMES];

static int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    return usp_capture_thread(thread, NULL, stack);
}

/* Uses a longer timeout than the default, because other programs may keep the processors busy. */
static void prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

/* ---- another thread ---- */

/* A worker that never returns. Its instructions do not lead to its caller; only its unwind table does. */
static void work_for_ever(struct parked *s) {
    for (;;) {
        if (atomic_load(&s->leave) != 0) pthread_exit(NULL);
        atomic_fetch_add(&standing_sink, 1);
    }
}

/* A user who calls usp_prepare(NULL) must get all 64 callers of a thread. _i: 0 in an endless loop, 1 in libc. */
START_TEST(a_thread_64_calls_deep) {
    struct parked s = {.depth = 64, .wait = _i == 0 ? work_for_ever : wait_asleep};
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options options;
    prepare();
    stand_begin(&s);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    expect_standing(&s, &stack);
    usp_snapshot_options_init(&options);
    options.only_thread = s.thread.id;
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    const struct usp_snapshot_thread *other = NULL;
    for (uint32_t i = 0; i < usp_snapshot_get_info(snapshot)->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        if (t->info.thread.id == s.thread.id) other = t;
    }
    ck_assert_ptr_nonnull(other);
    expect_standing(&s, &other->stack);
    usp_snapshot_free(snapshot);
    stand_end(&s);
    usp_shutdown();
}
END_TEST

/* ---- libraries that are loaded later ---- */

static void (*call_plugin)(void (*)(void), uintptr_t *);
static uintptr_t plugin_returns_to;
static struct parked *in_plugin;
static sem_t is_in_plugin;

static void wait_below_plugin(void) {
    sem_post(&is_in_plugin);
    wait_asleep(in_plugin);
    atomic_fetch_add(&standing_sink, 1);
}

KEPT static void wait_in_plugin(struct parked *s) {
    in_plugin = s;
    call_plugin(wait_below_plugin, &plugin_returns_to);
    atomic_fetch_add(&standing_sink, 1);
}

/* Checks that the frame after the plugin's is at the return address that the plugin reported. */
static void expect_through_plugin(const struct usp_stack *stack, const struct parked *s) {
    uintptr_t low = (uintptr_t)call_plugin & ~(uintptr_t)1;
    /* On 32-bit ARM, bit 0 of a return address gives the caller's instruction set. */
    const uintptr_t returns_to = plugin_returns_to & ~(uintptr_t)(usp_arch_host() == USP_ARCH_ARMV7 ? 1 : 0);
    uint32_t i = 0;
    while (i < stack->count && stack->frames[i].pc - low >= 4096) i++;
    if (i + 1 >= stack->count) show_stack(stack);
    ck_assert_uint_lt(i + 1, stack->count);
    ck_assert_uint_eq(stack->frames[i + 1].pc, returns_to);
    expect_standing(s, stack);
}

/* A stack through a library would be cut if the program does not announce that it has loaded the library. Captures must
 * notice it, and handlers then see the list that the capture has made. */
START_TEST(a_library_that_is_loaded_later) {
    struct usp_image image;
    struct usp_stack stack;
    char path[4096];
    prepare();
    ck_assert_int_eq(sem_init(&is_in_plugin, 0, 0), 0);
    for (unsigned round = 0; round < 6; round++) {
        struct parked s = {.depth = 3, .wait = wait_in_plugin};
        snprintf(path, sizeof path, "tests/unwind/.libs/linux_frame_plugin_%c.so", 'a' + (int)(round % 2));
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(library != NULL, "%s", dlerror());
        *(void **)&call_plugin = dlsym(library, "plugin_call");
        ck_assert(call_plugin != NULL);
        stand_begin(&s);
        while (sem_wait(&is_in_plugin) != 0) continue;
        if (round == 0) {
            ck_assert_int_eq(usp_image_at((uintptr_t)call_plugin, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
        }
        ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
        expect_through_plugin(&stack, &s);
        ck_assert_int_eq(usp_image_at((uintptr_t)call_plugin, &image, path, sizeof path), USP_OK);
        ck_assert_ptr_nonnull(strstr(path, round % 2 == 0 ? "plugin_a" : "plugin_b"));
        stand_end(&s);
        ck_assert_int_eq(dlclose(library), 0);
    }
    struct parked after = {.depth = 3};
    stand_begin(&after);
    ck_assert_int_eq(capture(&after.thread, &stack), USP_OK);
#ifdef __GLIBC__ /* musl unloads nothing */
    ck_assert_int_eq(usp_image_at((uintptr_t)call_plugin, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
#endif
    stand_end(&after);
    usp_shutdown();
}
END_TEST

/* ---- nothing is prepared ---- */

static unsigned reads, failed_reads;
static uintptr_t scratch;
static struct usp_stack unprepared;

static long counted_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    long got = uspi_linux_real.read_process(pid, local, remote, n);
    reads++;
    failed_reads += got <= 0;
    return got;
}

/* Sets the frame pointer register. In code without frame pointers it can hold anything. */
static void set_frame_pointer(ucontext_t *context, uintptr_t value) {
#if defined __x86_64__
    context->uc_mcontext.gregs[REG_RBP] = (greg_t)value;
#elif defined __i386__
    context->uc_mcontext.gregs[REG_EBP] = (greg_t)value;
#elif defined __aarch64__
    context->uc_mcontext.regs[29] = value;
#elif defined __arm__
    context->uc_mcontext.arm_r7 = context->uc_mcontext.arm_fp = value;
    /* glibc's getcontext does not store the mode: T, bit 5. */
#ifdef __thumb__
    context->uc_mcontext.arm_cpsr |= 1u << 5;
#endif
#else
    (void)context, (void)value;
#endif
}

static int context_status, capture_status;

/* Has no assertion: behind its call, which does not return, there is data on ARM, and which instructions that looks like
 * depends on where code is. */
KEPT static void capture_with_scratch(void) {
    ucontext_t context;
    memset(&context, 0, sizeof context);
#ifdef __GLIBC__
    context_status = getcontext(&context);
#else
    /* musl has no getcontext. */
    return;
#endif
    set_frame_pointer(&context, scratch);
    usp_stack_init(&unprepared, frames, FRAMES);
    reads = failed_reads = 0;
    capture_status = usp_capture_context(&context, NULL, &unprepared);
    atomic_fetch_add(&standing_sink, 1);
}

/* So small that it does not save the frame pointer; every frame has the scratch value in that register. */
BOUNDS(go_down);
static BOUNDED(go_down) void go_down(unsigned depth) {
    if (depth > 0) {
        go_down(depth - 1);
    } else {
        capture_with_scratch();
    }
    atomic_fetch_add(&standing_sink, 1);
}

/* A walk over frames without frame pointers would make a failing system call at every frame. It must find out once per
 * walk that an address is unreadable, and must not read the same memory again for each look at it. _i: what the scratch
 * value points to: past the stack, an invalid address, data, or null. */
START_TEST(a_scratch_value_as_the_frame_pointer) {
    static struct uspi_linux_calls counted;
    const unsigned depth = 300, few = 20;
    const uintptr_t values[] = {UINTPTR_MAX - 255, (uintptr_t)UINT64_C(0xdeadbeefdeadbee8), (uintptr_t)&reads, 0};
    scratch = values[_i];
    counted = uspi_linux_real;
    counted.read_process = counted_read_process;
    uspi_linux = &counted;
    go_down(few);
    const unsigned reads_of_few = reads;
    go_down(few + depth);
    uspi_linux = &uspi_linux_real;
    ck_assert_int_eq(context_status, 0);
    ck_assert_int_eq(capture_status, USP_OK);
    printf("%u frames, %u reads, %u failed\n", unprepared.count, reads, failed_reads);
#ifndef __GLIBC__
    return;
#endif
    /* Without tables and records only the instructions are followed, and sanitizers insert calls among them. */
    if (USP_SANITIZED) return;
    ck_assert_uint_ge(FRAMES_IN(&unprepared, go_down), few + depth);
    /* An emulator may not have process_vm_readv. */
    if (is_slowed()) return;
    /* Where the walk ends, the stack is searched for a call, and some of its words point to unreadable memory. */
    ck_assert_uint_le(failed_reads, 100);
    ck_assert_uint_le(reads, reads_of_few + depth);
}
END_TEST

/* ---- fork ---- */

static _Atomic(bool) may_end;

/* Rebuilds the list of images all the time, as loading libraries does. */
static void *prepare_and_refresh(void *context) {
    unsigned round = 0;
    while (!atomic_load(&may_end)) {
        struct usp_prepare_options options;
        struct usp_capture_usage usage;
        usp_prepare_options_init(&options);
        options.kept_rules = 16u << (round++ & 3);
        usp_prepare(&options);
        usp_images_refresh();
        usp_capture_get_usage(&usage);
    }
    return context;
}

/* In a forked child: makes every call that takes a lock, symbolicates too, and checks that the stack ends at its
 * thread's start. */
static void use_everything(void) {
    struct parked s = {.depth = 5};
    struct usp_stack stack;
    struct usp_capture_usage usage;
    struct usp_prepare_options options;
    alarm(240);
    usp_prepare_options_init(&options);
    options.timeout = patience();
    if (usp_capture_get_usage(&usage) != USP_OK) _exit(1);
    if (usp_images_refresh() != USP_OK) _exit(2);
    if (usp_prepare(&options) != USP_OK) _exit(3);
    if (pthread_create(&s.pthread, NULL, stand, &s) != 0) _exit(4);
    while (atomic_load(&s.there) == 0) usleep(100);
    const int status = capture(&s.thread, &stack);
    if (status != USP_OK) fprintf(stderr, "a capture in the child: %s\n", usp_status_string(status));
    if (status != USP_OK) _exit(5);
    if (stack.stop != USP_STOP_ROOT || FRAMES_IN(&stack, stand_deep) != 6) _exit(6);
    int nowhere = open("/dev/null", O_WRONLY);
    if (usp_print_stack(nowhere) != USP_OK) _exit(7);
    if (usp_print_threads(nowhere) != USP_OK) _exit(8);
    usp_shutdown();
    _exit(0);
}

static void expect_all_right(pid_t child) {
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
}

START_TEST(fork_while_lists_are_made) {
    pthread_t threads[2];
    /* An emulator's own locks are not usable in children of programs with threads. */
    if (USP_SANITIZED || is_user_emulated()) return;
    prepare();
    for (unsigned i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, prepare_and_refresh, NULL), 0);
    for (unsigned i = 0; i < sampled(8, 60 / stride()); i++) {
        pid_t child = fork();
        if (child == 0) use_everything();
        expect_all_right(child);
    }
    atomic_store(&may_end, true);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    usp_shutdown();
}
END_TEST

static void *prepare_once(void *context) {
    atomic_store((_Atomic(int) *)context, 1);
    usp_prepare(NULL);
    return NULL;
}

/* Each attempt runs in a process of its own, because the library keeps what its first call learns. */
START_TEST(fork_during_the_first_prepare) {
    if (USP_SANITIZED || is_user_emulated()) return;
    for (unsigned i = 0; i < sampled(6, 40 / stride()); i++) {
        pid_t parent = fork();
        if (parent == 0) {
            static _Atomic(int) begins;
            pthread_t pthread;
            int status;
            alarm(240);
            if (pthread_create(&pthread, NULL, prepare_once, &begins) != 0) _exit(11);
            while (atomic_load(&begins) == 0) continue;
            for (uint64_t then = usp_clock() + i * MS / sampled(4, 20); usp_clock() < then;) continue;
            pid_t child = fork();
            if (child == 0) use_everything();
            if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) _exit(12);
            _exit(WEXITSTATUS(status));
        }
        expect_all_right(parent);
    }
}
END_TEST

/* Two counters that are equal except while a thread that holds both locks changes them. */
static struct uspi_lock *outer_lock, *inner_lock;
static unsigned first_counter, second_counter;
static _Atomic(bool) has_changed;

static void *change_both_counters(void *context) {
    while (!atomic_load(&may_end)) {
        uspi_lock_take(outer_lock);
        uspi_lock_take(inner_lock);
        first_counter++;
        for (uint64_t then = usp_clock() + MS / 10; usp_clock() < then;) continue;
        second_counter++;
        uspi_lock_give(inner_lock);
        uspi_lock_give(outer_lock);
        atomic_store(&has_changed, true);
        usleep(20);
    }
    return context;
}

static void expect_complete_data(void) {
    alarm(240);
    if (uspi_lock_take(outer_lock) != USPI_LOCK_TAKEN) _exit(31);
    if (uspi_lock_take(inner_lock) != USPI_LOCK_TAKEN) _exit(32);
    if (first_counter != second_counter) _exit(33);
    uspi_lock_give(inner_lock);
    uspi_lock_give(outer_lock);
    struct uspi_lock *another = uspi_lock_create();
    if (another == NULL || uspi_lock_take(another) != USPI_LOCK_TAKEN) _exit(34);
    uspi_lock_give(another);
    uspi_lock_free(another);
    _exit(0);
}

/* A child crashed in a table of stacks to which the parent's other thread was adding a stack: the child had a copy that
 * was half changed. _i: which lock is first in the library's list. */
START_TEST(fork_while_data_is_changed) {
    pthread_t thread;
    if (USP_SANITIZED || is_user_emulated()) return;
    outer_lock = _i == 0 ? uspi_lock_create() : NULL;
    inner_lock = uspi_lock_create();
    if (_i != 0) outer_lock = uspi_lock_create();
    ck_assert_int_eq(pthread_create(&thread, NULL, change_both_counters, NULL), 0);
    while (!atomic_load(&has_changed)) usleep(100);
    for (unsigned i = 0; i < sampled(8, 60 / stride()); i++) {
        usleep(i % 20 * 7);
        pid_t child = fork();
        if (child == 0) expect_complete_data();
        expect_all_right(child);
    }
    atomic_store(&may_end, true);
    pthread_join(thread, NULL);
    uspi_lock_free(outer_lock);
    uspi_lock_free(inner_lock);
}
END_TEST

static sem_t holds_lock, may_give;

static void *hold_lock(void *context) {
    uspi_lock_take(outer_lock);
    sem_post(&holds_lock);
    while (sem_wait(&may_give) != 0) continue;
    uspi_lock_give(outer_lock);
    return context;
}

/* A fork must not wait for ever for a lock. The child is told that the data may be half changed, and so is a child of
 * the child. */
START_TEST(fork_while_a_lock_is_held_for_long) {
    pthread_t thread;
    if (USP_SANITIZED || is_user_emulated()) return;
    sem_init(&holds_lock, 0, 0);
    sem_init(&may_give, 0, 0);
    outer_lock = uspi_lock_create();
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_lock, NULL), 0);
    while (sem_wait(&holds_lock) != 0) continue;
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(uspi_lock_take(outer_lock) == USPI_LOCK_ABANDONED ? 0 : 41);
        expect_all_right(grandchild);
        if (uspi_lock_take(outer_lock) != USPI_LOCK_ABANDONED) _exit(42);
        uspi_lock_give(outer_lock);
        _exit(uspi_lock_take(outer_lock) == USPI_LOCK_TAKEN ? 0 : 43);
    }
    expect_all_right(child);
    sem_post(&may_give);
    pthread_join(thread, NULL);
    ck_assert_int_eq(uspi_lock_take(outer_lock), USPI_LOCK_TAKEN);
    uspi_lock_give(outer_lock);
    uspi_lock_free(outer_lock);
}
END_TEST

/* Holds the list of images. This thread does not exist in a forked child. */
static void *hold_images(void *holds) {
    uint32_t ticket;
    (void)usp_images_acquire(&ticket);
    sem_post(holds);
    for (;;) pause();
    return NULL;
}

#define GENERATIONS 12

/* Never returns. The exit status is 0, or the number of the check that failed. */
static void fork_again_and_again(void) {
    for (unsigned generation = 0; generation < GENERATIONS; generation++) {
        struct usp_prepare_options options;
        pthread_t reader;
        sem_t holds;
        int status;
        alarm(240);
        usp_prepare_options_init(&options);
        /* Another number of cached rules, so that the list is published again. */
        options.kept_rules = 16u << generation;
        if (usp_prepare(&options) != USP_OK) _exit(21);
        if (usp_images_refresh() != USP_OK) _exit(22);
        sem_init(&holds, 0, 0);
        if (pthread_create(&reader, NULL, hold_images, &holds) != 0) _exit(23);
        while (sem_wait(&holds) != 0) continue;
        pid_t child = fork();
        if (child == 0) continue;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) _exit(24);
        _exit(WEXITSTATUS(status));
    }
    use_everything();
}

/* In a chain of processes, a thread reads the list while another thread forks. The child must be able to replace the
 * list, though the reader does not exist there. */
START_TEST(a_chain_of_forks) {
    if (USP_SANITIZED || is_user_emulated()) return;
    pid_t first = fork();
    if (first == 0) fork_again_and_again();
    expect_all_right(first);
}
END_TEST

int main(void) {
    note_sample();
    TCase *tests = tcase_create("defaults");
    tcase_add_loop_test(tests, a_thread_64_calls_deep, 0, 2);
    tcase_add_loop_test(tests, a_scratch_value_as_the_frame_pointer, 0, 4);
    tcase_add_loop_test(tests, fork_while_data_is_changed, 0, 2);
    add_tests(tests, a_library_that_is_loaded_later, fork_while_lists_are_made, fork_during_the_first_prepare,
              fork_while_a_lock_is_held_for_long, a_chain_of_forks);
    return run_suite("linux_defaults", tests);
}
