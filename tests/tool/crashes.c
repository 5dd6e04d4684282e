/* SPDX-License-Identifier: MIT */
/* A program for tests/tool/core_crash.sh: its second thread crashes, while the main thread waits.
 *
 * crashes null|text|overflow|division|abort|wait */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/kept.h"

static volatile int zero;
static const char *volatile how;

KEPT static int call_without_end(int n) {
    volatile char buffer[4096];
    buffer[0] = (char)n;
    return call_without_end(n + 1) + buffer[0];
}

KEPT static int crash(void) {
    if (strcmp(how, "null") == 0) return *(volatile int *)(uintptr_t)(zero + 8);
    if (strcmp(how, "text") == 0) *(volatile char *)(uintptr_t)crash = 1;
    if (strcmp(how, "overflow") == 0) return call_without_end(1);
    if (strcmp(how, "division") == 0) return 1000 / zero;
    if (strcmp(how, "abort") == 0) abort();
    for (;;) pause();
}

KEPT static void *start(void *unused) {
    (void)unused;
    printf("ready\n");
    fflush(stdout);
    return (void *)(intptr_t)crash();
}

int main(int argc, char **argv) {
    pthread_t thread;
    how = argc > 1 ? argv[1] : "wait";
    if (pthread_create(&thread, NULL, start, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}
