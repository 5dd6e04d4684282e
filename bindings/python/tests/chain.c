/* SPDX-License-Identifier: MIT */
/* The program whose stacks the tests look at: two threads in functions of known names, one of them busy. It prints a
 * line when both are there. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

volatile int sink;

static inline __attribute__((always_inline)) int doubled(int x) {
    sink = x;
    return 2 * x;
}

NOINLINE int spin(int x) {
    for (int i = 0;; i++) sink = doubled(x) + i;
}

NOINLINE void *busy(void *unused) {
    sink = spin(1) + 1;
    return unused;
}

NOINLINE int inner(int x) {
    putchar('\n');
    fflush(stdout);
    for (;;) sink = pause() + doubled(x);
}

NOINLINE int outer(int x) { return inner(x + 1) + 1; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, busy, NULL);
    while (sink == 0) sched_yield(); /* until the thread is in `spin` */
    return outer(1) + 1;
}
