/* SPDX-License-Identifier: MIT */
/* The parent's part of reading a core: starts the child, takes its report, and ends it at the time limit. */
#ifdef __linux__
#define _GNU_SOURCE 1

#include "tools/command.h"
#include "tools/crash_handler.h"

#include <unspool/raw.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The largest report: thousands of threads with hundreds of frames each. */
#define REPORT_MAX ((size_t)64 << 20)

/* How long the end of a killed child is waited for, in ms. It may be held in a read of a hostile file system. */
#define KILLED_MAX 500

uint64_t crash_time(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int64_t milliseconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the child ---- */

/* A core of this process must not start another handler: the kernel writes none to a pipe whose limit is 1 (core(5)). */
static void limit_child(const struct crash_handling *handling) {
    const struct rlimit one = {1, 1}, time = {(rlim_t)handling->timeout, (rlim_t)handling->timeout};
    (void)setrlimit(RLIMIT_CORE, &one);
    (void)setrlimit(RLIMIT_CPU, &time);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static pid_t start_child(const struct crash_handling *handling, int report[2]) {
    const pid_t parent = getpid();
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    const pid_t child = fork();
    if (child != 0) {
        close(report[1]);
        if (child < 0) close(report[0]);
        return child;
    }
    limit_child(handling);
    if (getppid() != parent) _exit(EXIT_FAILED);
    close(report[0]);
    close(handling->folder);
    _exit(crash_core_write(handling, report[1]));
}

/* Waits for the child's end. Returns false if it has not ended at the deadline. */
static bool await_child(pid_t child, int64_t deadline, int *status) {
    const struct timespec pause = {0, 1000000};
    while (waitpid(child, status, WNOHANG) == 0) {
        if (milliseconds() >= deadline) return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* ---- its report ---- */

static bool grow(struct crash_report *report, size_t *capacity) {
    if (report->size < *capacity) return true;
    const size_t wanted = *capacity == 0 ? 65536 : 2 * *capacity;
    uint8_t *grown = wanted <= REPORT_MAX ? realloc(report->bytes, wanted) : NULL;
    if (grown == NULL) return false;
    report->bytes = grown;
    *capacity = wanted;
    return true;
}

/* Takes what the child writes, until it closes the pipe. Returns false at the time limit, or beyond the largest size. */
static bool take_report(int from, int64_t deadline, struct crash_report *report) {
    size_t capacity = 0;
    struct pollfd wait = {.fd = from, .events = POLLIN};
    for (;;) {
        const int64_t left = deadline - milliseconds();
        if (left <= 0 || !grow(report, &capacity)) return false;
        const int ready = poll(&wait, 1, left < 1000 ? (int)left : 1000);
        if (ready <= 0) continue;
        const ssize_t got = read(from, report->bytes + report->size, capacity - report->size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        report->size += (size_t)got;
    }
}

/* Makes a report that only says which process a signal has ended. */
static void make_least_report(const struct crash_handling *handling, struct crash_report *report) {
    struct usp_raw_capture raw;
    int ends[2];
    usp_raw_capture_init(&raw);
    raw.pid = handling->pid;
    raw.signal = handling->signal;
    raw.time = handling->time;
    report->size = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    size_t capacity = report->bytes != NULL ? 65536 : 0;
    /* It fits into a pipe. */
    const bool is_written = usp_raw_write(ends[1], &raw) == USP_OK && grow(report, &capacity);
    close(ends[1]);
    const ssize_t got = is_written ? read(ends[0], report->bytes, capacity) : 0;
    report->size = got > 0 ? (size_t)got : 0;
    close(ends[0]);
}

/* Takes the child's report, and ends the child. One that has closed the pipe may still be held in a close of a hostile
 * file system. Returns whether it has ended by itself, and well. */
static bool take_child(pid_t child, int from, int64_t deadline, struct crash_report *report) {
    int status = -1;
    const bool is_late = !take_report(from, deadline, report);
    close(from);
    const bool has_ended = !is_late && await_child(child, deadline, &status);
    if (has_ended) return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_ALL_WELL;
    (void)kill(child, SIGKILL);
    (void)await_child(child, milliseconds() + KILLED_MAX, &status);
    complain("crash-handler: the core was not read within the limits; the report is incomplete");
    return false;
}

bool crash_report_read(const struct crash_handling *handling, struct crash_report *report) {
    const int64_t deadline = milliseconds() + (int64_t)handling->timeout * 1000;
    int from[2];
    *report = (struct crash_report){.size = 0};
    const pid_t child = start_child(handling, from);
    close(STDIN_FILENO);
    bool is_whole = false;
    if (child > 0) {
        is_whole = take_child(child, from[0], deadline, report) && report->size > 0;
    } else {
        complain("crash-handler: no child: the report has no stacks");
    }
    if (report->size == 0) make_least_report(handling, report);
    return is_whole;
}

#else
typedef int tools_crash_read_is_for_linux;
#endif
