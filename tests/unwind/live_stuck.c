/* SPDX-License-Identifier: MIT */
/* Stops in code without frame pointers, for tests/unwind/live.py to examine: one thread in each of these places. Prints
 * "ready" when all threads have arrived.
 *
 *     main       a system call, below recursion with frames of different sizes
 *     sorting    the callback of qsort
 *     handling   a signal handler on an alternate stack, which interrupted a loop
 *     leaving    a cleanup that runs because the thread is being unwound
 *     reading    the clock, again and again: the vdso
 *     waiting    a condition variable
 *     stepping   x86_64: a handler of a trap after some instructions of the procedure linkage table, which has no frame
 *                of its own and pushes words; not with STATIC, which has no such table
 *     inside     likewise in the vdso: "reading" may be outside it when it is examined */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline))

/* The bounds of the program's own code (linker symbols). */
extern const char __executable_start, etext;

static sem_t there;
static _Atomic unsigned sink;

static NOT_INLINED void stand(void) {
    sem_post(&there);
    for (;;) {
        pause();
        atomic_fetch_add(&sink, 1);
    }
}

static NOT_INLINED int compare(const void *a, const void *b) {
    stand();
    return memcmp(a, b, sizeof(int));
}

static NOT_INLINED void *sorting(void *context) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
    atomic_fetch_add(&sink, (unsigned)numbers[0]);
    return context;
}

static void on_signal(int number) {
    atomic_fetch_add(&sink, (unsigned)number);
    stand();
}

static NOT_INLINED void *handling(void *context) {
    stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (alternate.ss_sp == NULL || sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) {
        abort();
    }
    pthread_kill(pthread_self(), SIGUSR1);
    for (;;) atomic_fetch_add(&sink, 1);
    return context;
}

static void clean_up(int *number) {
    atomic_fetch_add(&sink, (unsigned)*number);
    stand();
}

static NOT_INLINED void leave(unsigned depth) {
    __attribute__((cleanup(clean_up))) int number = (int)depth;
    if (depth == 0) pthread_exit(NULL);
    leave(depth - 1);
    atomic_fetch_add(&sink, (unsigned)number);
}

static NOT_INLINED void *leaving(void *context) {
    leave(3);
    return context;
}

static NOT_INLINED void *reading(void *context) {
    struct timespec now;
    sem_post(&there);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        atomic_fetch_add(&sink, (unsigned)now.tv_nsec);
    }
    return context;
}

static NOT_INLINED void *waiting(void *context) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    sem_post(&there);
    for (;;) pthread_cond_wait(&never, &lock);
    return context;
}

#if defined __x86_64__ && !defined STATIC
/* Bit 8 of the flags register makes the processor trap after each instruction (Intel SDM volume 3, 17.4.1
 * "Single-Step"). */
#define TRAP_FLAG 0x100

static _Thread_local unsigned steps_wanted, steps;
static _Thread_local uintptr_t before;
static _Thread_local int wants_vdso;

/* Whether an address is in the vdso, whose code is in its first two pages. */
static int is_in_vdso(uintptr_t address) {
    const uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    return vdso != 0 && address - vdso < 2 * 4096;
}

static void on_step(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uintptr_t now = (uintptr_t)registers[REG_RIP];
    int32_t distance;
    (void)number, (void)info;
    /* Counts from the instruction after a direct call from the program into its linkage table. */
    if (wants_vdso) {
        if (steps == 0 && is_in_vdso(now)) steps = 1;
    } else if (before != 0 && *(const uint8_t *)before == 0xe8) {
        memcpy(&distance, (const void *)(before + 1), sizeof distance);
        if (now == before + 5 + (uintptr_t)(intptr_t)distance) steps = 1;
    }
    if (steps != 0 && steps++ == steps_wanted) {
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        stand();
    }
    before = 0;
    if (now >= (uintptr_t)&__executable_start && now < (uintptr_t)&etext) before = now;
}

static void begin_steps(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void take_steps(unsigned wanted) {
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct sigaction begin = {.sa_sigaction = begin_steps, .sa_flags = SA_SIGINFO};
    steps_wanted = wanted;
    if (sigaction(SIGTRAP, &step, NULL) != 0 || sigaction(SIGUSR2, &begin, NULL) != 0) abort();
    pthread_kill(pthread_self(), SIGUSR2);
}

static NOT_INLINED void *stepping(void *context) {
    take_steps(*(const unsigned *)context);
    for (;;) atomic_fetch_add(&sink, (unsigned)getppid());
    return context;
}

static NOT_INLINED void *inside(void *context) {
    struct timespec now;
    wants_vdso = 1;
    take_steps(*(const unsigned *)context);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        atomic_fetch_add(&sink, (unsigned)now.tv_nsec);
    }
    return context;
}
#endif

static NOT_INLINED void recurse(unsigned depth) {
    volatile char space[40];
    space[depth] = (char)depth;
    if (depth == 0) {
        printf("ready\n");
        fflush(stdout);
        stand();
    }
    recurse(depth - 1);
    atomic_fetch_add(&sink, (unsigned)space[depth]);
}

/* With an argument, the program only tests whether it can run here. */
int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return 0;
    static void *(*const places[])(void *) = {sorting, handling, leaving, reading, waiting};
    pthread_t thread;
    sem_init(&there, 0, 0);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (pthread_create(&thread, NULL, places[i], NULL) != 0) abort();
        while (sem_wait(&there) != 0) continue;
    }
#if defined __x86_64__ && !defined STATIC
    static const unsigned step_counts[] = {1, 2, 3, 4, 5, 6};
    const unsigned all = sizeof step_counts / sizeof step_counts[0];
    for (unsigned i = 0; i < 2 * all; i++) {
        if (i >= all && getauxval(AT_SYSINFO_EHDR) == 0) break;
        if (pthread_create(&thread, NULL, i < all ? stepping : inside, (void *)(uintptr_t)&step_counts[i % all]) != 0) {
            abort();
        }
        while (sem_wait(&there) != 0) continue;
    }
#endif
    recurse(20);
    return 0;
}
