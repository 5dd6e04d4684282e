/* SPDX-License-Identifier: MIT */
/* The program that tests/bench/crash.sh measures: loads libraries, installs the crash kit, loads more libraries, starts
 * threads, and crashes.
 *
 *     crash KIND LIBRARIES REPORTS
 *         KIND       kit; none: without the kit; snapshot: without the kit, and takes a snapshot instead of crashing
 *         LIBRARIES  a folder with 0.so … 499.so
 *
 * Prints "install NS", "pss KB" and "private KB" (memory without a file) after it, and "fault NS" (CLOCK_MONOTONIC)
 * before the fault; or "snapshot NS THREADS". */
#include <unspool/unspool.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEFORE  400 /* libraries loaded before the kit is installed */
#define ALL     500
#define THREADS 199 /* besides the main thread */
#define DEPTH   20  /* calls of each thread */

static sem_t begun;

static unsigned long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned long long)time.tv_sec * 1000000000u + (unsigned long long)time.tv_nsec;
}

static void load(const char *folder, int from, int to) {
    char path[512];
    for (int i = from; i < to; i++) {
        snprintf(path, sizeof path, "%s/%d.so", folder, i);
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
    }
}

__attribute__((noinline)) static int descend(int depth) {
    if (depth > 0) return descend(depth - 1) + 1;
    sem_post(&begun);
    for (;;) pause();
}

static void *wait_in_thread(void *unused) {
    (void)unused;
    return (void *)(size_t)descend(DEPTH);
}

static void start_threads(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread, &attributes, wait_in_thread, NULL) != 0) exit(1);
    }
    for (int i = 0; i < THREADS; i++) sem_wait(&begun);
}

static void print_memory(void) {
    char line[256];
    long kb;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Anonymous: %ld", &kb) == 1) printf("private %ld\n", kb);
        if (sscanf(line, "Pss: %ld", &kb) == 1) printf("pss %ld\n", kb);
    }
    if (file != NULL) fclose(file);
    fflush(stdout);
}

static void install(const char *folder) {
    struct usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = folder;
    const unsigned long long begin = now();
    const int status = usp_crash_install(&options);
    printf("install %llu\n", now() - begin);
    if (status != USP_OK) exit(1);
}

static void take_snapshot(void) {
    struct usp_snapshot *snapshot;
    const unsigned long long begin = now();
    if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK) exit(1);
    printf("snapshot %llu %u\n", now() - begin, usp_snapshot_get_info(snapshot)->thread_count);
    fflush(stdout);
    _exit(0);
}

__attribute__((noinline)) static int crash(int depth) {
    if (depth > 0) return crash(depth - 1) + 1;
    printf("fault %llu\n", now());
    fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    sem_init(&begun, 0, 0);
    load(argv[2], 0, BEFORE);
    if (strcmp(argv[1], "kit") == 0) install(argv[3]);
    print_memory();
    load(argv[2], BEFORE, ALL);
    start_threads();
    if (strcmp(argv[1], "snapshot") == 0) take_snapshot();
    return crash(DEPTH);
}
