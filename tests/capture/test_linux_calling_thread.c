/* SPDX-License-Identifier: MIT */
/* Tests the fast walks over the calling thread's stack. They return each return address once and in order, also from a
 * given frame address, and make no system call once the thread is known. Also tests where stacks end, and Swift async
 * records of this thread and of another one. */
#define _GNU_SOURCE 1
#include "tests/support/libc.h"
#include "tests/support/linux_threads.h"

#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arch/host.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#define FRAMES 256
#define DEPTH  100u

/* ---- a stack of known shape: DEPTH + 1 frames of `descend`, which calls `bottom` ---- */

static void (*volatile bottom)(void);
static unsigned marked_depth;
static void *marked_record;
static uintptr_t marked_return;

BOUNDS(descend);
static BOUNDED(descend) void descend(unsigned depth) {
    if (depth == marked_depth) {
        marked_record = __builtin_frame_address(0);
        marked_return = uspi_host_strip((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)));
    }
    if (depth == 0) {
        bottom();
    } else {
        descend(depth - 1);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static void *start(void *context) {
    (void)context;
    descend(DEPTH);
    atomic_fetch_add(&standing_sink, 1);
    return NULL;
}

/* Calls the function below `descend` on a thread of its own. Such a stack has a known end; the code that calls a test
 * has no frame records. */
static void at_the_bottom(void (*function)(void)) {
    pthread_t thread;
    bottom = function;
    marked_depth = DEPTH / 2;
    ck_assert_int_eq(pthread_create(&thread, NULL, start, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static unsigned count_in(void *const *addresses, int n, uintptr_t low, uintptr_t high) {
    unsigned found = 0;
    for (int i = 0; i < n; i++) found += (uintptr_t)addresses[i] >= low && (uintptr_t)addresses[i] < high;
    return found;
}

static void *fast[FRAMES];
static int count;

BOUNDS(take);
static BOUNDED(take) void take(void) {
    count = usp_backtrace(fast, FRAMES);
    atomic_fetch_add(&standing_sink, 1);
}

START_TEST(every_return_address_once) {
    at_the_bottom(take);
    ck_assert_int_ge(count, (int)DEPTH + 3);
    ck_assert_uint_eq(count_in(fast, 1, LOW(take), HIGH(take)), 1);
    ck_assert_uint_eq(count_in(fast + 1, DEPTH + 1, LOW(descend), HIGH(descend)), DEPTH + 1);
    ck_assert_uint_eq(count_in(fast, count, LOW(descend), HIGH(descend)), DEPTH + 1);
    ck_assert_uint_eq(count_in(fast, count, LOW(take), HIGH(take)), 1);
}
END_TEST

/* A buffer that is too small holds the innermost frames, and nothing is written past its end. */
static void take_with_little_room(void) {
    void *few[FRAMES];
    take();
    for (int size = 1; size < count; size++) {
        memset(few, 0, sizeof few);
        ck_assert_int_eq(usp_backtrace(few, size), size);
        /* The first address lies in this function at another call of it, so it is not compared. */
        ck_assert_int_eq(memcmp(few + 1, fast + 2, (size_t)(size < 2 ? 0 : size - 2) * sizeof few[0]), 0);
        ck_assert_ptr_null(few[size]);
    }
    ck_assert_int_eq(usp_backtrace(few, 0), 0);
    ck_assert_int_eq(usp_backtrace(few, -1), 0);
    ck_assert_int_eq(usp_backtrace(NULL, 10), 0);
    ck_assert_uint_eq(usp_backtrace_async(few, 0, NULL), 0);
}

START_TEST(room_for_fewer) { at_the_bottom(take_with_little_room); }
END_TEST

/* A typed capture from the marked frame has the same frames. It may have more after them, because it needs no frame
 * records. */
static struct usp_frame typed_frames[FRAMES];
static struct usp_stack typed;

static void take_typed_from_the_mark(void) {
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.start_fp = (uintptr_t)marked_record;
    usp_stack_init(&typed, typed_frames, FRAMES);
    (void)usp_capture_self(&options, &typed);
}

static void expect_typed(void *const *expected, int n) {
    ck_assert_int_eq(typed.status, USP_OK);
    /* Where unwind rules are known, the typed capture ends with the function that called the thread's function. On i386
     * the fast walk finds one more record, that of clone. */
    const bool has_ended = typed.stop == USP_STOP_ROOT && typed.count + 1 == (unsigned)n;
    ck_assert_uint_ge(typed.count + has_ended, (unsigned)n);
    for (int i = 0; i < n - has_ended; i++) ck_assert_uint_eq(typed_frames[i].pc, (uintptr_t)expected[i]);
}

static void take_from_the_mark(void) {
    void *above[FRAMES], *all[FRAMES];
    int n = usp_backtrace(all, FRAMES), m = usp_backtrace_from_fp(marked_record, above, FRAMES);
    ck_assert_int_gt(m, (int)(DEPTH - marked_depth));
    ck_assert_uint_eq((uintptr_t)above[0], marked_return);
    /* The frames from the mark on are the last ones of the whole walk. */
    ck_assert_int_eq(memcmp(above, all + (n - m), (size_t)m * sizeof above[0]), 0);
    take_typed_from_the_mark();
    expect_typed(above, m);
    m = usp_backtrace_from_fp(NULL, above, FRAMES);
    ck_assert_int_eq(m, n);
    ck_assert_int_eq(memcmp(above + 1, all + 1, (size_t)(n - 1) * sizeof above[0]), 0);
    ck_assert_int_eq(usp_backtrace_from_fp((void *)(UINTPTR_MAX & ~(uintptr_t)15), above, FRAMES), 0);
    ck_assert_int_eq(usp_backtrace_from_fp(marked_record, above, 1), 1);
    ck_assert_int_eq(usp_backtrace_from_fp(marked_record, above, 0), 0);
}

/* An address between two records selects the next record above it. */
static void take_above_a_record(void) {
    void *above[FRAMES], *next[FRAMES];
    int n = usp_backtrace_from_fp(marked_record, above, FRAMES);
    int m = usp_backtrace_from_fp((char *)marked_record + 1, next, FRAMES);
    ck_assert_int_eq(m, n - 1);
    ck_assert_int_eq(memcmp(next, above + 1, (size_t)m * sizeof next[0]), 0);
}

static void *alternate_stack;
static int taken_in_handler;

static _Atomic(int) may_be_interrupted;

static void take_in_handler(int number) {
    (void)number;
    taken_in_handler = usp_backtrace_from_fp(marked_record, fast, FRAMES);
    take_typed_from_the_mark();
    atomic_store(&may_be_interrupted, 0);
}

static void *interrupt_when_allowed(void *thread) {
    while (atomic_load(&may_be_interrupted) == 0) usleep(100);
    pthread_kill(*(const pthread_t *)thread, SIGUSR1);
    return NULL;
}

/* Waits for a signal from another thread, in a loop outside of libc. In libc's system calls the frame pointer may hold
 * something else: on i386 the sixth argument. */
static KEPT void be_interrupted(void) {
    stack_t s = {.ss_sp = alternate_stack, .ss_size = 65536};
    struct sigaction action;
    pthread_t self = pthread_self(), other;
    memset(&action, 0, sizeof action);
    action.sa_handler = take_in_handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&s, NULL);
    ck_assert_int_eq(pthread_create(&other, NULL, interrupt_when_allowed, &self), 0);
    atomic_store(&may_be_interrupted, 1);
    while (atomic_load(&may_be_interrupted) != 0) continue;
    pthread_join(other, NULL);
    s.ss_flags = SS_DISABLE;
    sigaltstack(&s, NULL);
}

/* The distance in bytes between the marked frame and the interrupted code: it spans stack pages that the library has
 * not seen. */
#define FAR 20000u

static void be_interrupted_far_down(void) {
    volatile char space[FAR];
    space[0] = space[FAR - 1] = 1;
    be_interrupted();
    atomic_fetch_add(&standing_sink, (unsigned)space[0]);
}

/* A crash handler passes a frame address and must get the frames above it, wherever its alternate stack lies: below the
 * thread's stack, in the heap, or above it, at the beginning of the main thread's stack. */
START_TEST(from_a_frame_address_in_a_handler) {
    char above[65536];
    char *below = malloc(65536);
    ck_assert_ptr_nonnull(below);
    memset(above, 0, sizeof above);
    alternate_stack = _i == 0 ? below : above;
    at_the_bottom(be_interrupted_far_down);
    ck_assert_int_gt(taken_in_handler, (int)(DEPTH - marked_depth));
    ck_assert_uint_eq((uintptr_t)fast[0], marked_return);
    ck_assert_uint_eq(count_in(fast, taken_in_handler, LOW(descend), HIGH(descend)), DEPTH - marked_depth);
    expect_typed(fast, taken_in_handler);
    free(below);
}
END_TEST

START_TEST(from_a_frame_address) {
    at_the_bottom(take_from_the_mark);
    at_the_bottom(take_above_a_record);
}
END_TEST

/* The later walks use the rules that the first one has cached. */
START_TEST(from_a_frame_address_by_kept_rules) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    for (unsigned i = 0; i < 3; i++) at_the_bottom(take_from_the_mark);
    usp_shutdown();
}
END_TEST

/* ---- a call that never returns, at the end of all code ---- */

static sigjmp_buf way_out;
static uintptr_t end_of_code;

static void take_and_leave(void) {
    count = usp_backtrace(fast, FRAMES);
    siglongjmp(way_out, 1);
}

/* Machine code of a function that makes a frame record and calls its argument with the page's last instruction. The
 * return address points past the page, where nothing can be read. */
static void call_at_the_end(void) {
    static const uint8_t x86_64[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7};
    static const uint8_t arm64[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00, 0x3f, 0xd6};
    bool is_arm = usp_arch_host() == USP_ARCH_ARM64;
    const uint8_t *bytes = is_arm ? arm64 : x86_64;
    size_t n = is_arm ? sizeof arm64 : sizeof x86_64, page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    void (*call)(void (*)(void));
    char *begin = pages + page - n;
    memcpy(begin, bytes, n);
    __builtin___clear_cache(begin, begin + n);
    ck_assert_int_eq(mprotect(pages, page, PROT_READ | PROT_EXEC), 0);
    ck_assert_int_eq(munmap(pages + page, page), 0);
    memcpy(&call, &begin, sizeof call);
    end_of_code = (uintptr_t)(pages + page);
    if (sigsetjmp(way_out, 1) == 0) call(take_and_leave);
    ck_assert_uint_eq(count_in(fast, count, end_of_code, end_of_code + 1), 1);
    ck_assert_uint_eq(count_in(fast, count, LOW(descend), HIGH(descend)), DEPTH + 1);
    munmap(pages, page);
}

START_TEST(a_call_at_the_end_of_code) {
    uint32_t host = usp_arch_host();
    if (host == USP_ARCH_X86_64 || host == USP_ARCH_ARM64) at_the_bottom(call_at_the_end);
}
END_TEST

static void take_both(void) {
    static struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    void *addresses[FRAMES];
    int n = usp_backtrace(addresses, FRAMES);
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_self(NULL, &stack), USP_OK);
    /* Where libc keeps frame records, the fast walk, which knows no roots, also finds the frame beyond the thread's
     * start. */
    ck_assert_uint_ge(stack.count + 1, (unsigned)n);
    for (int i = 1; i < n && i < (int)stack.count; i++) ck_assert_uint_eq(frames[i].pc, (uintptr_t)addresses[i]);
    if (stack.stop != USP_STOP_ROOT) show_stack(&stack);
    ck_assert_uint_eq(stack.stop, USP_STOP_ROOT);
}

START_TEST(the_typed_walk_agrees) {
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    at_the_bottom(take_both);
}
END_TEST

/* ---- no system call ---- */

static _Atomic(int) quiet_takes;

/* Has known bounds, so that the calls in it have the same return addresses each time. */
BOUNDS(take_all_ways);
static BOUNDED(take_all_ways) void take_all_ways(void) {
    uint32_t task;
    int n = usp_backtrace(fast, FRAMES), m = usp_backtrace_from_fp(marked_record, fast, FRAMES);
    size_t k = usp_backtrace_async(fast, FRAMES, &task);
    quiet_takes += n >= (int)DEPTH && m >= (int)DEPTH / 2 && k >= DEPTH;
}

static void take_without_the_system(void) {
    void (*volatile function)(void) = take_all_ways;
    volatile int round = 0;
    /* Strict seccomp (seccomp(2)) ends the thread at any system call but read, write, exit and sigreturn. */
    for (; round < 2; round++) {
        if (round == 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) syscall(SYS_exit_group, 77);
        function();
    }
    syscall(SYS_exit, 0);
}

START_TEST(no_system_call_once_the_thread_is_known) {
    int status;
    /* Emulators and valgrind have no such filter, or make system calls of their own. */
    if (is_slowed() && strcmp(test_under(), "kernel") != 0) return;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        bottom = take_without_the_system;
        marked_depth = DEPTH / 2;
        if (pthread_create(&thread, NULL, start, NULL) != 0) _exit(1);
        /* Not every libc can join a thread that ends by the raw exit call, so this polls a counter. */
        for (unsigned i = 0; i < PATIENT_LOOKS && quiet_takes != 2; i++) usleep(1000);
        _exit(quiet_takes == 2 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}
END_TEST

/* ---- how much stack a handler needs ---- */

#define PAINTED  (size_t)65536
#define PAINT    0x5a
#define PROMISED (size_t)(19 << 10) /* what doc/signal-safety.md adds to the kernel's own need */

static struct usp_frame handler_frames[FRAMES];
static size_t needed[2];

static size_t unpainted(const uint8_t *stack) {
    size_t clean = 0;
    while (clean < PAINTED && stack[clean] == PAINT) clean++;
    return PAINTED - clean;
}

static void capture_and_measure(int number, siginfo_t *info, void *context) {
    struct usp_stack stack;
    (void)number;
    (void)info;
    needed[0] = unpainted(alternate_stack);
    usp_stack_init(&stack, handler_frames, FRAMES);
    usp_capture_self(NULL, &stack);
    usp_stack_init(&stack, handler_frames, FRAMES);
    usp_capture_context(context, NULL, &stack);
    needed[1] = unpainted(alternate_stack);
}

static void interrupt_and_measure(void) {
    stack_t s = {.ss_sp = alternate_stack, .ss_size = PAINTED};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = capture_and_measure;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&s, NULL);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
    s.ss_flags = SS_DISABLE;
    sigaltstack(&s, NULL);
}

START_TEST(a_capture_in_a_handler_needs_what_is_promised) {
    if (USP_SANITIZED) return;
    alternate_stack = malloc(PAINTED);
    ck_assert_ptr_nonnull(alternate_stack);
    memset(alternate_stack, PAINT, PAINTED);
    at_the_bottom(interrupt_and_measure);
    free(alternate_stack);
    printf("kernel and handler: %zu bytes, with captures: %zu\n", needed[0], needed[1]);
    ck_assert_uint_gt(needed[0], 0);
    ck_assert_uint_gt(needed[1], needed[0]);
    ck_assert_uint_le(needed[1] - needed[0], PROMISED);
}
END_TEST

/* ---- stacks whose bounds are not known: the next record lies at most 1 MB above (Libc gen/thread_stack_pcs.c) ---- */

#define COROUTINE_STACK ((size_t)256 << 10)
#define COROUTINE_ROOM  ((size_t)2 << 20)
#define RECORD_GAP_MAX  ((ptrdiff_t)1 << 20)

static ucontext_t outside, inside;
static ptrdiff_t distance;
static int frames_found;

static uintptr_t unreadable;
static void (*forge)(void);

/* Makes its own record's saved frame pointer point to unreadable memory during a walk. */
BOUNDS(forge_pointer);
static BOUNDED(forge_pointer) void forge_pointer(void) {
    void *addresses[8];
    volatile uintptr_t *own = __builtin_frame_address(0);
    uintptr_t previous = own[0];
    own[0] = unreadable;
    frames_found = usp_backtrace(addresses, 8);
    own[0] = previous;
}

/* During a walk, links its own record to a forged one `distance` bytes above the usual place. The forged record is the
 * last one of the chain. */
BOUNDS(forge_record);
static BOUNDED(forge_record) void forge_record(void) {
    void *addresses[8];
    volatile uintptr_t *own = __builtin_frame_address(0);
    volatile uintptr_t *next = own + 2 + distance / (ptrdiff_t)sizeof *own;
    uintptr_t previous = own[0], saved[2] = {next[0], next[1]};
    next[0] = 0;
    next[1] = own[1];
    own[0] = (uintptr_t)next;
    frames_found = usp_backtrace(addresses, 8);
    own[0] = previous;
    next[0] = saved[0];
    next[1] = saved[1];
}

static void forge_in_coroutine(void) {
    forge();
    atomic_fetch_add(&standing_sink, 1);
}

static void run_coroutine(char *stack) {
    ck_assert_int_eq(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = COROUTINE_STACK;
    inside.uc_link = &outside;
    makecontext(&inside, forge_in_coroutine, 0);
    ck_assert_int_eq(swapcontext(&outside, &inside), 0);
}

START_TEST(records_on_an_unknown_stack) {
    static const struct {
        ptrdiff_t distance;
        int frames;
    } cases[] = {{0, 3}, {64, 3}, {RECORD_GAP_MAX, 3}, {RECORD_GAP_MAX + 16, 2}, {-4096, 2}};
    /* On 32-bit arm, compilers write other records or no records. */
    if (USPI_HOST_ARCH == USP_ARCH_ARMV7 || !USPI_HOST_RECORDS || !LIBC_HAS_COROUTINES) return;
    char *stack =
        mmap(NULL, COROUTINE_STACK + COROUTINE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(stack, MAP_FAILED);
    forge = forge_record;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        distance = cases[i].distance;
        run_coroutine(stack);
        ck_assert_msg(frames_found == cases[i].frames, "%td bytes: %d frames", distance, frames_found);
    }
    /* First the record lies past the last readable page; then only its first word can be read. */
    ck_assert_int_eq(mprotect(stack + COROUTINE_STACK, COROUTINE_ROOM, PROT_NONE), 0);
    forge = forge_pointer;
    for (unsigned i = 0; i < 2; i++) {
        unreadable = (uintptr_t)stack + COROUTINE_STACK - i * USPI_HOST_SLOT;
        run_coroutine(stack);
        ck_assert_int_eq(frames_found, 2);
    }
    ck_assert_int_eq(munmap(stack, COROUTINE_STACK + COROUTINE_ROOM), 0);
}
END_TEST

/* ---- where stacks end ---- */

START_TEST(nothing_follows_the_start_of_a_thread) {
    static struct usp_frame frames[FRAMES];
    struct parked s = {.depth = 5};
    struct usp_unwind_options options;
    struct usp_stack stack;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    stand_begin(&s);
    usp_unwind_options_init(&options);
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_thread(&s.thread, &options, &stack), USP_OK);
    expect_standing(&s, &stack);
    ck_assert_uint_eq(FRAMES_IN(&stack, stand_here), 1);
    /* The thread may be in a function that adds atomically (libgcc's, on arm64). */
    uint32_t above = 0;
    while (frames[above].pc < LOW(stand_here) || frames[above].pc >= HIGH(stand_here)) above++;
    ck_assert_uint_le(above, 1);
    /* stand_here, six times stand_deep, stand, the function that called stand, and, where a table describes that one, the
     * thread's first function; a sanitizer's function that starts threads may be between */
    const uint32_t below = stack.count - above;
    ck_assert_msg(below == 9 || below == 10 || (USP_SANITIZED && below == 11), "%u frames", below);
    ck_assert_uint_eq(stack.stop, USP_STOP_ROOT);
    stand_end(&s);
}
END_TEST

/* ---- Swift async records ---- */

#define MARK ((uintptr_t)(UINT64_C(1) << 60))
/* Reserves addresses that cannot appear on the stack otherwise. A function that the linker placed after another one
 * might be a real caller. */
#define RESUME_ROOM 256u
BOUNDS(never_called);
static BOUNDED(never_called) __attribute__((used)) void never_called(void) { __asm__ volatile(".skip 264"); }
#define RESUME (((uintptr_t)LOW(never_called) + 7) & ~(uintptr_t)7)

struct async {
    uintptr_t contexts[3][2]; /* parent, resume address */
    void (*function)(void);
};

/* Puts a record of the async kind, [context][next record | mark][return address], between its own record and its
 * caller's, as if the caller were a Swift async function. It must be above the own record, as in such a function:
 * `words` lie in the caller's frame, `own_words` are used where a record is at the bottom of its frame (arm64). */
BOUNDS(call_below_async);
static BOUNDED(call_below_async) void call_below_async(const struct async *async, volatile uintptr_t *words) {
    volatile uintptr_t *own = __builtin_frame_address(0), own_words[4];
    uintptr_t caller = own[0];
    if (own_words > own) words = own_words;
    words[0] = (uintptr_t)async->contexts[0];
    words[1] = caller | MARK;
    words[2] = own[1];
    own[0] = (uintptr_t)&words[1];
    async->function();
    own[0] = caller;
}

BOUNDS(be_async);
static BOUNDED(be_async) void be_async(void (*function)(void), bool circle) {
    struct async async;
    volatile uintptr_t words[4];
    for (unsigned i = 0; i < 3; i++) {
        async.contexts[i][0] = i < 2 ? (uintptr_t)async.contexts[i + 1] : 0;
        async.contexts[i][1] = RESUME + 64 * i;
    }
    if (circle) async.contexts[2][0] = (uintptr_t)async.contexts[0];
    async.function = function;
    call_below_async(&async, words);
    atomic_fetch_add(&standing_sink, (unsigned)words[3]);
}

/* Uses frame records only: the instructions of these functions do not show the record that was put between them. */
static void init_async_options(struct usp_unwind_options *options) {
    usp_unwind_options_init(options);
    options->async = 1;
    options->readers = USP_READER_FRAME_RECORD;
}

static void expect_chain(const struct usp_stack *stack, bool circle) {
    ck_assert_uint_lt(stack->async_join, stack->physical);
    ck_assert_uint_eq(stack->async_join, stack->extended);
    usp_addr pc = stack->frames[stack->async_join].pc;
    ck_assert(pc >= LOW(be_async) && pc < HIGH(be_async));
    /* After the async callers come the thread's own frames, to the end of the stack. */
    ck_assert_uint_gt(stack->physical, stack->async_join + 1);
    ck_assert_uint_ge(stack->count, stack->physical + 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct usp_frame *f = &stack->frames[stack->physical + i];
        ck_assert_uint_eq(f->pc, RESUME + 64 * i);
        ck_assert_uint_eq(f->kind, USP_FRAME_KIND_ASYNC_RESUME);
    }
    if (!circle) ck_assert_uint_eq(stack->count, stack->physical + 3);
    ck_assert_uint_eq(stack->async_stop, circle ? USP_STOP_CYCLE : USP_STOP_ROOT);
    /* Linux has no slot for the task, so the task id is absent rather than 0. */
    ck_assert_uint_eq(stack->flags & USP_STACK_TASK_ID, 0);
}

static bool in_a_circle;

static void take_async(void) {
    static struct usp_frame frames[FRAMES];
    struct usp_unwind_options options;
    struct usp_stack stack;
    uint32_t task = 99;
    size_t n = usp_backtrace_async(fast, FRAMES, &task), own = 0;
    ck_assert_uint_eq(task, 0);
    while (own < n && ((uintptr_t)fast[own] < LOW(be_async) || (uintptr_t)fast[own] >= HIGH(be_async))) own++;
    ck_assert_uint_lt(own, n);
    for (size_t i = own + 1; i < n && i < own + 4; i++) {
        ck_assert_uint_eq((uintptr_t)fast[i], RESUME + 64 * (i - own - 1) + 1);
    }
    ck_assert_uint_eq(n, in_a_circle ? FRAMES : own + 4);
    /* The plain walk ignores the async context and follows the stack. */
    ck_assert_uint_eq(count_in(fast, usp_backtrace(fast, FRAMES), RESUME, RESUME + RESUME_ROOM), 0);
    init_async_options(&options);
    usp_stack_init(&stack, frames, FRAMES);
    ck_assert_int_eq(usp_capture_self(&options, &stack), USP_OK);
    expect_chain(&stack, in_a_circle);
}

START_TEST(async_callers_of_this_thread) {
    if (!USPI_HOST_ASYNC) return;
    in_a_circle = _i != 0;
    be_async(take_async, in_a_circle);
}
END_TEST

static struct parked *volatile standing_async;

/* Writes nothing new to its stack: a result that differs each time would go through the red zone at -O0, and contexts
 * of a circle count only while the copied stack, which includes the red zone, is as it was. */
static void wait_below_async(void) {
    while (atomic_load(&standing_async->leave) == 0) continue;
}

static void stand_async(struct parked *s) {
    standing_async = s;
    be_async(wait_below_async, in_a_circle);
}

START_TEST(async_callers_of_another_thread) {
    static struct usp_frame frames[FRAMES];
    struct parked s = {.depth = 2, .wait = stand_async};
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    struct usp_stack stack;
    if (!USPI_HOST_ASYNC) return;
    in_a_circle = _i != 0;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    stand_begin(&s);
    usp_snapshot_options_init(&options);
    init_async_options(&options.unwind);
    options.only_thread = s.thread.id;
    options.timeout = patience();
    /* The thread may not have reached its loop yet. On its way there its stack changes, so that the contexts that are
     * read after it goes on may not be those of the copied stack. */
    for (unsigned i = 0; i < 10000; i++) {
        usp_stack_init(&stack, frames, FRAMES);
        ck_assert_int_eq(usp_capture_thread(&s.thread, &options.unwind, &stack), USP_OK);
        if (stack.async_join != USP_NO_INDEX && stack.async_stop != USP_STOP_NOT_COPIED) break;
        usleep(100);
    }
    expect_chain(&stack, in_a_circle);
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    expect_chain(&usp_snapshot_get_thread(snapshot, 0)->stack, in_a_circle);
    usp_snapshot_free(snapshot);
    stand_end(&s);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("calling thread");
    if (USPI_HOST_RECORDS) {
        add_tests(c, every_return_address_once, room_for_fewer, from_a_frame_address,
                  from_a_frame_address_by_kept_rules);
        /* On 32-bit arm r7, Thumb's frame pointer, holds the system call's number, so no record can be found from
         * there. */
        if (usp_arch_host() != USP_ARCH_ARMV7) tcase_add_loop_test(c, from_a_frame_address_in_a_handler, 0, 2);
        add_tests(c, a_call_at_the_end_of_code, the_typed_walk_agrees, no_system_call_once_the_thread_is_known);
        add_loop_tests(c, 0, 2, async_callers_of_this_thread, async_callers_of_another_thread);
    }
    add_tests(c, a_capture_in_a_handler_needs_what_is_promised, records_on_an_unknown_stack,
              nothing_follows_the_start_of_a_thread);
    return run_suite("linux_calling_thread", c);
}
