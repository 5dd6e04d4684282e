/* SPDX-License-Identifier: MIT */
/* A process with a large stack, which tests capture. The first argument says what is on it, the second how many
 * bytes. Prints "ready LOW HIGH", the bounds of the function of which the stack has frames. Does not use the library.
 * */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/kept.h"

#define DEPTH 7u
/* An address in no mapping. */
#define NOWHERE UINT64_C(0x123456789000)
/* Room for the frames around the large one. */
#define SPARE ((size_t)1 << 20)

extern const char __start_bounded_target[], __stop_bounded_target[];

static volatile unsigned sink;
static volatile int may_go;
static size_t size;
static bool is_touched, waits_for_child;

static KEPT void wait_for_end(void) {
    printf("ready %llx %llx\n", (unsigned long long)(size_t)__start_bounded_target,
           (unsigned long long)(size_t)__stop_bounded_target);
    fflush(stdout);
    while (!may_go) pause();
}

static KEPT void sleep_for_child(void);

static KEPT void take_room(void) {
    volatile char *space = alloca(size);
    if (is_touched) memset((char *)space, 1, size);
    space[0] = 1;
    if (waits_for_child) {
        sleep_for_child();
    } else {
        wait_for_end();
    }
    sink += (unsigned)space[0];
}

static KEPT __attribute__((section("bounded_target"))) void descend(unsigned depth) {
    if (depth == 0) {
        take_room();
    } else {
        descend(depth - 1);
    }
    sink++;
}

static const char *what = "";

/* The thread sleeps uninterruptibly until the child ends: at the end of this process, or soon. */
static KEPT void sleep_for_child(void) {
    const struct timespec soon = {0, 3000000};
    const bool is_short = strcmp(what, "vforks") == 0;
    do {
        const pid_t child = vfork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            if (is_short) nanosleep(&soon, NULL);
            while (!is_short) pause();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } while (is_short);
}

static void *run_large(void *context) {
    descend(DEPTH);
    return context;
}

static void handle(int number, siginfo_t *info, void *state) {
    (void)number;
    (void)info;
    (void)state;
    wait_for_end();
}

static KEPT __attribute__((section("bounded_target"))) unsigned overflow(unsigned n) {
    volatile char space[1000];
    space[0] = (char)n;
    if (may_go) return n;
    return overflow(n + 1) + (unsigned)space[0];
}

static void *run_overflow(void *context) {
    stack_t alternate = {.ss_size = 65536};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    /* Without SA_SIGINFO, i386's kernel does not write the alternate stack's bounds on it. */
    action.sa_sigaction = handle;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    sink += overflow(0);
    return context;
}

/* Begins a stack whose first function has a return address that is in no mapping. */
static void begin_at_nowhere(void) {
#if defined(__x86_64__)
    const size_t words = 65536 / sizeof(uint64_t);
    uint64_t *stack = aligned_alloc(4096, words * sizeof *stack);
    for (size_t i = 0; stack != NULL && i < words; i++) stack[i] = NOWHERE;
    /* At a function's first instruction, the stack pointer is 8 bytes below a multiple of 16. */
    __asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tjmp *%1"
                     :
                     : "r"(stack + words - 7), "r"(descend), "D"(DEPTH)
                     : "memory");
#endif
}

/* Starts a thread of io_uring, which polls in the kernel (io_uring_setup(2), IORING_SETUP_SQPOLL). */
static void poll_in_kernel(void) {
    uint32_t parameters[30] = {0, 0, 1u << 1, 0, 100};
    (void)syscall(SYS_io_uring_setup, 8, parameters);
    wait_for_end();
}

int main(int count, char **arguments) {
    pthread_attr_t attributes;
    pthread_t thread;
    what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "nowhere") == 0) begin_at_nowhere();
    if (strcmp(what, "uring") == 0) poll_in_kernel();
    waits_for_child = strncmp(what, "vfork", 5) == 0;
    const bool is_overflow = strcmp(what, "overflow") == 0;
    size = count > 2 ? (size_t)strtoull(arguments[2], NULL, 10) : 0;
    is_touched = strcmp(what, "touched") == 0;
    /* Not calloc, nor libc's own stack: no page may exist before it is used. */
    const size_t capacity = size + SPARE;
    char *stack =
        mmap(NULL, capacity + SPARE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, SPARE, PROT_NONE) != 0) return 77;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack + SPARE, capacity);
    if (pthread_create(&thread, &attributes, is_overflow ? run_overflow : run_large, NULL) != 0) return 2;
    if (waits_for_child) {
        usleep(10000);
        wait_for_end();
    }
    pthread_join(thread, NULL);
    return 0;
}
