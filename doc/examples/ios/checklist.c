/* SPDX-License-Identifier: MIT */
/* The checks. Each function that a check looks for in a stack records its own return address, so no comparison depends
 * on symbols. main.m has the test app's screen. */
#include "checklist.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unspool/unspool.h>

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

/* watchOS and tvOS forbid sigaltstack. */
#if defined(__APPLE__) && (TARGET_OS_WATCH || TARGET_OS_TV)
#define HAS_SIGALTSTACK 0
#else
#define HAS_SIGALTSTACK 1
#endif

#define FRAMES  128
#define THREADS 16
#define REPEATS 10000u
/* Time limit of a wait, in ns. Generous, because a device can be busy. */
#define TIMEOUT  UINT64_C(10000000000)
#define NOINLINE __attribute__((noinline))

struct list {
    checklist_line line;
    void *context;
    int failed;
};

static void say(struct list *list, const char *kind, const char *format, va_list arguments) {
    char text[200], line[220];
    vsnprintf(text, sizeof text, format, arguments);
    snprintf(line, sizeof line, "%s: %s", kind, text);
    list->line(list->context, line);
}

__attribute__((format(printf, 3, 4))) static void check(struct list *list, bool holds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(list, holds ? "ok" : "FAILED", format, arguments);
    va_end(arguments);
    if (!holds) list->failed++;
}

__attribute__((format(printf, 3, 4))) static void tell(struct list *list, const char *kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(list, kind, format, arguments);
    va_end(arguments);
}

/* ---- helpers ---- */

/* Removes the signature of an arm64e address and the Thumb bit. 36 bits suffice to distinguish code of one process. */
static uint64_t plain(uint64_t address) { return address & UINT64_C(0xfffffffff) & ~UINT64_C(1); }

static uint64_t return_address(const void *address) { return plain((uint64_t)(uintptr_t)address); }

static bool holds(const struct usp_stack *stack, uint64_t address) {
    for (uint32_t i = 0; i < stack->physical; i++) {
        if (plain(stack->frames[i].pc) == address) return true;
    }
    return false;
}

/* Returns whether the walk reached the outermost frame, not merely the last readable one. */
static bool is_whole(const struct usp_stack *stack) {
    return stack->omitted == 0 && (stack->stop == USP_STOP_ROOT || stack->stop == USP_STOP_FP_ZERO);
}

static void check_stack(struct list *list, const char *whose, int status, const struct usp_stack *stack,
                        uint64_t address) {
    check(list, status == USP_OK && holds(stack, address), "%s: %u frames, the expected one among them (%s)", whose,
          (unsigned)stack->count, usp_status_string(status));
    check(list, is_whole(stack), "%s ends: %s", whose, usp_stop_reason_string(stack->stop));
}

/* Checks that every frame lies in an image: an address that still carries a signature, or data, lies in none. */
static void check_images(struct list *list, const char *whose, const struct usp_images *images,
                         const struct usp_stack *stack) {
    uint32_t outside = 0;
    for (uint32_t i = 0; i < stack->physical; i++) {
        outside += usp_images_find(images, usp_frame_call_site(stack->arch, &stack->frames[i])) == NULL;
    }
    check(list, outside == 0, "%s: %u of %u frames in no image", whose, (unsigned)outside, (unsigned)stack->physical);
}

/* ---- the calling thread ---- */

static NOINLINE void check_self(struct list *list, const struct usp_images *images) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    void *fast[FRAMES];
    uint64_t caller = return_address(__builtin_return_address(0));

    usp_stack_init(&stack, frames, FRAMES);
    int status = usp_capture_self(NULL, &stack);
    check_stack(list, "own stack", status, &stack, caller);
    if (images != NULL) check_images(list, "own stack", images, &stack);

    /* Element 0 of both stacks lies in this function, at different calls. */
    int n = usp_backtrace(fast, FRAMES);
    bool same = n > 1 && (uint32_t)n <= stack.count;
    for (int i = 1; same && i < n; i++) same = return_address(fast[i]) == plain(frames[i].pc);
    check(list, same, "usp_backtrace: %d frames, the same", n);

    int (*system_backtrace)(void **, int) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "backtrace");
    if (found == NULL) {
        tell(list, "left out", "the system has no backtrace(3)");
        return;
    }
    memcpy(&system_backtrace, &found, sizeof found);
    n = system_backtrace(fast, FRAMES);
    int both = n < (int)stack.count ? n : (int)stack.count;
    same = both > 1;
    for (int i = 1; same && i < both; i++) same = return_address(fast[i]) == plain(frames[i].pc);
    check(list, same, "backtrace(3): %d frames, as far as both go the same", n);

    uint64_t begin = usp_clock();
    for (unsigned i = 0; i < REPEATS; i++) usp_backtrace(fast, FRAMES);
    tell(list, "note", "usp_backtrace took %u ns", (unsigned)((usp_clock() - begin) / REPEATS));
}

/* ---- a signal handler ---- */

static struct {
    struct usp_frame frames[2][FRAMES];
    struct usp_stack context, self;
    int context_status, self_status;
} handled;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    usp_stack_init(&handled.context, handled.frames[0], FRAMES);
    handled.context_status = usp_capture_context(context, NULL, &handled.context);
    usp_stack_init(&handled.self, handled.frames[1], FRAMES);
    handled.self_status = usp_capture_self(NULL, &handled.self);
}

static NOINLINE void check_signal(struct list *list) {
    struct sigaction action, before;
    uint64_t caller = return_address(__builtin_return_address(0));

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, &before);
    raise(SIGUSR2);
    sigaction(SIGUSR2, &before, NULL);
    check_stack(list, "what a signal interrupted", handled.context_status, &handled.context, caller);
    check_stack(list, "a handler's own stack, through the trampoline", handled.self_status, &handled.self, caller);
}

/* ---- other threads ---- */

struct parked {
    pthread_t thread;
    pthread_mutex_t *gate;
    _Atomic(uint64_t) address; /* a return address on its stack, once it is there */
};

static NOINLINE void wait_at_gate(struct parked *parked) {
    atomic_store(&parked->address, return_address(__builtin_return_address(0)));
    pthread_mutex_lock(parked->gate);
    pthread_mutex_unlock(parked->gate);
    /* Prevents a tail call, so this function's frame stays. */
    atomic_signal_fence(memory_order_seq_cst);
}

static void *park(void *argument) {
    wait_at_gate(argument);
    atomic_signal_fence(memory_order_seq_cst);
    return NULL;
}

static void check_thread(struct list *list, const struct parked *parked) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread thread;

    usp_stack_init(&stack, frames, FRAMES);
    int status = usp_thread_from_pthread((uintptr_t)parked->thread, &thread);
    if (status == USP_OK) status = usp_capture_thread(&thread, NULL, &stack);
    check_stack(list, "another thread", status, &stack, atomic_load(&parked->address));
    tell(list, "note", "it was stopped for %u ns", (unsigned)stack.stopped_ns);
    usp_thread_release(&thread);
}

static void check_main(struct list *list) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread thread, self;

    usp_stack_init(&stack, frames, FRAMES);
    int status = usp_thread_main(&thread);
    if (status == USP_OK && usp_thread_self(&self) == USP_OK && self.id == thread.id) {
        tell(list, "left out", "the main thread from outside: this is the main thread");
    } else {
        if (status == USP_OK) status = usp_capture_thread(&thread, NULL, &stack);
        check(list, status == USP_OK && is_whole(&stack), "the main thread: %u frames, ends: %s (%s)",
              (unsigned)stack.count, usp_stop_reason_string(stack.stop), usp_status_string(status));
    }
    usp_thread_release(&thread);
}

#if HAS_SIGALTSTACK
/* A thread that handles a signal on an alternate stack. The interrupted function is on the thread's own stack. */
static struct {
    _Atomic(uint64_t) address; /* a return address on the thread's own stack */
    _Atomic(bool) is_there, may_go;
    _Alignas(16) char stack[128 << 10];
} aside;

static void wait_aside(int number) {
    (void)number;
    atomic_store(&aside.is_there, true);
    while (!atomic_load(&aside.may_go)) usleep(1000);
}

static NOINLINE void raise_aside(void) {
    atomic_store(&aside.address, return_address(__builtin_return_address(0)));
    raise(SIGUSR2);
    atomic_signal_fence(memory_order_seq_cst);
}

static void *handle_aside(void *argument) {
    stack_t stack, before;
    (void)argument;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = aside.stack;
    stack.ss_size = sizeof aside.stack;
    sigaltstack(&stack, &before);
    raise_aside();
    sigaltstack(&before, NULL);
    return NULL;
}

static void check_aside(struct list *list) {
    struct sigaction action, before;
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread thread;
    pthread_t other;
    uint32_t signals = 0;

    memset(&action, 0, sizeof action);
    action.sa_handler = wait_aside;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, &before);
    bool made = pthread_create(&other, NULL, handle_aside, NULL) == 0;
    uint64_t end = usp_clock() + TIMEOUT;
    while (made && !atomic_load(&aside.is_there) && usp_clock() < end) usleep(1000);
    check(list, atomic_load(&aside.is_there), "a thread handles a signal on another stack");
    if (!made) return;

    usp_stack_init(&stack, frames, FRAMES);
    int status = usp_thread_from_pthread((uintptr_t)other, &thread);
    if (status == USP_OK) status = usp_capture_thread(&thread, NULL, &stack);
    check_stack(list, "through a handler on another stack", status, &stack, atomic_load(&aside.address));
    for (uint32_t i = 0; i < stack.physical; i++) signals += frames[i].kind == USP_FRAME_KIND_SIGNAL;
    check(list, signals == 1, "%u of its frames were interrupted by a signal", (unsigned)signals);
    usp_thread_release(&thread);
    atomic_store(&aside.may_go, true);
    pthread_join(other, NULL);
    sigaction(SIGUSR2, &before, NULL);
}
#else
static void check_aside(struct list *list) { tell(list, "left out", "handlers on another stack: not on this system"); }
#endif

/* Checks the stacks of all threads. The waiting threads have the same return address, because they wait in the same
 * place. */
static void check_all(struct list *list, uint64_t address) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;

    usp_snapshot_options_init(&options);
    options.timeout = TIMEOUT;
    int status = usp_snapshot_create_self(&options, &snapshot);
    check(list, status == USP_OK, "all threads: %s", usp_status_string(status));
    if (status != USP_OK) return;

    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    unsigned found = 0, mains = 0;
    for (uint32_t i = 0; i < info->thread_count; i++) {
        const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, i);
        mains += (thread->info.flags & USP_THREAD_MAIN) != 0;
        found += holds(&thread->stack, address);
    }
    check(list, found == THREADS, "%u of %u waiting threads found among %u", found, (unsigned)THREADS,
          (unsigned)info->thread_count);
    check(list, info->missed == 0, "%u threads without a stack", (unsigned)info->missed);
    check(list, mains == 1, "%u main threads", mains);
    tell(list, "note", "all were stopped for %u ns", (unsigned)info->stopped_ns);
    usp_snapshot_free(snapshot);
}

static void check_others(struct list *list) {
    static struct parked parked[THREADS];
    pthread_mutex_t gate;
    int started = 0;

    pthread_mutex_init(&gate, NULL);
    pthread_mutex_lock(&gate);
    for (; started < THREADS; started++) {
        parked[started].gate = &gate;
        atomic_store(&parked[started].address, 0);
        if (pthread_create(&parked[started].thread, NULL, park, &parked[started]) != 0) break;
        while (atomic_load(&parked[started].address) == 0) usleep(1000);
    }
    check(list, started == THREADS, "%d threads started", started);
    if (started == THREADS) {
        check_thread(list, &parked[0]);
        check_main(list);
        check_all(list, atomic_load(&parked[0].address));
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++) pthread_join(parked[i].thread, NULL);
    pthread_mutex_destroy(&gate);
}

/* ---- images and names ---- */

static struct usp_images *check_loaded(struct list *list) {
    struct usp_images *images = NULL;
    size_t with_id = 0;
    int status = usp_images_create_self(&images);
    check(list, status == USP_OK, "the loaded images: %s", usp_status_string(status));
    for (size_t i = 0; status == USP_OK && i < usp_images_count(images); i++) {
        with_id += usp_images_get(images, i)->build_id_size > 0;
    }
    if (status == USP_OK) tell(list, "note", "%zu images, %zu with a UUID", usp_images_count(images), with_id);
    return images;
}

static void tell_names(struct list *list) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_symbolizer *symbolizer;

    usp_stack_init(&stack, frames, FRAMES);
    usp_capture_self(NULL, &stack);
    int status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    check(list, status == USP_OK, "the symbolizer: %s", usp_status_string(status));
    for (uint32_t i = 0; status == USP_OK && i < stack.count; i++) {
        struct usp_symbol symbol;
        char line[160];
        usp_symbolize_frame(symbolizer, stack.arch, &frames[i], &symbol);
        usp_format_frame(line, sizeof line, USP_FORMAT_CALL_STACK_SYMBOLS, &stack, i, &symbol);
        tell(list, "note", "%s", line);
    }
    if (status == USP_OK) usp_symbolizer_free(symbolizer);
}

int checklist_run(checklist_line line, void *context) {
    struct list list = {line, context, 0};
    struct usp_prepare_options options;

    usp_prepare_options_init(&options);
    options.timeout = TIMEOUT;
    int status = usp_prepare(&options);

    tell(&list, "note", "unspool %s on %s", usp_version_string(), usp_arch_string(usp_arch_host()));
    struct usp_images *images = check_loaded(&list);
    check_self(&list, images);
    check_signal(&list);
    if (status == USP_ERROR_UNSUPPORTED) {
        /* On watchOS and under Rosetta. */
        tell(&list, "left out", "other threads: not on this system");
    } else {
        check(&list, status == USP_OK, "usp_prepare: %s", usp_status_string(status));
        check_others(&list);
        check_aside(&list);
    }
    tell_names(&list);
    usp_images_free(images);
    return list.failed;
}
