/* SPDX-License-Identifier: MIT */
/* Tests captures in signal handlers, wherever the handler interrupts: inside malloc, inside the loader, on a thread
 * that the library has never seen, while another thread holds the loader's lock. Captures must not allocate or take a
 * lock.
 *
 * With USP_TEST_LATE this is built without the library and loads it by dlopen. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "tests/support/linux_counted_allocator.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#ifndef USP_TEST_LATE
#define USP_TEST_LATE 0
#endif

#define FRAMES 64u

static int (*backtrace_of)(void **, int);
static size_t (*backtrace_async_of)(void **, size_t, uint32_t *);
static int (*capture_self_of)(const struct usp_unwind_options *, struct usp_stack *);
static int (*capture_context_of)(const void *, const struct usp_unwind_options *, struct usp_stack *);
static int (*capture_thread_of)(const struct usp_thread *, const struct usp_unwind_options *, struct usp_stack *);
static int (*prepare_of)(const struct usp_prepare_options *);

#if USP_TEST_LATE
static void find_library(void) {
    void *library = dlopen("lib/.libs/libunspool.so", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&backtrace_of = dlsym(library, "usp_backtrace");
    *(void **)&backtrace_async_of = dlsym(library, "usp_backtrace_async");
    *(void **)&capture_self_of = dlsym(library, "usp_capture_self");
    *(void **)&capture_context_of = dlsym(library, "usp_capture_context");
    *(void **)&capture_thread_of = dlsym(library, "usp_capture_thread");
    *(void **)&prepare_of = dlsym(library, "usp_prepare");
}

static void init_stack(struct usp_stack *stack, struct usp_frame *frames) {
    memset(stack, 0, sizeof *stack);
    stack->frames = frames;
    stack->capacity = FRAMES;
}
#else
static void find_library(void) {
    backtrace_of = usp_backtrace;
    backtrace_async_of = usp_backtrace_async;
    capture_self_of = usp_capture_self;
    capture_context_of = usp_capture_context;
    capture_thread_of = usp_capture_thread;
    prepare_of = usp_prepare;
}

static void init_stack(struct usp_stack *stack, struct usp_frame *frames) { usp_stack_init(stack, frames, FRAMES); }
#endif

/* Returns a number of interruptions: `n`, less where execution is slow, multiplied by USP_TEST_SCALE. */
static unsigned scaled(unsigned n) { return (is_slowed() ? n / 4 : n) * test_scale(); }

/* ---- the handler ---- */

static _Atomic(unsigned) handled, empty, errno_lost, in_libc, untrue, interruptions_told;
static uintptr_t program_low, program_high;
extern const char __executable_start, etext;

/* Returns whether the fast walk's frames are frames of the typed walk, in the same order. A signal frame's address is
 * one higher there. The first address belongs to another call and is not compared. */
static bool is_part(void *const *addresses, uint32_t n, const struct usp_frame *frames, uint32_t count) {
    uint32_t k = 1;
    /* The fast walk knows no roots. Where libc keeps records, it may have more frames after the typed walk's last
     * one. */
    for (uint32_t i = 1; i < n && k < count; i++, k++) {
        for (; k < count; k++) {
            bool is_signal = frames[k].kind == USP_FRAME_KIND_SIGNAL;
            if (frames[k].pc + is_signal != (uintptr_t)addresses[i]) continue;
            if (is_signal) atomic_fetch_add(&interruptions_told, 1);
            break;
        }
        if (k == count) return false;
    }
    return true;
}

static void capture_everything(const void *context) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    void *addresses[FRAMES];
    uint32_t task;
    int kept = errno = 4321;
    guarded = 1;
    init_stack(&stack, frames);
    int n = backtrace_of(addresses, FRAMES);
    size_t m = backtrace_async_of(addresses, FRAMES, &task);
    int self = capture_self_of(NULL, &stack);
    uint32_t own = stack.count;
    if (stack.stop == USP_STOP_ROOT && !is_part(addresses, (uint32_t)n, frames, own)) atomic_fetch_add(&untrue, 1);
    init_stack(&stack, frames);
    int interrupted = capture_context_of(context, NULL, &stack);
    guarded = 0;
    if (errno != kept) atomic_fetch_add(&errno_lost, 1);
    usp_addr pc = stack.count > 0 ? frames[0].pc : 0;
    if (pc < program_low || pc >= program_high) atomic_fetch_add(&in_libc, 1);
    /* The fast walks find at least the handler, the typed captures at least their first frame. */
    if (n < 1 || m < 1 || self != USP_OK || own < 1 || interrupted != USP_OK || stack.count < 1) {
        atomic_fetch_add(&empty, 1);
    }
    atomic_fetch_add(&handled, 1);
}

/* Each interruption starts the timer for the next one, so that the program makes progress in between however slow the
 * handler is. */
static void wind_up(unsigned long microseconds) {
    struct itimerval once = {{0, 0}, {0, (suseconds_t)microseconds}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    int kept = errno;
    (void)info;
    capture_everything(context);
    if (number == SIGALRM) wind_up(60 + atomic_load(&handled) % 97);
    errno = kept;
}

static void install(int number, int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
    ck_assert_int_eq(sigaction(number, &action, NULL), 0);
    program_low = (uintptr_t)&__executable_start;
    program_high = (uintptr_t)&etext;
}

static void start_timer(void) {
    install(SIGALRM, 0);
    wind_up(100);
}

static void stop_timer(void) {
    signal(SIGALRM, SIG_IGN);
    wind_up(0);
}

static void expect_clean(void) {
    printf("%u interruptions, %u of them in libraries; the fast walk reports %u, untrue: %u\n", atomic_load(&handled),
           atomic_load(&in_libc), atomic_load(&interruptions_told), atomic_load(&untrue));
    ck_assert_uint_eq(atomic_load(&forbidden_calls), 0);
    ck_assert_uint_eq(atomic_load(&empty), 0);
    ck_assert_uint_eq(atomic_load(&errno_lost), 0);
    ck_assert_uint_eq(atomic_load(&untrue), 0);
    ck_assert_uint_gt(atomic_load(&handled), 0);
}

/* ---- what is interrupted ---- */

START_TEST(a_guard_notices_what_it_should) {
    if (!ALLOCATOR_IS_COUNTED) return;
    guarded = 1;
    void *volatile p = malloc(10);
    free(p);
    Dl_info info;
    dladdr((const void *)(uintptr_t)scaled, &info);
    guarded = 0;
    ck_assert_uint_ge(atomic_load(&forbidden_calls), 3);
}
END_TEST

START_TEST(malloc_is_interrupted) {
    find_library();
#if !USP_TEST_LATE
    /* Prepares what typed captures need for complete stacks. */
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
#endif
    start_timer();
    while (atomic_load(&handled) < scaled(600)) {
        void *volatile blocks[16];
        for (unsigned i = 0; i < 16; i++) blocks[i] = malloc(i * i * 700 + 1);
        for (unsigned i = 0; i < 16; i++) free(blocks[i]);
    }
    stop_timer();
    expect_clean();
    ck_assert_uint_gt(atomic_load(&in_libc), 0);
#if !USP_TEST_LATE
    bool keeps_records = usp_arch_host() == USP_ARCH_X86_64 || usp_arch_host() == USP_ARCH_ARM64;
    if (keeps_records && !USP_SANITIZED) ck_assert_uint_gt(atomic_load(&interruptions_told), 0);
#endif
}
END_TEST

static int look_at_image(struct dl_phdr_info *info, size_t size, void *context) {
    (void)info;
    (void)size;
    *(volatile unsigned *)context += 1;
    return 0;
}

START_TEST(the_loader_is_interrupted) {
    find_library();
    unsigned images = 0;
    start_timer();
    while (atomic_load(&handled) < scaled(400)) {
        void *library = dlopen("libutil.so.1", RTLD_NOW);
        if (library != NULL) dlsym(library, "no_such_name");
        dl_iterate_phdr(look_at_image, &images);
        if (library != NULL) dlclose(library);
    }
    stop_timer();
    expect_clean();
    ck_assert_uint_gt(images, 0);
}
END_TEST

static void *first_use(void *context) {
    (void)context;
    /* The library has not been used on this thread before. */
    raise(SIGUSR1);
    return NULL;
}

static void *first_use_on_alternate_stack(void *context) {
    stack_t alternate = {.ss_size = 131072};
    (void)context;
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    raise(SIGUSR2);
    /* The alternate stack is freed before the thread ends: AddressSanitizer would take it for its own and unmap it. */
    void *memory = alternate.ss_sp;
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(memory);
    return NULL;
}

START_TEST(a_thread_is_first_met_in_a_handler) {
    find_library();
    install(SIGUSR1, 0);
    install(SIGUSR2, SA_ONSTACK);
    for (unsigned i = 0; i < 50; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, i % 2 == 0 ? first_use : first_use_on_alternate_stack, NULL), 0);
        pthread_join(thread, NULL);
    }
    ck_assert_uint_eq(atomic_load(&handled), 50);
    expect_clean();
}
END_TEST

START_TEST(the_first_use_of_all_is_in_a_handler) {
    /* Check forks for each test, so the library has not been used in this process. */
    find_library();
    install(SIGUSR1, 0);
    raise(SIGUSR1);
    expect_clean();
}
END_TEST

/* ---- the loader's lock is held by another thread ---- */

static _Atomic(int) lock_is_held, lock_may_go;

static int hold_the_lock(struct dl_phdr_info *info, size_t size, void *context) {
    (void)info;
    (void)size;
    struct parked *s = context;
    atomic_store(&lock_is_held, 1);
    while (atomic_load(&lock_may_go) == 0 && atomic_load(&s->leave) == 0) usleep(1000);
    return 1;
}

static void wait_in_callback(struct parked *s) { dl_iterate_phdr(hold_the_lock, s); }

START_TEST(captures_finish_while_the_loader_is_locked) {
    struct parked holder = {.depth = 2, .wait = wait_in_callback}, other = {.depth = 4};
    struct usp_prepare_options options;
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    find_library();
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.max_threads = 8;
    options.stack_copy = 65536;
    options.timeout = patience();
    ck_assert_int_eq(prepare_of(&options), USP_OK);
    install(SIGUSR1, 0);
    stand_begin(&holder);
    stand_begin(&other);
    while (atomic_load(&lock_is_held) == 0) usleep(1000);
    alarm(240);
    raise(SIGUSR1);
    init_stack(&stack, frames);
    guarded = 1;
    int status = capture_thread_of(&holder.thread, NULL, &stack);
    guarded = 0;
    ck_assert_int_eq(status, USP_OK);
    ck_assert_uint_ge(stack.count, 1);
    init_stack(&stack, frames);
    guarded = 1;
    status = capture_thread_of(&other.thread, NULL, &stack);
    guarded = 0;
    ck_assert_int_eq(status, USP_OK);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_deep), 5);
    alarm(0);
    ck_assert_int_eq(atomic_load(&lock_may_go), 0);
    atomic_store(&lock_may_go, 1);
    stand_end(&holder);
    stand_end(&other);
    expect_clean();
}
END_TEST

int main(void) {
    TCase *c = tcase_create("handlers");
    add_tests(c, a_guard_notices_what_it_should, malloc_is_interrupted, the_loader_is_interrupted,
              a_thread_is_first_met_in_a_handler, the_first_use_of_all_is_in_a_handler,
              captures_finish_while_the_loader_is_locked);
    return run_suite("linux_handlers", c);
}
