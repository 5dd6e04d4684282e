/* SPDX-License-Identifier: MIT */
/* A program for the command to examine: waits in functions that the tests know, reports that it is ready, and waits to
 * be killed.
 *
 * stuck [undumpable] [held] [deep] [zombie] [churn] [pool] [busy]
 *   undumpable  forbids other processes to examine it
 *   held        one thread cannot be stopped: the kernel holds it until the child of its vfork ends
 *   deep        the main thread waits 1,000 calls deep
 *   zombie      has a child that has ended, and does not wait for it
 *   churn       threads begin and end all the time
 *   pool        20 more threads wait in one place
 *   busy        the main thread and the worker use the processors instead of waiting */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kept.h"

static atomic_int parked, waiting, held;
static volatile bool goes_on; /* never set */
static bool is_busy;

/* WAIT_HERE() waits for a signal, by a system call in the function's own code: the innermost frame is then this
 * program's and not libc's, nor an inlined function's. On other processors the thread is busy. */
#if defined __x86_64__
#define WAIT_HERE()                                                                                                    \
    do {                                                                                                               \
        long result = 34; /* pause */                                                                                  \
        if (!is_busy) __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");                           \
    } while (0)
#elif defined __aarch64__
#define WAIT_HERE()                                                                                                    \
    do {                                                                                                               \
        register long number __asm__("x8") = 73; /* ppoll of nothing */                                                \
        register long fds __asm__("x0") = 0, count __asm__("x1") = 0, time __asm__("x2") = 0, mask __asm__("x3") = 0;  \
        if (!is_busy) {                                                                                                \
            __asm__ volatile("svc #0" : "+r"(fds) : "r"(number), "r"(count), "r"(time), "r"(mask) : "memory");         \
        }                                                                                                              \
    } while (0)
#else
#define WAIT_HERE() ((void)is_busy)
#endif

KEPT static int inner(int n) {
    atomic_fetch_add(&parked, 1);
    while (!goes_on) {
        n++;
        WAIT_HERE();
    }
    return n;
}

KEPT static int outer(int n) {
    int volatile result = inner(n) + 1;
    return result;
}

KEPT static int descend(int n) {
    int volatile result = n > 0 ? descend(n - 1) + 1 : inner(n) + 2;
    return result;
}

KEPT static int work_inner(int n) {
    atomic_fetch_add(&parked, 1);
    while (!goes_on) {
        n = (n + 3) & 0xffff;
        WAIT_HERE();
    }
    return n;
}

KEPT static int work_outer(int n) {
    int volatile result = work_inner(n) + 1;
    return result;
}

/* The thread's name would colour a terminal, end a JSON string, and is invalid UTF-8. Only 15 bytes count. */
static void *work(void *argument) {
    prctl(PR_SET_NAME, "w\x1b[31m\"\\\xff\xc3\xa9!");
    work_outer(argument != NULL);
    return NULL;
}

static void *be_held(void *argument) {
    (void)argument;
    atomic_store(&held, (int)syscall(SYS_gettid));
    /* The child lives as long as this process, and makes only system calls. */
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    return NULL;
}

static void *end_at_once(void *argument) { return argument; }

static void *churn(void *argument) {
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, argument) == 0) {
            pthread_join(thread, NULL);
        } else {
            sleep(1); /* the system has no room for more threads now */
        }
    }
    return NULL;
}

KEPT static void wait_in_pool(void) {
    atomic_fetch_add(&waiting, 1);
    while (!goes_on) pause();
}

static void *run_in_pool(void *argument) {
    wait_in_pool();
    return argument;
}

/* Forks a child and returns when it is a zombie: WNOWAIT leaves it so. */
static bool make_zombie(void) {
    siginfo_t info;
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child > 0 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0;
}

/* Whether the kernel shows that the thread sleeps uninterruptibly. */
static bool is_held(int thread) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    const char *after_name = fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    fclose(file);
    return after_name != NULL && strncmp(after_name, ") D", 3) == 0;
}

struct announced {
    int pool;
    bool has_held;
};

static void *announce(void *argument) {
    const struct announced *all = argument;
    while (atomic_load(&parked) < 2 || atomic_load(&waiting) < all->pool) usleep(1000);
    /* An emulator may have no such state. */
    for (int i = 0; all->has_held && i < 60000 && !is_held(atomic_load(&held)); i++) usleep(1000);
    puts("ready");
    fflush(stdout);
    for (;;) pause();
    return NULL;
}

int main(int argc, char **argv) {
    bool is_deep = false, is_churning = false;
    static struct announced all;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "undumpable") == 0) prctl(PR_SET_DUMPABLE, 0);
        if (strcmp(argv[i], "busy") == 0) is_busy = true;
        if (strcmp(argv[i], "held") == 0) all.has_held = true;
        if (strcmp(argv[i], "deep") == 0) is_deep = true;
        if (strcmp(argv[i], "churn") == 0) is_churning = true;
        if (strcmp(argv[i], "pool") == 0) all.pool = 20;
        if (strcmp(argv[i], "zombie") == 0 && !make_zombie()) return 1;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_create(&thread, NULL, announce, &all) != 0) return 1;
    if (all.has_held && pthread_create(&thread, NULL, be_held, NULL) != 0) return 1;
    for (int i = 0; i < all.pool; i++) {
        if (pthread_create(&thread, NULL, run_in_pool, NULL) != 0) return 1;
    }
    for (int i = 0; is_churning && i < 4; i++) {
        if (pthread_create(&thread, NULL, churn, NULL) != 0) return 1;
    }
    return is_deep ? descend(1000) : outer(argc);
}
