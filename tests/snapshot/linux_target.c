/* SPDX-License-Identifier: MIT */
/* A process that tests capture: threads in a known function, in the state that the first argument names. Does not use
 * the library, so that it can be compiled for another processor. Prints "ready LOW HIGH" when all threads have arrived:
 * the bounds of the function of which each thread has DEPTH + 1 frames. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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
#include "tests/support/libc.h"

#define DEPTH   7u
#define THREADS 3u

extern const char __start_bounded_target[], __stop_bounded_target[];

static volatile unsigned sink;
static volatile int may_go;
static volatile unsigned parked;

static KEPT __attribute__((section("bounded_target"))) void descend(unsigned depth, void (*wait)(void)) {
    if (depth == 0) {
        __atomic_fetch_add(&parked, 1, __ATOMIC_SEQ_CST);
        wait();
    } else {
        descend(depth - 1, wait);
    }
    sink++;
}

static KEPT void spin(void) {
    while (!may_go) sink++;
}

static KEPT void sleep_long(void) {
    struct timespec t = {1000, 0};
    while (!may_go) nanosleep(&t, NULL);
}

/* The main thread holds it. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static KEPT void wait_for_lock(void) {
    pthread_mutex_lock(&held);
    sink++;
}

static KEPT void handle(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
    __atomic_fetch_add(&parked, 1, __ATOMIC_SEQ_CST);
    sleep_long();
    sink++;
}

/* Waits in a signal handler on an alternate stack, which lies above the thread's own stack or below it. */
static KEPT void be_interrupted(void) {
    stack_t alternate = {.ss_size = 65536};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    alternate.ss_sp = malloc(alternate.ss_size);
    if (sigaltstack(&alternate, NULL) != 0) exit(2);
    raise(SIGUSR1);
    sink++;
}

/* Larger than the usual limit of a stack's size. */
#define LONG_STACK ((size_t)32 << 20)
#define LONG_PIECE ((size_t)1 << 20)

static KEPT void take_room(unsigned pieces) {
    char space[LONG_PIECE];
    /* Keeps the compiler from removing the array. */
    __asm__ volatile("" : : "r"(space) : "memory");
    if (pieces > 1) {
        take_room(pieces - 1);
    } else {
        descend(DEPTH, sleep_long);
    }
    __asm__ volatile("" : : "r"(space) : "memory");
}

static KEPT void take_twelve_pieces(void) { take_room(12); }

/* Calls take_twelve_pieces on a stack that neither the kernel nor libc knows. */
static KEPT void be_a_coroutine(void) {
    ucontext_t outside, inside; /* one for each thread */
    getcontext(&inside);
    inside.uc_stack.ss_sp = malloc(LONG_STACK);
    inside.uc_stack.ss_size = LONG_STACK;
    inside.uc_link = &outside;
    makecontext(&inside, take_twelve_pieces, 0);
    swapcontext(&outside, &inside);
    sink++;
}

static void (*wait_of_others)(void) = sleep_long;

static void *run(void *context) {
    char name[16];
    unsigned n = (unsigned)(size_t)context;
    snprintf(name, sizeof name, "%s %u", wait_of_others == sleep_long ? "worker" : "sleeper", n);
    prctl(PR_SET_NAME, name, 0, 0, 0);
    if (wait_of_others == take_twelve_pieces || wait_of_others == be_a_coroutine) {
        wait_of_others();
    } else {
        descend(DEPTH, n == 0 && wait_of_others == sleep_long ? spin : wait_of_others);
    }
    return NULL;
}

static void start(unsigned count) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (wait_of_others == take_twelve_pieces) pthread_attr_setstacksize(&attributes, LONG_STACK);
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run, (void *)(size_t)i) != 0) exit(2);
    }
    /* A thread in a handler is counted twice: before the signal and in the handler. */
    if (wait_of_others == be_interrupted) count *= 2;
    while (__atomic_load_n(&parked, __ATOMIC_SEQ_CST) < count) usleep(1000);
}

static void say_ready(void) {
    printf("ready %llx %llx\n", (unsigned long long)(size_t)__start_bounded_target,
           (unsigned long long)(size_t)__stop_bounded_target);
    fflush(stdout);
}

/* The main thread prints the message from the function in which it will wait. */
static KEPT void say_ready_and_sleep(void) {
    say_ready();
    sleep_long();
    sink++;
}

/* By this name the library takes this program for one that was linked with Swift's concurrency runtime. */
extern const uint64_t _swift_concurrency_debug_asyncTaskMetadata;
const uint64_t _swift_concurrency_debug_asyncTaskMetadata = 1;

/* A word of the stack leads to a look-alike of an async context, and that one to its parent. Prints their addresses; no
 * pointer leads to the memory after them. */
static KEPT void stand_with_contexts(void) {
    struct {
        uint64_t parent, resume;
    } *contexts = aligned_alloc(16, 3 * sizeof *contexts);
    volatile uint64_t own = (size_t)contexts;
    if (contexts == NULL) exit(2);
    contexts[0].parent = (size_t)&contexts[1];
    contexts[0].resume = (size_t)sleep_long;
    contexts[1].parent = 0;
    contexts[1].resume = (size_t)spin;
    contexts[2].parent = contexts[2].resume = own;
    say_ready();
    printf("contexts %llx %llx %llx\n", (unsigned long long)own, (unsigned long long)contexts[0].resume,
           (unsigned long long)contexts[1].resume);
    fflush(stdout);
    sleep_long();
    sink += (unsigned)own;
}

/* ---- states that the argument can name ---- */

static void *come_and_go(void *context) {
    (void)context;
    sink++;
    return NULL;
}

static void be_restless(void) {
    for (;;) {
        pthread_t threads[8];
        for (unsigned i = 0; i < 8; i++) {
            if (pthread_create(&threads[i], NULL, come_and_go, NULL) != 0) exit(2);
        }
        for (unsigned i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
}

static volatile unsigned long counted;
static void count(int number) {
    (void)number;
    counted++;
}

/* Counts a queued signal until another signal arrives, then prints the count. */
static void count_signals(void) {
    sigset_t none, both;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    sigaction(SIGRTMIN + 1, &action, NULL);
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, &none);
    say_ready();
    for (;;) {
        struct timespec soon = {0, 1000000};
        if (sigtimedwait(&both, NULL, &soon) == SIGTERM) break;
    }
    /* The signals still queued are delivered first. */
    usleep(100000);
    printf("counted %lu\n", counted);
    fflush(stdout);
    exit(0);
}

/* A signal handler that maps the program which its parent runs. */
static void load(int number) {
    char path[32];
    (void)number;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)getppid());
    int fd = open(path, O_RDONLY);
    if (fd < 0 || mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) exit(2);
    if (write(1, "loaded\n", 7) != 7) exit(2);
}

static char **own_arguments;

/* A signal handler that executes this program again. */
static void execute(int number) {
    (void)number;
    execv("/proc/self/exe", own_arguments);
    _exit(2);
}

static int sleep_as_vfork_child(void *context) {
    struct timespec t = {1, 0};
    (void)context;
    nanosleep(&t, NULL);
    return 0;
}

/* The parent of a vfork is in an uninterruptible sleep, for a while. */
static void wait_for_vfork_child(void) {
    static char stack[65536] __attribute__((aligned(16)));
    pid_t child = clone(sleep_as_vfork_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    waitpid(child, NULL, 0);
    printf("woken\n");
    fflush(stdout);
    while (!may_go) usleep(10000);
}

int main(int count_of_arguments, char **arguments) {
    const char *what = count_of_arguments > 1 ? arguments[1] : "";
    unsigned threads = count_of_arguments > 2 ? (unsigned)atoi(arguments[2]) : THREADS;
    sigset_t all;
    sigfillset(&all);
    if (strcmp(what, "block") == 0) sigprocmask(SIG_SETMASK, &all, NULL);
    if (strcmp(what, "count") == 0) count_signals();
    if (strcmp(what, "load") == 0) signal(SIGUSR2, load);
    own_arguments = arguments;
    if (strcmp(what, "execute") == 0) signal(SIGUSR2, execute);
    if (strcmp(what, "interrupted") == 0) wait_of_others = be_interrupted;
    if (strcmp(what, "long") == 0) wait_of_others = take_twelve_pieces;
    if (strcmp(what, "coroutine") == 0) wait_of_others = be_a_coroutine;
    if (strcmp(what, "locked") == 0) wait_of_others = wait_for_lock;
    pthread_mutex_lock(&held);
    start(threads);
    if (strcmp(what, "undumpable") == 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    bool stands = strcmp(what, "restless") != 0 && strcmp(what, "vfork") != 0 && strcmp(what, "leave") != 0;
    if (stands) descend(DEPTH, strcmp(what, "contexts") == 0 ? stand_with_contexts : say_ready_and_sleep);
    say_ready();
    if (strcmp(what, "restless") == 0) be_restless();
    if (strcmp(what, "vfork") == 0) wait_for_vfork_child();
    /* The main thread ends, the other threads continue. */
    pthread_exit(NULL);
}
