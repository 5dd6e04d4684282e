/* SPDX-License-Identifier: MIT */
/* Tests that words that point to memory without code are not taken for return addresses, even if the bytes before that
 * address look like a call. That holds for a thread's stack and an image's data, and for heaps of other processes.
 * Words that point to memory in which code may be generated are still accepted. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

/* The bytes of an instruction that calls the address in a register, placed before the address to which it returns. */
struct call {
    uint8_t bytes[32];
    uint32_t size;
    bool is_thumb;
};

static struct call call_of_host(void) {
    static const struct {
        uint32_t arch, size;
        uint8_t bytes[4];
    } calls[] = {
        {USP_ARCH_X86_64, 2, {0xff, 0xd0}},
        {USP_ARCH_I386, 2, {0xff, 0xd0}},
        {USP_ARCH_ARM64, 4, {0x00, 0x00, 0x3f, 0xd6}},
        {USP_ARCH_ARMV7, 4, {0x30, 0xff, 0x2f, 0xe1}},
    };
    struct call call = {.size = 0};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].arch != usp_arch_host()) continue;
        memcpy(call.bytes + 16 - calls[i].size, calls[i].bytes, calls[i].size);
        call.size = calls[i].size;
    }
    return call;
}

/* The return address of such a call at `memory`. */
static uintptr_t returns_to(void *memory) { return (uintptr_t)memory + 16; }

/* The words at a stack pointer: the first one is the return address of the call through the bad pointer. */
struct words {
    _Alignas(16) uintptr_t word[64];
};

/* Walks from a call through a null pointer on a thread of a snapshot. Returns 2 if the walk takes the word at the stack
 * pointer for the return address, 1 if it does not. */
static uint32_t frames_of(const struct usp_snapshot *snapshot, size_t thread, const struct words *words,
                          uintptr_t returns, bool has_bounds) {
    struct usp_target target;
    struct usp_registers registers;
    struct usp_frame frames[4];
    struct usp_stack stack;
    struct usp_unwind_options options;
    ck_assert_int_eq(usp_snapshot_target(snapshot, thread, &target), USP_OK);
    if (!has_bounds) target.stack_low = target.stack_high = 0;
    usp_registers_init(&registers, target.arch);
    usp_registers_set_pc(&registers, 0);
    usp_registers_set_sp(&registers, (uintptr_t)words);
    usp_registers_set_fp(&registers, 0);
    usp_registers_set_lr(&registers, returns);
    usp_unwind_options_init(&options);
    options.step_limit = 2;
    usp_stack_init(&stack, frames, 4);
    ck_assert_int_eq(usp_unwind(&target, &registers, &options, &stack), USP_OK);
    if (stack.count > 1) ck_assert_uint_eq(frames[1].pc, returns);
    return stack.count;
}

/* ---- another process ---- */

static struct call in_data;
static struct words in_heap, in_image, in_page;

/* Forks a child that has a copy of this process's memory and sleeps. */
static pid_t fork_sleeper(void) {
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (;;) pause();
}

static struct usp_snapshot *snapshot_of(pid_t pid) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char error[256];
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    const int status = usp_snapshot_create_process(pid, &options, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s", error);
    return snapshot;
}

/* Maps a page between two inaccessible ones. The kernel would merge it with a neighbour, even with a thread's stack. */
static void *map_page(void) {
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + size, size, PROT_READ | PROT_WRITE), 0);
    return pages + size;
}

/* Extends the mapping that /proc/PID/maps calls [heap]. musl's sbrk allocates nothing. */
static void *grow_heap(long size) {
    void *grown = sbrk(size);
    if (grown != (void *)-1) return grown;
    const long end = syscall(SYS_brk, 0);
    return syscall(SYS_brk, end + size) == end + size ? (void *)end : (void *)-1;
}

/* A walk of another process would take a word that points into its heap for a return address, and show a caller that
 * does not exist. _i: whether the process has generated code. */
START_TEST(in_another_process) {
    const struct call call = call_of_host();
    void *heap = grow_heap(4096);
    void *page = map_page();
    ck_assert_ptr_ne(heap, (void *)-1);
    if (_i != 0) {
        void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(code, MAP_FAILED);
    }
    memcpy(heap, &call, sizeof call);
    memcpy(page, &call, sizeof call);
    in_data = call;
    in_heap.word[0] = returns_to(heap);
    in_image.word[0] = returns_to(&in_data);
    in_page.word[0] = returns_to(page);
    const pid_t child = fork_sleeper();
    struct usp_snapshot *snapshot = snapshot_of(child);
    ck_assert_uint_eq(frames_of(snapshot, 0, &in_heap, returns_to(heap), false), 1);
    ck_assert_uint_eq(frames_of(snapshot, 0, &in_image, returns_to(&in_data), false), 1);
    ck_assert_uint_eq(frames_of(snapshot, 0, &in_page, returns_to(page), false), _i == 0 ? 1 : 2);
    usp_snapshot_free(snapshot);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

/* ---- this process ---- */

static struct words *on_stack;
static struct call *call_on_stack;

static void stand_with_a_call(struct parked *s) {
    struct words words;
    struct call call = call_of_host();
    memset(&words, 0, sizeof words);
    words.word[0] = returns_to(&call);
    on_stack = &words;
    call_on_stack = &call;
    wait_asleep(s);
    __asm__ volatile("" : : "r"(&words), "r"(&call) : "memory");
}

/* A walk of another thread would show a false caller, because a word points to bytes like a call on the stack or in an
 * image's data. A word that points to memory that may hold code is a caller. */
START_TEST(of_another_thread) {
    struct parked s = {.wait = stand_with_a_call};
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    void *page = map_page();
    in_data = call_of_host();
    memcpy(page, &in_data, sizeof in_data);
    in_image.word[0] = returns_to(&in_data);
    in_page.word[0] = returns_to(page);
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    stand_begin(&s);
    usp_snapshot_options_init(&options);
    options.only_thread = s.thread.id;
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    ck_assert_uint_eq(frames_of(snapshot, 0, on_stack, returns_to(call_on_stack), true), 1);
    ck_assert_uint_eq(frames_of(snapshot, 0, &in_image, returns_to(&in_data), false), 1);
    ck_assert_uint_eq(frames_of(snapshot, 0, &in_page, returns_to(page), false), 2);
    usp_snapshot_free(snapshot);
    stand_end(&s);
}
END_TEST

#if defined __GLIBC__ && (defined __x86_64__ || defined __i386__)
/* Walks from a call through a null pointer on the calling thread; returns the same numbers as frames_of. */
static uint32_t frames_of_context(const struct words *words) {
    ucontext_t context;
    struct usp_frame frames[4];
    struct usp_stack stack;
    struct usp_unwind_options options;
    ck_assert_int_eq(getcontext(&context), 0);
#if defined __x86_64__
    context.uc_mcontext.gregs[REG_RIP] = 0;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)words;
    context.uc_mcontext.gregs[REG_RBP] = 0;
#else
    context.uc_mcontext.gregs[REG_EIP] = 0;
    context.uc_mcontext.gregs[REG_ESP] = (greg_t)words;
    context.uc_mcontext.gregs[REG_EBP] = 0;
#endif
    usp_unwind_options_init(&options);
    options.step_limit = 2;
    usp_stack_init(&stack, frames, 4);
    ck_assert_int_eq(usp_capture_context(&context, &options, &stack), USP_OK);
    if (stack.count > 1) ck_assert_uint_eq(frames[1].pc, words->word[0]);
    return stack.count;
}

/* A walk of the calling thread would show a false caller. It begins on the thread's own stack and, like a handler on
 * another stack, in static memory. _i: whether usp_prepare was called, so that the images are known. */
START_TEST(of_the_calling_thread) {
    struct words words;
    struct call call = call_of_host();
    void *page = map_page();
    memset(&words, 0, sizeof words);
    in_data = call;
    memcpy(page, &call, sizeof call);
    words.word[0] = returns_to(&call);
    in_heap = words;
    in_image.word[0] = returns_to(&in_data);
    in_page.word[0] = returns_to(page);
    ck_assert_int_eq(usp_thread_prepare(), USP_OK);
    if (_i != 0) ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_uint_eq(frames_of_context(&words), 1);
    ck_assert_uint_eq(frames_of_context(&in_heap), 1);
    ck_assert_uint_eq(frames_of_context(&in_image), _i == 0 ? 2 : 1);
    ck_assert_uint_eq(frames_of_context(&in_page), 2);
    if (_i != 0) usp_shutdown();
    __asm__ volatile("" : : "r"(&words), "r"(&call) : "memory");
}
END_TEST
#endif

int main(void) {
    TCase *c = tcase_create("not code");
    add_tests(c, of_another_thread);
#if defined __GLIBC__ && (defined __x86_64__ || defined __i386__)
    tcase_add_loop_test(c, of_the_calling_thread, 0, 2);
#endif
    /* Emulators permit no tracing, and both emulators and Valgrind generate code. */
    if (!is_slowed() || is_on_emulated_kernel()) tcase_add_loop_test(c, in_another_process, 0, 2);
    return run_suite("linux_not_code", c);
}
