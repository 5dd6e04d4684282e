/* SPDX-License-Identifier: MIT */
/* The parent's part of reading a core: starts the child, passes the core on to it, takes its report, and ends it at the
 * time limit. */
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

/* The child's ends of its pipes replace the kernel's pipe. The kernel waits until all have closed that, also a child that
 * a hostile file system holds for ever. */
static void run_child(const struct crash_handling *handling, const int report[2], const int core[2]) {
    close(report[0]);
    close(core[1]);
    close(handling->folder);
    if (dup2(core[0], STDIN_FILENO) < 0) _exit(EXIT_FAILED);
    if (core[0] != STDIN_FILENO) close(core[0]);
    _exit(crash_core_write(handling, report[1]));
}

static pid_t start_child(const struct crash_handling *handling, int *report_end, int *core_end) {
    const pid_t parent = getpid();
    int report[2], core[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    if (pipe2(core, O_CLOEXEC) != 0) {
        close(report[0]);
        close(report[1]);
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        limit_child(handling);
        if (getppid() != parent) _exit(EXIT_FAILED);
        run_child(handling, report, core);
    }
    close(report[1]);
    close(core[0]);
    *report_end = report[0];
    *core_end = core[1];
    if (child < 0) {
        close(report[0]);
        close(core[1]);
    }
    return child;
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

/* ---- its core ---- */

/* What the parent has read of the core, and the child has not got yet. */
struct passing {
    int to; /* the child's pipe; -1: no more is passed on */
    size_t at, end;
    uint8_t bytes[65536];
};

static void end_passing(struct passing *core) {
    if (core->to >= 0) close(core->to);
    core->to = -1;
}

/* What to wait for: more of the core, or room in the child's pipe. */
static struct pollfd next_of(const struct passing *core) {
    const bool is_empty = core->at == core->end;
    return (struct pollfd){.fd = core->to >= 0 && is_empty ? STDIN_FILENO : core->to,
                           .events = is_empty ? POLLIN : POLLOUT};
}

/* Reads or writes once. A child that needs no more has closed its pipe. */
static void pass_on(struct passing *core) {
    const bool reads = core->at == core->end;
    const ssize_t n = reads ? read(STDIN_FILENO, core->bytes, sizeof core->bytes)
                            : write(core->to, core->bytes + core->at, core->end - core->at);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        end_passing(core);
    } else if (reads) {
        core->at = 0;
        core->end = (size_t)n;
    } else {
        core->at += (size_t)n;
    }
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

/* Passes the core on, and takes what the child writes, until it closes the pipe. Returns false at the time limit, or
 * beyond the largest size. */
static bool take_report(int from, struct passing *core, int64_t deadline, struct crash_report *report) {
    size_t capacity = 0;
    for (;;) {
        struct pollfd wait[2] = {{.fd = from, .events = POLLIN}, next_of(core)};
        const int64_t left = deadline - milliseconds();
        if (left <= 0 || !grow(report, &capacity)) return false;
        if (poll(wait, 2, left < 1000 ? (int)left : 1000) <= 0) continue;
        if (wait[1].revents != 0) pass_on(core);
        if (wait[0].revents == 0) continue;
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
static bool take_child(pid_t child, int from, int to, int64_t deadline, struct crash_report *report) {
    struct passing core = {.to = to};
    int status = -1;
    (void)fcntl(to, F_SETFL, O_NONBLOCK);
    const bool is_late = !take_report(from, &core, deadline, report);
    end_passing(&core);
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
    int from = -1, to = -1;
    *report = (struct crash_report){.size = 0};
    const pid_t child = start_child(handling, &from, &to);
    bool is_whole = false;
    if (child > 0) {
        is_whole = take_child(child, from, to, deadline, report) && report->size > 0;
    } else {
        complain("crash-handler: no child: the report has no stacks");
    }
    /* While the kernel's pipe is open, the process stays. */
    close(STDIN_FILENO);
    if (report->size == 0) make_least_report(handling, report);
    return is_whole;
}

#else
typedef int tools_crash_read_is_for_linux;
#endif
