/* SPDX-License-Identifier: MIT */
/* Starts tests/snapshot/linux_target.c as a child, and reads the states of its threads. */
#ifndef TESTS_SUPPORT_LINUX_CHILD_H
#define TESTS_SUPPORT_LINUX_CHILD_H

#include "tests/support/linux_threads.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define TARGET         "tests/snapshot/linux_target"
#define TARGET_DEPTH   7u
#define TARGET_THREADS 3u
#define OTHER_USER     65534u

struct child {
    pid_t pid;
    FILE *output;
    usp_addr low, high; /* of the function of which each thread has TARGET_DEPTH + 1 frames */
};

/* Starts a child. uid 0: the user of this process. */
static inline struct child start_child(const char *program, const char *what, const char *threads, unsigned uid) {
    struct child c = {.pid = -1};
    int ends[2];
    unsigned long long low, high;
    char line[128];
    ck_assert_int_eq(pipe(ends), 0);
    c.pid = fork();
    ck_assert_int_ge(c.pid, 0);
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0)) _exit(126);
        exec_under((const char *const[]){program, what, threads, NULL});
        _exit(127);
    }
    close(ends[1]);
    c.output = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(c.output);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, c.output));
    ck_assert_int_eq(sscanf(line, "ready %llx %llx", &low, &high), 2);
    c.low = low;
    c.high = high;
    return c;
}

static inline void end_child(struct child *c) {
    int status;
    kill(c->pid, SIGKILL);
    ck_assert_int_eq(waitpid(c->pid, &status, 0), c->pid);
    fclose(c->output);
}

/* Gets the state letters of all of its threads. */
static inline void read_states(pid_t pid, char *states, size_t capacity) {
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char text[512];
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", pid, e->d_name);
        FILE *f = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (f == NULL) continue;
        if (fgets(text, sizeof text, f) != NULL && strrchr(text, ')') != NULL && n + 1 < capacity) {
            states[n++] = strrchr(text, ')')[2];
        }
        fclose(f);
    }
    if (d != NULL) closedir(d);
    states[n] = '\0';
}

/* Checks that the process is not traced and has no stopped thread. A thread that was resumed may be listed as stopped
 * for a moment. */
static inline void expect_running(pid_t pid) {
    char states[4096];
    for (unsigned i = 0; i < PATIENT_LOOKS; i++) {
        read_states(pid, states, sizeof states);
        if (states[0] != '\0' && strpbrk(states, "tT") == NULL) return;
        usleep(1000);
    }
    ck_abort_msg("left stopped: %s", states);
}

/* Whether this system permits tracing processes (user-mode emulators do not). */
static inline bool can_trace(void) {
    errno = 0;
    return ptrace(PTRACE_INTERRUPT, -1, NULL, NULL) == 0 || errno != ENOSYS;
}

static inline unsigned count_open_files(void) {
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

#endif
