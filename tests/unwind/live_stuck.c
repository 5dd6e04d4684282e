/* SPDX-License-Identifier: MIT */
/* Stands still in code without frame pointers, for tests/unwind/live.py to look at: one thread in each of these places.
 * Says "ready" when all of them are there.
 *
 *     main       a system call, below recursion with frames of different sizes
 *     sorting    the callback of qsort
 *     handling   a signal handler on an alternate stack, which interrupted a loop
 *     leaving    a cleanup that runs because the thread is being unwound
 *     reading    the clock, again and again: the vdso
 *     waiting    a condition variable */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline))

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

static NOT_INLINED void recurse(unsigned depth) {
    volatile char room[40];
    room[depth] = (char)depth;
    if (depth == 0) {
        printf("ready\n");
        fflush(stdout);
        stand();
    }
    recurse(depth - 1);
    atomic_fetch_add(&sink, (unsigned)room[depth]);
}

/* With an argument: only whether it can run here. */
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
    recurse(20);
    return 0;
}
