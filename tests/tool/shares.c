/* SPDX-License-Identifier: MIT */
/* A program to be recorded: uses processor time in known shares, reports that, and ends.
 *
 * shares MILLISECONDS STATUS [LIBRARY]
 *   MILLISECONDS  of processor time, three quarters of it in three_parts, the rest in one_part; 0: until it is killed
 *   STATUS        exit status; above 255: a signal, and 256
 *   LIBRARY       is loaded then, and its function loaded_later called for as much time again */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/kept.h"

/* Steps between two looks at the clock, some milliseconds. A thread that is stopped late is stopped at its next system
 * call: with short rounds, each sample could be in that call. */
#define ROUNDS 1000000u

static volatile unsigned long sink;

static uint64_t own_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

KEPT static void three_parts(uint64_t length) {
    for (uint64_t end = own_milliseconds() + length; own_milliseconds() < end;) {
        for (unsigned i = 0; i < ROUNDS; i++) sink++;
    }
}

KEPT static void one_part(uint64_t length) {
    for (uint64_t end = own_milliseconds() + length; own_milliseconds() < end;) {
        for (unsigned i = 0; i < ROUNDS; i++) sink--;
    }
}

static void *sleep_on(void *context) {
    prctl(PR_SET_NAME, context);
    for (;;) pause();
    return NULL;
}

static int run_library(const char *path, uint64_t length) {
    void *library = dlopen(path, RTLD_NOW);
    void (*loaded_later)(uint64_t length);
    if (library == NULL) return 1;
    *(void **)&loaded_later = dlsym(library, "loaded_later");
    if (loaded_later == NULL) return 1;
    loaded_later(length);
    return 0;
}

int main(int argc, char **argv) {
    static char name[] = "sleeper";
    pthread_t thread;
    if (argc < 3) return 2;
    const uint64_t length = strtoull(argv[1], NULL, 10);
    const int status = (int)strtol(argv[2], NULL, 10);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, sleep_on, name) != 0) return 2;
    puts("ready");
    fflush(stdout);
    while (length == 0 || own_milliseconds() < length) {
        three_parts(30);
        one_part(10);
    }
    if (argc > 3 && run_library(argv[3], length) != 0) return 2;
    if (status > 255) raise(status - 256);
    return status;
}
