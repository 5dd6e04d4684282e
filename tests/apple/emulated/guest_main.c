/* SPDX-License-Identifier: MIT */
/* The emulated program. It calls the library, a slice that is linked for an Apple system, for stacks, names and text.
 * Each result is compared with what this system's build of the library makes of the same memory. */
#include <mach/mach.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "stack_text.h"

#define FRAMES  64
#define THREADS 8

/* The outermost function of each thread: it has no caller. */
int main(void);

static void status_text(int status) {
    text_number(write_text, NULL, "status", (uint64_t)(uint32_t)status);
    text_string(write_text, NULL, "\n");
}

static long kept_rights, kept_mappings;

static void compare(const char *what) {
    test_compare(what, kept_rights, kept_mappings);
    /* Keeps the call above from being a tail call, by a comparison after it. */
    expect(guest_allocations >= 0, "freed what was not allocated");
}

/* ---- the calling thread ---- */

static void typed(bool async) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.skip = 1;
    options.async = async;
    usp_stack_init(&stack, frames, FRAMES);
    test_walk_self(async);
    expect(usp_capture_self(&options, &stack) == USP_OK, "usp_capture_self");
    text_stack(write_text, NULL, &stack);
    compare(async ? "usp_capture_self, async" : "usp_capture_self");
}

/* Checks that the fast functions find the same frames as usp_capture_self. */
static void fast(void) {
    void *addresses[FRAMES];
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_capture_self(NULL, &stack) == USP_OK, "usp_capture_self");
    int n = usp_backtrace(addresses, FRAMES);
    expect(n > 3 && (uint32_t)n == stack.count, "usp_backtrace gives as many frames");
    /* The first address lies in this function at another call, so it is not compared. */
    for (int i = 1; i < n; i++) expect((uintptr_t)addresses[i] == frames[i].pc, "usp_backtrace gives the same frames");
    n = usp_backtrace_from_fp(__builtin_frame_address(0), addresses, FRAMES);
    expect((uint32_t)n == stack.count - 1, "usp_backtrace_from_fp gives as many frames");
    for (int i = 0; i < n; i++) {
        expect((uintptr_t)addresses[i] == frames[i + 1].pc, "usp_backtrace_from_fp gives the same frames");
    }
}

#if defined(__aarch64__) || defined(__x86_64__)
static void innermost_async(void) {
    void *addresses[FRAMES];
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_unwind_options options;
    uint32_t task = 0;
    typed(true);
    usp_unwind_options_init(&options);
    options.async = 1;
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_capture_self(&options, &stack) == USP_OK, "usp_capture_self");
    expect(stack.count > stack.physical && stack.async_join != USP_NO_INDEX, "an async chain");
    size_t n = usp_backtrace_async(addresses, FRAMES, &task);
    expect(n > 0 && task == stack.task_id && task != 0, "usp_backtrace_async tells the task");
    uintptr_t last = (uintptr_t)addresses[n - 1], expected = (uintptr_t)frames[stack.count - 1].pc;
    expect(last == expected + 1, "usp_backtrace_async ends as the chain does");
}
#endif

static void innermost(void) {
    typed(false);
    fast();
}

static __attribute__((noinline)) void middle(void (*function)(void), volatile unsigned *n) {
    volatile unsigned char space[200];
    space[3] = 1;
    function();
    *n += space[3];
}

static __attribute__((noinline)) void self(void) {
    volatile unsigned n = 0;
    middle(innermost, &n);
#if defined(__aarch64__) || defined(__x86_64__)
    guest_async(innermost_async);
#endif
    expect(n == 1, "the stack is whole");
}

/* ---- other threads ---- */

static void parking(void) {
    volatile unsigned n = 0;
    middle(test_park, &n);
    middle(test_park, &n);
    test_finish();
}

static void stepping(void) {
    volatile unsigned n = 0;
    for (unsigned i = 0; guest_cases[i] != NULL; i++) middle(guest_cases[i], &n);
    test_finish();
}

static bool can_stop;

/* Captures another thread, and compares the result. If the system cannot stop threads, the capture must fail. */
static __attribute__((noinline)) void other(unsigned thread, const char *what) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread handle;
    if (!can_stop) return;
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_thread_from_pthread(test_pthread(thread), &handle) == USP_OK, "usp_thread_from_pthread");
    expect(usp_capture_thread(&handle, NULL, &stack) == USP_OK, "usp_capture_thread");
    expect(stack.stopped_ns > 0, "how long the thread was stopped");
    usp_thread_release(&handle);
    test_walk_thread(thread);
    text_stack(write_text, NULL, &stack);
    compare(what);
}

static void handler(int signal, void *info, void *ucontext) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    (void)info;
    expect(signal == 11, "the signal");
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_capture_context(ucontext, NULL, &stack) == USP_OK, "usp_capture_context");
    text_stack(write_text, NULL, &stack);
}

static void finds_image(int signal, void *info, void *ucontext) {
    struct usp_image image;
    char path[64];
    (void)info;
    (void)ucontext;
    expect(signal == 11, "the signal");
    expect(usp_image_at((uintptr_t)test_image(0) + 1, &image, path, sizeof path) == USP_OK &&
               image.load_address == test_image(0) && (image.flags & USP_IMAGE_MAIN) != 0 &&
               strcmp(path, "/guest/program") == 0,
           "usp_image_at in a handler");
}

static __attribute__((noinline)) void context(unsigned thread) {
    test_signal(thread, handler);
    test_walk_thread(thread);
    compare("usp_capture_context");
}

/* libplatform's _sigtramp (src/setjmp/generic/sigtramp.c): the code after the call of the handler does not return. */
static __attribute__((noinline)) void sigtramp(void (*handles)(int, void *, void *), int style, int signal, void *info,
                                               void *ucontext, uintptr_t token) {
    (void)style;
    handles(signal, info, ucontext);
    test_park();
    expect(token == 1, "a thread goes on after its signal");
    __builtin_trap();
}

static void nothing(void) { __asm__ volatile("" ::: "memory"); }

static void handles(int signal, void *info, void *ucontext) {
    volatile unsigned n = 0;
    (void)info;
    (void)ucontext;
    if (signal == 11) middle(nothing, &n);
}

/* Captures the thread at each instruction of a handler and of its callers. */
static __attribute__((noinline)) void in_handler(unsigned thread, bool on_alternate) {
    if (!can_stop) return;
    test_deliver(thread, sigtramp, handles, on_alternate);
    while (test_run(thread, 1) == TEST_STOPPED) other(thread, on_alternate ? "another stack" : "in a handler");
    test_take_back(thread);
}

static unsigned fast_stacks, whole_fast_stacks;

/* The fast walk must have the interrupted instruction after _sigtramp, and after that only frames of the typed walk. It
 * may lack the caller of a function without a frame record, but must not have a register's value instead. */
static void handles_fast(int signal, void *info, void *ucontext) {
    void *addresses[FRAMES];
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    uint32_t at = 1;
    (void)info;
    (void)ucontext;
    expect(signal == 11, "the signal");
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_capture_self(NULL, &stack) == USP_OK, "usp_capture_self in a handler");
    uint32_t n = (uint32_t)usp_backtrace(addresses, FRAMES);
    while (at + 1 < stack.count && frames[at].kind != USP_FRAME_KIND_SIGNAL) at++;
    expect(frames[at].kind == USP_FRAME_KIND_SIGNAL && n > at, "the fast walk comes to what was interrupted");
    /* The first address lies in this function at another call, so it is not compared. */
    for (uint32_t i = 1; i < at; i++) expect((uintptr_t)addresses[i] == frames[i].pc, "the handler's callers");
    expect((uintptr_t)addresses[at] == frames[at].pc + 1, "the interrupted instruction");
    uint32_t next = at + 1;
    for (uint32_t i = at + 1; i < n; i++, next++) {
        while (next < stack.count && frames[next].pc != (uintptr_t)addresses[i]) next++;
        expect(next < stack.count, "the fast walk has no frame that is not there");
    }
    fast_stacks++;
    whole_fast_stacks += n == stack.count;
}

static __attribute__((noinline)) void fast_in_handler(unsigned thread, bool on_alternate) {
    test_deliver(thread, sigtramp, handles_fast, on_alternate);
    expect(test_run(thread, 0) == TEST_PARKED, "a handler returns to _sigtramp");
    test_take_back(thread);
}

/* A signal is handled once in so many instructions: with captures at each instruction of the handler, or with one fast
 * walk in the handler. */
#define HANDLED      53u
#define HANDLED_FAST 19u

static __attribute__((noinline)) void every_instruction(unsigned thread) {
    for (unsigned n = 0; test_run(thread, 1) == TEST_STOPPED; n++) {
        context(thread);
        other(thread, "usp_capture_thread");
        if (n % HANDLED == 4) in_handler(thread, n / HANDLED % 2 != 0);
        if (n % HANDLED_FAST == 2) fast_in_handler(thread, n / HANDLED_FAST % 2 != 0);
    }
    expect(3 * whole_fast_stacks > fast_stacks, "many stacks are whole");
}

/* ---- all threads ---- */

static __attribute__((noinline)) void list(void) {
    struct usp_thread_info infos[THREADS];
    size_t count = 0;
    expect(usp_threads(infos, THREADS, &count) == USP_OK, "usp_threads");
    test_threads();
    uint64_t first = infos[0].thread.id;
    for (size_t i = 0; i < count; i++) {
        text_thread(write_text, NULL, &infos[i]);
        usp_thread_release(&infos[i].thread);
    }
    compare("usp_threads");
    struct usp_thread main_thread;
    expect(usp_thread_main(&main_thread) == USP_OK && main_thread.id == first, "usp_thread_main");
    usp_thread_release(&main_thread);
}

static __attribute__((noinline)) void everyone(unsigned first, unsigned end) {
    struct usp_snapshot *snapshot = NULL;
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    int status = usp_snapshot_create_self(&options, &snapshot);
    if (!can_stop) {
        expect(status == USP_ERROR_UNSUPPORTED && snapshot == NULL, "usp_snapshot_create_self where it is forbidden");
        return;
    }
    expect(status == USP_OK, "usp_snapshot_create_self");
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    expect(info->thread_count == end && info->missed == 0, "all threads are in the snapshot");
    expect(info->stopped_ns > 0, "how long they were stopped");
    const struct usp_snapshot_thread *own = usp_snapshot_get_thread(snapshot, 0);
    expect((own->info.flags & USP_THREAD_REQUESTER) != 0 && own->stack.count >= 2, "the requester's own stack");
    for (unsigned i = first; i < end; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        expect(t->status == USP_OK, "each thread has a stack");
        test_registers(i);
        text_registers(write_text, NULL, &t->registers);
        test_walk_thread(i);
        text_stack(write_text, NULL, &t->stack);
    }
    usp_snapshot_free(snapshot);
    compare("usp_snapshot_create_self");
}

/* ---- names and text ---- */

static __attribute__((noinline)) void names(unsigned thread) {
    struct usp_images *images = NULL;
    struct usp_symbolizer *symbolizer = NULL;
    expect(usp_images_create_self(&images) == USP_OK, "usp_images_create_self");
    test_images();
    text_images(write_text, NULL, images);
    compare("usp_images_create_self");

    expect(usp_symbolizer_create(NULL, NULL, &symbolizer) == USP_OK, "usp_symbolizer_create");
    test_symbols();
    text_symbols(write_text, NULL, symbolizer, images);
    compare("usp_symbolizer_visit");

    if (can_stop) {
        struct usp_frame frames[FRAMES];
        struct usp_stack stack;
        struct usp_thread_info infos[THREADS];
        size_t count = 0;
        usp_stack_init(&stack, frames, FRAMES);
        expect(usp_threads(infos, THREADS, &count) == USP_OK, "usp_threads");
        expect(usp_capture_thread(&infos[thread].thread, NULL, &stack) == USP_OK, "usp_capture_thread");
        stack.stopped_ns = 0;
        stack.hash = 0;
        test_format(thread);
        text_styles(write_text, NULL, &stack, &infos[thread], symbolizer);
        for (size_t i = 0; i < count; i++) usp_thread_release(&infos[i].thread);
        compare("usp_format_stack");
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

int main(void) {
    int status = usp_prepare(NULL);
    can_stop = status == USP_OK;
    /* usp_prepare keeps a semaphore, its reservation and its rules, if threads can be stopped. */
    kept_rights = can_stop;
    kept_mappings = 2 * kept_rights;
    text_string(write_text, NULL, "");
    self();
    unsigned parked = test_thread(parking, "a worker that waits");
    unsigned stepper = test_thread(stepping, "a worker");
    list();
    expect(test_run(parked, 0) == TEST_PARKED, "the worker parks");
    other(parked, "usp_capture_thread, parked");
    context(parked);
    test_signal(parked, finds_image);
    every_instruction(stepper);
    test_run(parked, 3);
    list();
    everyone(parked, parked + 1);
    names(parked);
    long allocations = guest_allocations;
    names(parked);
    expect(guest_allocations == allocations, "naming gives all memory back");
    guest_objc(compare);
    expect(guest_allocations == allocations, "naming methods gives all memory back");
    usp_shutdown();
    kept_rights = kept_mappings = 0;
    status_text(0);
    test_text("", 0);
    test_finish();
    return status == USP_OK || status == USP_ERROR_UNSUPPORTED;
}
